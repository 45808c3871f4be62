"""Several files are read as one, and every fault knows its own."""

from pathlib import Path

import pytest

from router.config import KeptFiles, Loaded, load
from router.config.files import FolderFiles, included_names
from router.rules.ruleset import Ruleset
from router.yaml_source.reading import BYTES_MAX

SHOP = "endpoints: {shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}}"
MAIN = f"version: 1\ninclude: [rules/*.yaml]\n{SHOP}\n"


def rule(name: str, match: str = "payload.id == 1") -> str:
    return f"  - {{id: {name}, from: shop, match: {match}, actions: {{log: hi}}}}\n"


def part(*names: str) -> str:
    return "version: 1\nrules:\n" + "".join(map(rule, names))


def loaded(folder: Path, main: str = MAIN, *, tests: bool = False, **files: str) -> Loaded:
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("_", ".") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return load(main, path=str(folder / "rules.yaml"), env={}, tests=tests)


def ruleset(folder: Path, main: str = MAIN, **files: str) -> Ruleset:
    found = loaded(folder, main, **files)
    assert found.ruleset is not None, found.diagnostics
    return found.ruleset


def said(found: Loaded, folder: Path) -> list[tuple[str, str, int, int]]:
    """Code, file, line and column of each."""
    return [
        (d.code, str(Path(d.file).relative_to(folder)), d.line, d.column) for d in found.diagnostics
    ]


def test_files_are_merged_in_the_order_of_their_names(tmp_path: Path) -> None:
    main = MAIN + "rules:\n" + rule("first")
    found = ruleset(tmp_path, main, rules__b=part("b"), rules__a=part("a1", "a2"))
    assert [r.id for r in found.rules] == ["first", "a1", "a2", "b"]


def test_every_section_may_stand_in_an_included_file(tmp_path: Path) -> None:
    more = (
        "version: 1\nsecrets: {erp: {env: ERP}}\nvars: {limit: 5}\n"
        "targets: {erp: {url: 'https://erp.example.net', auth: {bearer: erp}}}\n"
        "define: {big: payload.total > var.limit}\nretries: {fast: {schedule: [1s]}}\n"
        f"{SHOP.replace('{shop:', '{other:').replace('8c1f', '8c2f')}\n"
        "rules: [{id: r, from: [shop, other], match: def.big, retry: fast,"
        " actions: {http: {target: erp}}}]\n"
        "tests: [{name: t, send: {endpoint: other, event: orders/paid}, expect: {matched: []}}]\n"
    )
    found = loaded(tmp_path, rules__a=more)
    assert found.ruleset is not None, found.diagnostics
    assert set(found.ruleset.endpoints) == {"shop", "other"}
    assert found.ruleset.rules[0].actions[0].retry.name == "fast"
    assert [(t.name, Path(t.file).name, t.line) for t in found.trials] == [("t", "a.yaml", 9)]


def test_a_fault_is_shown_in_its_own_file(tmp_path: Path) -> None:
    folded = "  - id: c\n    from: shop\n    match: >-\n      payload.id\n      == nowhere(1)\n"
    found = loaded(
        tmp_path,
        rules__a=part("a") + rule("b", "'payload.id === 1'"),
        rules__b="# more\nversion: 1\nrules:\n" + folded + "    actions: {log: hi}\n",
    )
    assert said(found, tmp_path) == [
        ("expression-syntax", "rules/a.yaml", 4, 44),
        ("unknown-function", "rules/b.yaml", 8, 10),
    ]
    assert [d.source for d in found.diagnostics][1] == "      == nowhere(1)"


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n", "\n\n"])
def test_lines_are_those_of_the_file_however_the_one_before_ends(tmp_path: Path, end: str) -> None:
    found = loaded(tmp_path, MAIN.rstrip() + end, rules__a="version: 1\nruls: []\n")
    assert said(found, tmp_path) == [("unknown-key", "rules/a.yaml", 2, 1)]


