"""Every bad input of the table, at a running router; `python -m tests.faults.wire.corpus`."""

from pathlib import Path

import pytest

from tests.faults.wire import corpus

pytestmark = pytest.mark.long

BUSY_S = 20.0
"""The other tests have the machine meanwhile; the long form is exact."""


@pytest.fixture(scope="module")
def outcome(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[corpus.Result], list[str]]:
    return corpus.run(Path(tmp_path_factory.mktemp("corpus")), slack=BUSY_S)


def test_every_case_gets_the_answer_that_is_promised(
    outcome: tuple[list[corpus.Result], list[str]],
) -> None:
    results, beside = outcome
    assert [str(result) for result in results if result.problems] == []
    assert beside == []
    assert len(results) == sum(len(case.places) for case in corpus.CASES)
