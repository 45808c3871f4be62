"""What is said of a store that is away."""

import pytest

from router.errors import StoreUnavailable
from router.serving.store_outage import StoreOutage
from tests.unit.serving.test_nodes import Lines


def test_each_outage_is_said_once() -> None:
    log = Lines()
    outage = StoreOutage(log, "away")
    for works in (False, False, True, False, True):
        with outage:
            if not works:
                raise StoreUnavailable("not now")
        assert outage.away is not works
    assert log.said == ["away", "away"]


def test_what_is_no_outage_is_not_kept_quiet() -> None:
    with pytest.raises(ValueError, match="odd"), StoreOutage(Lines(), "away"):
        raise ValueError("odd")