def test_a_name_that_two_files_give_is_shown_at_both(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        MAIN + "vars:\n  limit: 1\n",
        rules__a=part("a") + "vars: {limit: 2}\n",
        rules__b=part("b", "a"),
    )
    assert said(found, tmp_path) == [
        ("duplicate-name", "rules/a.yaml", 4, 8),
        ("duplicate-rule", "rules/b.yaml", 4, 10),
    ]
    first, second = (d.message for d in found.diagnostics)
    assert first.endswith(f"'limit' is taken by {tmp_path}/rules.yaml:5")
    assert second.endswith(f"taken by the rule in {tmp_path}/rules/a.yaml:3")


@pytest.mark.parametrize("key", ["server: {grace: 1s}", "include: b.yaml"])
def test_what_belongs_to_the_rules_file_stays_there(tmp_path: Path, key: str) -> None:
    found = loaded(tmp_path, rules__a=part("a") + key + "\n")
    assert said(found, tmp_path) == [("bad-include", "rules/a.yaml", 4, 1)]


@pytest.mark.parametrize(
    "pattern",
    ["/etc/*.yaml", "~/x.yaml", "../x.yaml", "a/../../x.yaml", "'**/x.yaml'", "'a\\b.yaml'"],
)
def test_only_the_folder_of_the_rules_file_is_asked(tmp_path: Path, pattern: str) -> None:
    found = loaded(tmp_path, MAIN.replace("rules/*.yaml", pattern))
    assert said(found, tmp_path) == [("bad-include", "rules.yaml", 2, 11)]


