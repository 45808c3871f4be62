"""A default that is told is the default: written out, it changes nothing."""

import re
from typing import Any

import msgspec
import pytest
import yaml

from router.config import kinds, load, render_text, schema, server_schema
from router.model.settings import ServerSettings
from router.rules.ruleset import Ruleset
from router.yaml_source import keys_of
from tests.acceptance.process import ROOT

RULES_PAGE = (ROOT / "docs" / "rules.md").read_text("utf-8")
BASE: dict[str, Any] = {
    "version": 1,
    "server": {"limits": {}, "retention": {}, "reload": {}},
    "secrets": {"s": {"env": "S"}},
    "targets": {"erp": {"url": "https://erp.example.net", "sign": {
        "header": "X-Sig", "secrets": "s", "prefix": "x="}}},
    "endpoints": {"shop": {"paths": "/shop", "provider": "shopify", "secrets": "s",
                           "dedupe": {}, "answer": {"status": 202}}},
    "rules": [
        {"id": "a", "from": "shop", "concurrency": {"group": "payload.id"}, "actions": [
            {"id": "h", "http": {"target": "erp"}},
            {"id": "s", "shell": {"script": "true"}},
            {"id": "l", "log": "x"},
        ]},
    ],
}  # fmt: skip

SERVER, TARGET, ENDPOINT = ("server",), ("targets", "erp"), ("endpoints", "shop")
RULE: tuple[str | int, ...] = ("rules", 0)
HTTP, SHELL = (*RULE, "actions", 0, "http"), (*RULE, "actions", 1, "shell")
DESCRIBED = {
    server_schema.ServerEntry: SERVER,
    server_schema.LimitsEntry: (*SERVER, "limits"),
    server_schema.RetentionEntry: (*SERVER, "retention"),
    server_schema.ReloadEntry: (*SERVER, "reload"),
    schema.TargetEntry: TARGET,
    schema.EndpointEntry: ENDPOINT,
    schema.DedupeEntry: (*ENDPOINT, "dedupe"),
    schema.AnswerEntry: (*ENDPOINT, "answer"),
    schema.SignEntry: (*TARGET, "sign"),
    kinds.http.HttpEntry: HTTP,
    kinds.shell.ShellEntry: SHELL,
}
"""Where a mapping of which kind stands in BASE."""
TABLES = {"`url`": TARGET, "`provider`": ENDPOINT, "`mode`": RULE, "`method`": HTTP,
          "`interpreter`": SHELL, "`on_interrupt`": (*RULE, "actions", 0)}  # fmt: skip
"""By a key of its own, where what a table of docs/rules.md tells of stands in BASE."""
_LITERAL = re.compile(r"`?([a-z0-9][\w.:/+-]*|\[[\w, -]+\])`?", re.IGNORECASE)
_WORDY = {"required", "none", "always", "any", "everybody", "the"}


def ruleset(data: Any) -> Ruleset:
    result = load(yaml.safe_dump(data, sort_keys=False), path="/srv/rules.yaml", env={})
    assert result.ruleset is not None, render_text(result.diagnostics)
    return result.ruleset


def meant(data: Any) -> tuple[Any, ...]:
    """What a file comes to, places in its text left out."""
    found = ruleset(data)
    rules = re.sub(r"\b(start|end|line|column)=\d+", "", repr(found.rules))
    return found.server, found.endpoints, found.targets, rules


def written(place: tuple[str | int, ...], key: str, value: Any) -> Any:
    data = msgspec.msgpack.decode(msgspec.msgpack.encode(BASE))
    inner = data
    for step in place:
        inner = inner[step]
    inner[key] = value
    return data


def described() -> list[tuple[tuple[str | int, ...], str, str]]:
    """From what the keys say of themselves, which editors show: `Default 5s.`"""
    return [
        (place, key.name, key.default)
        for kind, place in DESCRIBED.items()
        for key in keys_of(kind)
        if key.default is not None
    ]


def tabled() -> list[tuple[tuple[str | int, ...], str, str]]:
    """From the tables `| key | default | |` of docs/rules.md: those defaults that are values."""
    found = []
    for table in re.findall(r"^\| key \| default \| \|\n\|---.*\n((?:\|.*\n)+)", RULES_PAGE, re.M):
        rows = re.findall(r"^\| (`\w+`) \| (.*?) \|", table, re.M)
        keys = {key for key, _ in rows}
        place = next((place for key, place in TABLES.items() if key in keys), None)
        for key, reported in rows if place is not None else ():
            value = _LITERAL.fullmatch(reported)
            if value and value[1] not in _WORDY and key != "`id`":
                found.append((place, key.strip("`"), value[1]))
    return found


@pytest.mark.parametrize(("place", "key", "value"), [*described(), *tabled()])
def test_a_default_written_out_changes_nothing(
    place: tuple[str | int, ...], key: str, value: str
) -> None:
    default = value if value in ("on", "off") else yaml.safe_load(value)
    assert meant(written(place, key, default)) == meant(BASE)


def test_defaults_are_looked_at() -> None:
    assert {key for _, key, _ in described()} >= {"listen", "answer", "dead", "timeout", "window"}
    assert {key for _, key, _ in tabled()} >= {"concurrency", "timeout", "mode", "on_interrupt"}


def test_the_server_s_block_shows_the_defaults() -> None:
    """The lines of docs/rules.md that are marked as such."""
    [block] = [b for b in re.findall(r"^```yaml\n(.*?)^```", RULES_PAGE, re.M | re.S)
               if "these are the defaults" in b]  # fmt: skip
    head, _, limits = block.partition("  limits:")
    marked = [line for line in head.splitlines() if re.search(r"# defaults?(;|$)", line)]
    assert len(marked) >= 7
    reported = "version: 1\nserver:\n" + "\n".join(marked) + "\n  limits:" + limits
    plain = {"version": 1}
    assert ruleset(yaml.safe_load(reported)).server == ruleset(plain).server
    base_url = re.search(r"# default (http:\S+) ", head)
    assert base_url is not None
    assert base_url[1] == ServerSettings().base_url


@pytest.mark.parametrize(
    ("page", "pattern", "key"),
    [
        ("operations.md", r"^\| `server\.listen` \| `(.*?)` \|", "listen"),
        ("operations.md", r"^\| `server\.admin` \| `(.*?)` \|", "admin"),
        ("api.md", r"`server\.admin`, default `(.*?)`", "admin"),
        ("dashboard.md", r"`server\.admin`, by default `(.*?)`", "admin"),
    ],
)
def test_where_it_listens_is_reported_alike_everywhere(page: str, pattern: str, key: str) -> None:
    found = re.search(pattern, (ROOT / "docs" / page).read_text("utf-8"), re.M)
    assert found is not None
    assert (
        found[1] == getattr(ruleset({"version": 1}).server, key) == getattr(ServerSettings(), key)
    )
