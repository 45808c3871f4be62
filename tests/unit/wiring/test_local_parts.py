"""What nodes compare of their machines: fingerprints of secrets, digests of plugins and scripts."""

from pathlib import Path

import pytest

from router.config import load
from router.store.values import Local
from router.wiring.local_parts import FINGERPRINT_BYTES, local_parts

RULES = """
version: 1
secrets: {new: {env: N}, old: {env: O}, token: {env: T}, s1: {env: S}, s2: {env: S}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: [new, old]}
rules:
  - id: r
    from: shop
    actions:
      - id: a1
        http: {url: "https://a.example/", auth: {bearer: token}, sign: {
          secrets: [s1, s2], header: x-signed}}
      - id: a2
        python: {call: "desk:run"}
      - id: a3
        shell: {argv: [./bin/deploy, "{{ payload.id }}"]}
      - id: a4
        shell: {argv: [/usr/bin/python3, -u, tools/x.py, tools/data]}
      - id: a5
        shell: {argv: [tee, tools/data]}
      - id: a6
        shell: {argv: [sh, -c, "echo $0 > tools/data"]}
      - id: a7
        shell: {argv: [date]}
      - id: a8
        shell: {script: "date"}
"""
VALUES = {name: name.encode() * 9 for name in ("new", "old", "token", "s1", "s2")}
KEY = b"k" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = ("desk.py", "kit/__init__.py", "kit/parts.py", "notes.txt")
    for name in (*(f"plugins/{file}" for file in files), "bin/deploy", "tools/x.py", "tools/data"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("def run(event, context): pass\n", encoding="utf-8")
    return tmp_path


def parts(folder: Path, values: dict[str, bytes] = VALUES, key: bytes = KEY) -> Local:
    loaded = load(RULES, path=str(folder / "rules.yaml"), env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    return local_parts(loaded.ruleset, values, key)


def test_each_secret_and_each_file_that_the_rules_bring_along_has_a_name(folder: Path) -> None:
    found = parts(folder)
    secrets = {f"secrets.{name}" for name in VALUES}
    plugins, scripts = {"plugins/desk.py", "plugins/kit"}, {"./bin/deploy", "./tools/x.py"}
    assert found.keys() == secrets | plugins | scripts


def test_a_fingerprint_tells_nothing_but_whether_a_value_is_the_same(folder: Path) -> None:
    found = parts(folder, VALUES | {"token": VALUES["new"]})
    assert found["secrets.token"] == found["secrets.new"][:1]
    assert len(found["secrets.token"][0]) == 2 * FINGERPRINT_BYTES
    assert parts(folder, key=b"l" * 32)["secrets.new"] != found["secrets.new"]


def test_a_secret_of_a_list_has_those_of_the_others_behind_its_own(folder: Path) -> None:
    found = parts(folder)
    for one, other in (("new", "old"), ("s1", "s2")):
        assert found[f"secrets.{one}"] == found[f"secrets.{other}"][::-1]
        assert len(found[f"secrets.{one}"]) == 2


def test_a_secret_without_a_value_is_left_out(folder: Path) -> None:
    found = parts(folder, {"old": VALUES["old"]})
    assert found["secrets.old"] == parts(folder)["secrets.old"][:1]
    assert not {"secrets.new", "secrets.token"} & found.keys()


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ("plugins/desk.py", "plugins/desk.py"),
        ("plugins/kit/parts.py", "plugins/kit"),
        ("bin/deploy", "./bin/deploy"),
        ("tools/x.py", "./tools/x.py"),
    ],
)
def test_a_changed_file_has_another_digest(folder: Path, changed: str, name: str) -> None:
    before = parts(folder)
    (folder / changed).write_text("def run(event, context): return 1\n", encoding="utf-8")
    after = parts(folder)
    assert {one for one in after if after[one] != before[one]} == {name}


def test_elsewhere_the_same_files_have_the_same_names_and_digests(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "place"
    folder.rename(other)
    found = parts(other)
    other.rename(folder)
    assert found == parts(folder)


def test_a_script_that_is_not_there_has_no_name(folder: Path) -> None:
    (folder / "tools" / "x.py").unlink()
    assert "./tools/x.py" not in parts(folder)


def test_a_file_of_a_plugin_that_has_another_name_counts_as_changed(folder: Path) -> None:
    before = parts(folder)
    (folder / "plugins" / "kit" / "parts.py").rename(folder / "plugins" / "kit" / "pieces.py")
    assert parts(folder)["plugins/kit"] != before["plugins/kit"]
