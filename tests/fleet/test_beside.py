"""Which programs may stand beside one another on one database."""

from pathlib import Path

import pytest

from benchmarks.baseline import NoBaseline
from tests.acceptance.process import ROOT
from tests.fleet.beside import SCHEMA, makes_our_tables, program_of


def test_only_programs_of_the_same_tables_share_them(tmp_path: Path) -> None:
    assert makes_our_tables(ROOT)
    assert not makes_our_tables(tmp_path)
    (tmp_path / SCHEMA).parent.mkdir(parents=True)
    (tmp_path / SCHEMA).write_text("CREATE TABLE ledger ()", "utf-8")
    assert not makes_our_tables(tmp_path)


def test_a_commit_that_is_none_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NoBaseline, match="git"):
        program_of("no-such-commit", tmp_path)
