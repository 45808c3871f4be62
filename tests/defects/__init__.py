"""
The test of the tests: faults put into a copy of the router on purpose, each caught by named tests.

`python -m tests.defects` plants them all, one at a time; `published.py`, `within.py`,
`borders.py`, `seams.py`, `http_client.py`, `grouping.py`,
`rendering.py`, `for_all_nodes.py`, `addresses.py`, `runs_at_once.py`, `accepting_at_once.py`
`reading_others.py`, `other_rules.py`, `shared_limits.py`, `shared_store.py`,
`asking_others.py`, `operating.py`, `asking_first.py`, `whole_requests.py`,
`each_sender.py`, `missed.py`, `proved_elsewhere.py`, `known_events.py`, `proving_functions.py`,
`checking.py`, `testing_rules.py`, `never_shown.py`, `alerts.py`, `pages_of_now.py`,
`tracing.py`, `redacting.py`, `restarts.py`, `erasing.py`, `conclusions.py`,
`one_for_all.py`, `answering.py`, `packed_bodies.py` and `survived.py` list them.
"""

from tests.defects.accepting_at_once import ACCEPTING_AT_ONCE
from tests.defects.addresses import ADDRESSES
from tests.defects.alerts import ALERTS
from tests.defects.answering import ANSWERING
from tests.defects.asking_first import ASKING_FIRST
from tests.defects.asking_others import ASKING_OTHERS
from tests.defects.borders import BORDERS
from tests.defects.checking import CHECKING
from tests.defects.conclusions import CONCLUSIONS
from tests.defects.conditions import CONDITIONS
from tests.defects.counting import COUNTING
from tests.defects.each_sender import EACH_SENDER
from tests.defects.erasing import ERASING
from tests.defects.for_all_nodes import FOR_ALL_NODES
from tests.defects.grouping import GROUPING
from tests.defects.http_client import HTTP_CLIENT
from tests.defects.importing import IMPORTING
from tests.defects.known_events import KNOWN_EVENTS
from tests.defects.missed import MISSED
from tests.defects.never_shown import NEVER_SHOWN
from tests.defects.one_for_all import ONE_FOR_ALL
from tests.defects.operating import OPERATING
from tests.defects.other_rules import OTHER_RULES
from tests.defects.other_servers import OTHER_SERVERS
from tests.defects.packed_bodies import PACKED_BODIES
from tests.defects.pages_of_now import PAGES_OF_NOW
from tests.defects.peoples_data import PEOPLES_DATA
from tests.defects.private_names import PRIVATE_NAMES
from tests.defects.proved_elsewhere import PROVED_ELSEWHERE
from tests.defects.proving_functions import PROVING_FUNCTIONS
from tests.defects.published import PUBLISHED
from tests.defects.reading_others import READING_OTHERS
from tests.defects.redacting import REDACTING
from tests.defects.rendering import RENDERING
from tests.defects.restarts import RESTARTS
from tests.defects.runs_at_once import RUNS_AT_ONCE
from tests.defects.seams import SEAMS
from tests.defects.shared_limits import SHARED_LIMITS
from tests.defects.shared_store import SHARED_STORE
from tests.defects.survived import SURVIVED
from tests.defects.testing_rules import TESTING_RULES
from tests.defects.tracing import TRACING
from tests.defects.whole_requests import WHOLE_REQUESTS
from tests.defects.within import WITHIN

ALL = (
    *PUBLISHED,
    *WITHIN,
    *CONDITIONS,
    *BORDERS,
    *SEAMS,
    *HTTP_CLIENT,
    *GROUPING,
    *RENDERING,
    *FOR_ALL_NODES,
    *ADDRESSES,
    *OTHER_SERVERS,
    *RUNS_AT_ONCE,
    *ACCEPTING_AT_ONCE,
    *READING_OTHERS,
    *OTHER_RULES,
    *SHARED_LIMITS,
    *SHARED_STORE,
    *ASKING_OTHERS,
    *OPERATING,
    *ANSWERING,
    *ASKING_FIRST,
    *WHOLE_REQUESTS,
    *EACH_SENDER,
    *PRIVATE_NAMES,
    *PROVED_ELSEWHERE,
    *MISSED,
    *IMPORTING,
    *KNOWN_EVENTS,
    *PROVING_FUNCTIONS,
    *CHECKING,
    *TESTING_RULES,
    *NEVER_SHOWN,
    *ALERTS,
    *COUNTING,
    *PAGES_OF_NOW,
    *TRACING,
    *REDACTING,
    *PACKED_BODIES,
    *RESTARTS,
    *PEOPLES_DATA,
    *ERASING,
    *SURVIVED,
    *ONE_FOR_ALL,
    *CONCLUSIONS,
)
