"""Which programs may stand beside one another on one database."""

from pathlib import Path

import pytest

from benchmarks.baseline import NoBaseline
from router.store.postgres.schema import MIGRATIONS, OLDEST_PROGRAM
from tests.acceptance.process import ROOT
from tests.fleet.beside import Schema, program_of, schema_of, unfit

TWO = Schema(("a", "b"), 1)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Schema(("a",), 1), None),
        (Schema(("a", "b", "c"), 2), None),
        (Schema(("a", "b", "c"), 3), "the newer of both has taken away"),
        (Schema(("a", "x", "c"), 1), "its migration 2 makes other tables"),
        (None, "it has no PostgreSQL store"),
    ],
)
def test_versions_that_share_their_first_tables_fit(other: Schema | None, why: str | None) -> None:
    said = unfit(other, TWO)
    assert said is None if why is None else str(said).startswith(why)
    assert unfit(TWO, other) == said


def test_our_own_schema_is_read_as_the_program_reads_it(tmp_path: Path) -> None:
    assert schema_of(ROOT) == Schema(MIGRATIONS, OLDEST_PROGRAM)
    assert schema_of(tmp_path) is None


def test_a_commit_before_this_store_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NoBaseline, match="git"):
        program_of("no-such-commit", tmp_path)
