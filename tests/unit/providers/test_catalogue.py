"""The built-in providers: all names, one object each, the whole interface."""

from pathlib import Path

import pytest
import yaml

from router.providers import builtin, own
from router.providers.heads import DefinitionHead, heads
from tests.unit.providers.makers import SENDERS

DEFINITIONS = Path(__file__).parents[3] / "router" / "providers" / "definitions"
TOPICS = """
orders/create orders/updated orders/paid orders/cancelled orders/fulfilled
orders/partially_fulfilled refunds/create transactions/create products/create products/update
products/delete inventory_levels/update inventory_items/create inventory_items/update
inventory_items/delete customers/create customers/update customers/delete customers/enable
customers/disable collections/create collections/update collections/delete collection_listings/add
collection_listings/remove carts/create carts/update checkouts/create checkouts/update
checkouts/delete app/uninstalled shop/update themes/publish themes/update customers/redact
shop/redact customers/data_request fulfillments/create fulfillments/update
"""
MAIL_EVENTS = """
processed dropped delivered deferred bounce open click unsubscribe spamreport group_unsubscribe
group_resubscribe
"""
HUB_EVENTS = """
push pull_request pull_request_review pull_request_review_comment issues issue_comment create
delete fork star workflow_run workflow_job check_run check_suite status release deployment
deployment_status member team_add repository organization team membership project ping
repository_dispatch
"""


@pytest.mark.parametrize(
    ("name", "events"), [("commerce", TOPICS), ("email", MAIL_EVENTS), ("code-host", HUB_EVENTS)]
)
def test_catalogues_are_whole(name: str, events: str) -> None:
    """What the interface names; what senders publish beside it is held in tests/shapes."""
    assert {e.name for e in builtin()[name].events} >= set(events.split())


@pytest.mark.parametrize("name", ["email", "code-host", "gitlab"])
def test_every_event_has_the_words_of_the_settings_screen(name: str) -> None:
    provider = builtin()[name]
    assert set(provider.definition.settings) == {
        e.name for e in provider.events if e.group != "Others"
    }


ONCE = {"alertmanager", "dropbox", "grafana", "woocommerce"}
"""What says nothing new says that something new has happened: the same bytes, the same number."""


@pytest.mark.parametrize("name", SENDERS)
def test_a_sender_is_whole(name: str) -> None:
    """What a new definition forgets easily, and nothing else would miss."""
    provider = builtin()[name]
    assert provider.has_ids != (name in ONCE), "`id:` says what makes two deliveries the same one"
    events = [e.name for e in provider.events] or ["user.created"]
    assert [e for e in events if provider.sample(e) is None] == [], "`samples:` for each event"


def test_heads_say_what_the_definitions_say() -> None:
    """Heads are read without a parser of YAML, before anything else of a definition is."""
    for head in heads():
        d = (own() if head.file == own().name else builtin()[head.file]).definition
        known_by = tuple(line.encode() for line in d.known_by)
        assert head == DefinitionHead(d.generic, d.names[0], d.names, d.label, known_by)
        assert d.generic or head.file == own().name or known_by, "how are its requests known?"


def test_every_name_has_a_file_and_every_file_a_name() -> None:
    files = {path.stem for path in DEFINITIONS.glob("*.yaml")}
    assert {p.name for p in (*builtin().values(), own())} == files
    assert own().name not in builtin()  # no endpoint may name it


@pytest.mark.long
@pytest.mark.parametrize("name", SENDERS)
def test_both_loaders_of_yaml_read_the_same(name: str) -> None:
    """The C loader is not everywhere, and the other takes fewer texts without quotes."""
    text = (DEFINITIONS / f"{name}.yaml").read_bytes()
    assert yaml.load(text, yaml.SafeLoader) == yaml.load(text, yaml.CSafeLoader)


def test_a_name_and_its_alias_are_one_provider() -> None:
    for name, alias in [("commerce", "shopify"), ("email", "sendgrid"), ("code-host", "github")]:
        assert builtin()[name] is builtin()[alias]
        assert (builtin()[name].name, builtin()[name].aliases) == (name, (alias,))


def test_the_table_of_names_is_that_of_the_files() -> None:
    named = {n for p in builtin().values() for n in (p.name, *p.aliases)}
    assert named == set(builtin())


def test_senders_come_before_the_kinds_that_stand_for_many() -> None:
    generic = [p.definition.generic for p in builtin().values()]
    assert generic == sorted(generic)
    assert len(set(generic)) == 2


def test_unknown_names_are_unknown() -> None:
    assert "acme" not in builtin()
    assert builtin().get("acme") is None