def test_a_link_does_not_lead_out(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    (folder / "rules").mkdir(parents=True)
    (tmp_path / "secret.yaml").write_text(part("stolen"))
    (folder / "rules" / "a.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "rules" / "gone.yaml").symlink_to(tmp_path / "nothing.yaml")
    found = loaded(folder)
    assert said(found, folder) == [("bad-include", "rules.yaml", 2, 11)]
    assert "leads out of the rules file's folder" in found.diagnostics[0].message


def test_a_pattern_that_fits_nothing_is_a_warning_and_a_name_an_error(tmp_path: Path) -> None:
    found = loaded(tmp_path, rules__unused="")
    (tmp_path / "rules" / "unused.yaml").unlink()
    found = loaded(tmp_path)
    assert found.ruleset is not None
    assert said(found, tmp_path) == [("includes-nothing", "rules.yaml", 2, 11)]
    found = loaded(tmp_path, MAIN.replace("rules/*.yaml", "rules/a.yaml"))
    assert found.ruleset is None
    assert said(found, tmp_path) == [("bad-include", "rules.yaml", 2, 11)]


def test_what_fits_two_patterns_is_read_once_and_the_file_itself_never(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("not even: [yaml")
    main = MAIN.replace("rules/*.yaml", "./rules/*.yaml, rules/a.yaml, '*.yaml'")
    found = ruleset(tmp_path, main, rules__a=part("a"), z=part("z"))
    assert [r.id for r in found.rules] == ["a", "z"]


def test_a_file_that_cannot_be_read_stops_there(tmp_path: Path) -> None:
    """Else every name of it would be unknown."""
    main = MAIN + "rules:\n" + rule("first", "def.big")
    found = loaded(tmp_path, main, rules__a="define: [", rules__b="- a list\n")
    assert [(c, f) for c, f, *_ in said(found, tmp_path)] == [
        ("yaml-syntax", "rules/a.yaml"),
        ("wrong-type", "rules/b.yaml"),
    ]
    (tmp_path / "rules" / "a.yaml").write_bytes(b"version: \xff")
    assert said(loaded(tmp_path, main), tmp_path)[-1] == ("unreadable-text", "rules/a.yaml", 1, 10)


def test_the_bounds_hold_for_all_files_together(tmp_path: Path) -> None:
    half = part("a") + "#" * (BYTES_MAX // 2)
    found = loaded(tmp_path, rules__a=half, rules__b=half)
    assert said(found, tmp_path) == [("too-big", "rules/b.yaml", 1, 1)]
    aliases = "version: 1\nx-a: &a 1\nx-b: [" + "*a, " * 60 + "]\n"
    found = loaded(tmp_path, rules__a=aliases, rules__b=aliases)
    assert [(c, f) for c, f, *_ in said(found, tmp_path)] == [("too-big", "rules/b.yaml")]


def test_a_file_too_large_is_not_even_read(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    with (tmp_path / "rules" / "a.yaml").open("wb") as file:
        file.truncate(BYTES_MAX + 1)
    (found,) = loaded(tmp_path).diagnostics
    assert (found.code, found.message) == (
        "bad-include", "cannot read 'rules/a.yaml': it is larger than 16 MiB"
    )  # fmt: skip


def test_an_alias_is_moved_once(tmp_path: Path) -> None:
    text = part("a") + "x-e: &e payload.id ==== 1\ndefine: {one: *e, two: *e}\n"
    found = loaded(tmp_path, rules__a=text)
    assert set(said(found, tmp_path)) == {("expression-syntax", "rules/a.yaml", 4, 20)}


def test_a_generation_is_all_of_its_files_and_their_names(tmp_path: Path) -> None:
    first = ruleset(tmp_path, rules__a=part("a"))
    assert first.context["files"] == {"rules/a.yaml": part("a")}
    (tmp_path / "rules" / "a.yaml").rename(tmp_path / "rules" / "b.yaml")
    second = ruleset(tmp_path)
    third = ruleset(tmp_path, rules__b=part("a") + "#")
    assert len({r.generation for r in (first, second, third)}) == 3
    assert "files" not in ruleset(tmp_path, MAIN.replace("include", "x-include")).context


def test_a_kept_generation_is_read_without_its_folder(tmp_path: Path) -> None:
    now = ruleset(tmp_path, rules__a=part("a"), rules__b=part("b"))
    files = KeptFiles(now.context["files"])
    then = load(now.text, path="/gone/rules.yaml", env={}, files=files).ruleset
    assert then is not None
    assert (then.generation, [r.id for r in then.rules]) == (now.generation, ["a", "b"])


def test_tests_lie_beside_the_files_they_test(tmp_path: Path) -> None:
    trial = "{name: %s, send: {endpoint: shop, event: orders/paid}, expect: {matched: []}}"
    beside = "version: 1\ntests:\n  - " + trial
    files = {"rules__a": part("a"), "rules__a_test": beside % "a", "rules_test": beside % "main"}
    found = loaded(tmp_path, tests=True, **files)
    assert [(t.name, Path(t.file).name, t.line) for t in found.trials] == [
        ("main", "rules.test.yaml", 3),
        ("a", "a.test.yaml", 3),
    ]
    assert found.ruleset is not None
    assert set(found.ruleset.context["files"]) == {"rules/a.yaml"}
    assert loaded(tmp_path).trials == ()


def test_a_file_of_tests_holds_nothing_else(tmp_path: Path) -> None:
    found = loaded(tmp_path, tests=True, rules__a=part("a"), rules_test=part("b"))
    assert [(c, f) for c, f, *_ in said(found, tmp_path)] == [
        ("missing-key", "rules.test.yaml"),
        ("unknown-key", "rules.test.yaml"),
    ]
    assert loaded(tmp_path).ruleset is not None


def test_what_a_wrong_file_includes_is_still_known(tmp_path: Path) -> None:
    """So that a change there is noticed."""
    loaded(tmp_path, rules__a=part("a"), rules__a_test="")
    files = FolderFiles(tmp_path)
    assert included_names(MAIN + "rules: 5\n", files) == ["rules/a.yaml"]
    assert included_names("version: 1\nincludes: x", files) == []
    assert included_names("include: [", files) == []
