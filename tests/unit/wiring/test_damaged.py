"""Nothing is done with a stored delivery that the disk has changed."""

from types import SimpleNamespace
from typing import Any

import pytest

from router.dispatch.rules_port import renderer
from router.errors import NotFound, RenderError
from router.model.job import Work
from router.operator.new_jobs import NewJobs
from tests.sim.makers import a_delivery, a_job

NO_RULES: Any = SimpleNamespace()


def test_nothing_is_run_with_a_delivery_that_the_disk_has_changed() -> None:
    """Whether or not its action reads the body."""
    render = renderer(NO_RULES, {})
    with pytest.raises(RenderError, match=r"^corrupt: "):
        render(Work(a_job(), a_delivery(damaged=True), None), {})


def test_such_a_delivery_is_not_routed_anew() -> None:
    again = NewJobs(NO_RULES, NO_RULES, NO_RULES)
    with pytest.raises(NotFound, match="corrupt"):
        again.delivery(a_delivery(damaged=True))
