"""Hooks with every rule type and source, and requests at their edges."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.differential.webhook.requests import FORM, HookRequest, formed, hmac_of, jsoned

Hook = dict[str, Any]
SECRET = "a-secret-of-the-hook"
OTHER = "another-secret-of-it"


@dataclass(frozen=True)
class Case:
    """A request; `differs` names the line of the documentation's table that says why."""

    request: HookRequest
    differs: str = ""


def value(name: str, wanted: str, source: str = "payload") -> Hook:
    return {"match": {"type": "value", "value": wanted, "parameter": given(name, source)}}


def fits(name: str, pattern: str, source: str = "payload") -> Hook:
    return {"match": {"type": "regex", "regex": pattern, "parameter": given(name, source)}}


def given(name: str, source: str = "payload", **more: Any) -> Hook:
    return {"source": source, "name": name, **more}


def signed(secret: str = SECRET, algorithm: str = "sha256", header: str = "X-Sig") -> Hook:
    parameter = given(header, "header")
    return {
        "match": {"type": f"payload-hmac-{algorithm}", "secret": secret, "parameter": parameter}
    }


def of_address(ranges: str) -> Hook:
    return {"match": {"type": "ip-whitelist", "ip-range": ranges}}


def with_signature(payload: Any, signature: str, hook: str = "signed") -> HookRequest:
    """`signature` with `{}` for the right one of SECRET."""
    body = json.dumps(payload).encode()
    text = signature.replace("{}", hmac_of(SECRET, body)).replace("{other}", hmac_of(OTHER, body))
    return HookRequest(hook, body, headers={"X-Sig": text})


NUMBERS = (1, 10, 1.5, 0, 12345678901234567890123)
WRONG = "0" * 64

HOOKS: dict[str, Hook] = {
    "always": {
        "pass-arguments-to-command": [
            given("a"),
            given("b.c"),
            given("l.0.d"),
            given("l"),
            given("o"),
            given("q", "url"),
            given("X-One", "header"),
            given("fixed {{ text", "string"),
            given("", "entire-payload"),
            given("", "entire-query"),
        ],
        "pass-environment-to-command": [
            given("a"),
            given("b.c", envname="OWN_C"),
            given("n", envname="OWN_N"),
            given("q", "query", envname="OWN_Q"),
            given("X-One", "header", envname="OWN_ONE"),
        ],
        "pass-file-to-command": [
            given("a", envname="FILE_A"),
            given("data", envname="FILE_B", base64decode=True),
        ],
    },
    "branch": {"trigger-rule": value("ref", "refs/heads/main")},
    "text": {"trigger-rule": value("x", "1")},
    "true": {"trigger-rule": value("x", "true")},
    "nil": {"trigger-rule": value("x", "<nil>")},
    "empty": {"trigger-rule": value("x", "")},
    "json": {"trigger-rule": value("x", '{"a":1}')},
    "quoted": {"trigger-rule": value("x", 'it\'s \\ "so" `here`\\')},
    "unicode": {"trigger-rule": value("größe", "ß→🎈")},
    "deep": {"trigger-rule": value("commits.1.author.name", "ann")},
    "dotted": {"trigger-rule": value("labels.app.example/name", "shop")},
    "regex": {"trigger-rule": fits("x", "^v[0-9]+(\\.[0-9]+)*$")},
    "regexes": {"trigger-rule": fits("x", "(?i)it's|l")},
    "header": {"trigger-rule": value("x-kind", "push", "header")},
    "query": {"trigger-rule": {"and": [value("q", "a b", "url"), fits("r", ".", "query")]}},
    "not": {"trigger-rule": {"not": value("x", "1")}},
    "not-empty": {"trigger-rule": {"not": value("x", "")}},
    "not-nil": {"trigger-rule": {"not": value("x", "<nil>")}},
    "not-regex": {"trigger-rule": {"not": fits("x", "^a")}},
    "and-not": {"trigger-rule": {"and": [{"not": value("x", "1")}, {"not": fits("y", "^a")}]}},
    "or-not": {"trigger-rule": {"or": [{"not": value("x", "1")}, value("y", "a")]}},
    "not-and": {"trigger-rule": {"not": {"and": [value("x", "1"), {"not": value("y", "a")}]}}},
    "and-not-and": {
        "trigger-rule": {
            "and": [value("z", "1"), {"not": {"and": [value("x", "1"), value("y", "a")]}}]
        }
    },
    "not-not": {"trigger-rule": {"not": {"not": value("x", "1")}}},
    "not-or": {"trigger-rule": {"not": {"or": [value("x", "1"), value("y", "a")]}}},
    "signed": {"trigger-rule": signed()},
    "signed-and": {"trigger-rule": {"and": [signed(), value("x", "1")]}},
    "sha1": {"trigger-rule": signed(algorithm="sha1")},
    "sha512": {"trigger-rule": signed(algorithm="sha512")},
    "rotated": {
        "trigger-rule": {"or": [signed(), signed(OTHER)]},
        "trigger-signature-soft-failures": True,
    },
    "rotated-hard": {"trigger-rule": {"or": [signed(), signed(OTHER)]}},
    "either": {
        "trigger-rule": {
            "or": [{"and": [signed(), value("x", "1")]}, {"and": [signed(OTHER), value("x", "2")]}]
        },
        "trigger-signature-soft-failures": True,
    },
    "token": {"trigger-rule": {"and": [value("X-Token", SECRET, "header"), value("x", "1")]}},
    "bearer": {"trigger-rule": value("Authorization", f"Bearer {SECRET}", "header")},
    "basic": {"trigger-rule": value("Authorization", "Basic dXNlcjpwYXNz", "header")},
    "in-body": {"trigger-rule": value("token", SECRET)},
    "in-query": {"trigger-rule": value("token", SECRET, "url")},
    "by-key": {"trigger-rule": {"and": [value("key", SECRET, "url"), value("x", "1")]}},
    "by-foo": {"trigger-rule": value("X-Foo", SECRET, "header")},
    "either-key": {"trigger-rule": {"or": [value("x", "1"), value("key", SECRET, "url")]}},
    "two-tokens": {
        "trigger-rule": {
            "or": [value("X-Token", SECRET, "header"), value("X-Token", OTHER, "header")]
        }
    },
    "both-tokens": {
        "trigger-rule": {"and": [value("X-Token", SECRET, "header"), value("token", OTHER, "url")]}
    },
    "token-beside": {"trigger-rule": {"or": [value("X-Token", SECRET, "header"), value("x", "1")]}},
    "scalr": {"trigger-rule": {"match": {"type": "scalr-signature", "secret": SECRET}}},
    "here": {
        "trigger-rule": {"match": {"type": "ip-whitelist", "ip-range": "10.0.0.0/8 127.0.0.1"}}
    },
    "there": {"trigger-rule": of_address("192.0.2.1/24")},
    "posted": {"trigger-rule": {"and": [value("method", "POST", "request"), value("x", "1")]}},
    "posted-or-put": {
        "trigger-rule": {"or": [value("method", m, "request") for m in ("POST", "PUT")]}
    },
    "got": {"http-methods": [" get "]},
    "forced": {
        "incoming-payload-content-type": "application/json",
        "trigger-rule": value("x", "1"),
    },
    "inner": {
        "parse-parameters-as-json": [given("payload")],
        "trigger-rule": value("payload.ref", "main"),
        "pass-arguments-to-command": [given("payload.id"), given("other")],
    },
    "whole": {
        "trigger-rule": fits("", "hello", "raw-request-body"),
        "pass-arguments-to-command": [given("", "raw-request-body")],
    },
    "listed": {"trigger-rule": value("root.1.x", "1")},
    "null": {"trigger-rule": {"not": value("o.y", "1")}},
    "created": {"success-http-response-code": 201},
    "file": {"pass-file-to-command": [given("", "raw-request-body", envname="FILE_A")]},
}

_VALUES: list[Any] = [
    "1",
    1,
    1.0,
    "true",
    True,
    "",
    None,
    [],
    {},
    {"a": 1},
    '{"a":1}',
    "a",
    "ab",
    "<nil>",
]
_BODIES: list[dict[str, Any]] = [{"x": v} for v in _VALUES] + [{}, {"y": "a"}, {"z": "1"}]
_PAIRS: list[dict[str, Any]] = [
    {k: v for k, v in (("x", x), ("y", y), ("z", "1")) if v is not None}
    for x in ("1", "2", None)
    for y in ("a", "b", None)
]
_RICH: dict[str, Any] = {
    "a": "text <&> ü",
    "b": {"c": 12.50},
    "l": [{"d": True}, 2],
    "o": {"z": 1, "a": "<"},
    "n": None,
    "data": "aGVsbG8gd29ybGQ=",
}


def cases(now_ms: int) -> list[Case]:
    """All of them, sent now: a signed time is known for five minutes."""
    found = [Case(jsoned("always", {**_RICH}, headers={"X-One": "1"}, query="q=a%20b&q2=%C3%BC"))]
    found += [Case(jsoned("always", {"a": number})) for number in NUMBERS]
    found += [Case(jsoned("always", {})), Case(formed("always", {"a": "ü & b", "c": "1"}))]
    found += [Case(formed("always", {"b.c": "1"}), "dots")]
    found += [
        Case(HookRequest("always", b"", None, method="GET", query="q=1")),
        Case(HookRequest("always", b"<a/>", "text/plain"), "unreadable"),
        Case(HookRequest("always", b'{"a": 1}', None), "unreadable"),
        Case(HookRequest("always", b'{"a": -1}'), "dashes"),
        Case(HookRequest("always", b'{"a": 1e2}'), "exponents"),
        Case(HookRequest("always", b'{"a": "-x"}'), "dashes"),
        Case(HookRequest("always", b'{"a": '), "unreadable"),
        Case(HookRequest("always", b"", method="GET", query="q=1&q=2"), "repeated"),
        Case(HookRequest("always", b"a=1&a=2", FORM), "repeated"),
    ]
    for hook in ("text", "true", "nil", "empty", "json", "regex", "regexes"):
        found += [Case(jsoned(hook, body)) for body in _BODIES]
    for hook in ("not", "not-empty", "not-nil", "not-regex"):
        found += [Case(jsoned(hook, body)) for body in _BODIES]
    for hook in ("and-not", "or-not", "not-and", "and-not-and", "not-not", "not-or"):
        found += [Case(jsoned(hook, body)) for body in _PAIRS]
    found += [
        Case(jsoned("branch", {"ref": ref})) for ref in ("refs/heads/main", "refs/heads/x", 1)
    ]
    found += [Case(formed("branch", {"ref": ref})) for ref in ("refs/heads/main", "x")]
    found += [
        Case(HookRequest("branch", b"<ref>refs/heads/main</ref>", "application/xml")),
        Case(jsoned("quoted", {"x": 'it\'s \\ "so" `here`\\'})),
        Case(jsoned("quoted", {"x": "its \\"})),
        Case(jsoned("unicode", {"größe": "ß→🎈"})),
        Case(jsoned("deep", {"commits": [{}, {"author": {"name": "ann"}}]})),
        Case(jsoned("deep", {"commits": [{"author": {"name": "ann"}}]})),
        Case(jsoned("deep", {"commits": {"1": {"author": {"name": "ann"}}}}), "dots"),
        Case(jsoned("deep", {"commits.1.author.name": "ann"}), "dots"),
        Case(jsoned("dotted", {"labels": {"app.example/name": "shop"}})),
        Case(jsoned("dotted", {"labels.app.example/name": "shop"})),
        Case(jsoned("dotted", {"labels": {"app": {"example/name": "shop"}}})),
        Case(jsoned("dotted", {"labels": {"app": {"example/name": "x"}}})),
        *(Case(jsoned("regex", {"x": x})) for x in ("v1", "v1.20", "v", " v1", 1, None)),
        *(Case(jsoned("regexes", {"x": x})) for x in ("IT'S", "nul", None, ["l"])),
        *(Case(jsoned("header", {}, headers={"X-Kind": kind})) for kind in ("push", "Push", "")),
        Case(jsoned("header", {})),
        *(Case(jsoned("query", {}, query=q)) for q in ("q=a+b&r=1", "q=a%20b", "q=a%20b&r=", "")),
    ]
    return found + _proofs(now_ms) + _bodies()


def _proofs(now_ms: int) -> list[Case]:
    written = (
        "sha256={}",
        "{}",
        "sha256={other}",
        WRONG,
        "",
        "sha1={}",
        f"sha256={WRONG},sha256={{}}",
    )
    written += ("sha256={},x", "x,{}", "SHA256={}")
    found = [Case(with_signature({"x": "1"}, text)) for text in written]
    found += [Case(jsoned("signed", {})), Case(with_signature({"x": "1"}, "{}", "signed-and"))]
    found += [Case(with_signature({"x": "2"}, "{}", "signed-and"))]
    for hook in ("rotated", "either"):
        for x in ("1", "2"):
            found += [
                Case(with_signature({"x": x}, s, hook)) for s in ("{}", "sha256={other}", WRONG)
            ]
    found += [
        Case(with_signature({}, "{}", "rotated-hard")),
        Case(with_signature({}, "sha256={other}", "rotated-hard"), "listed"),
        Case(with_signature({}, WRONG, "rotated-hard")),
    ]
    for algorithm in ("sha1", "sha512"):
        right = f"{algorithm}={hmac_of(SECRET, b'{}', algorithm)}"
        for text in (right, right.upper(), "sha256=" + right):
            found.append(Case(HookRequest(algorithm, b"{}", headers={"X-Sig": text})))
    for token in (SECRET, OTHER, ""):
        found += [
            Case(jsoned("token", {"x": "1"}, headers={"X-Token": token})),
            Case(jsoned("both-tokens", {}, query=f"token={OTHER}", headers={"X-Token": token})),
            Case(jsoned("both-tokens", {}, query=f"token={token}", headers={"X-Token": SECRET})),
            Case(jsoned("two-tokens", {}, headers={"X-Token": token})),
            Case(jsoned("token-beside", {"x": "2"}, headers={"X-Token": token})),
            Case(jsoned("bearer", {}, headers={"Authorization": f"Bearer {token}"})),
            Case(jsoned("in-body", {"token": token})),
            Case(formed("in-body", {"token": token})),
            Case(jsoned("in-query", {}, query=f"token={token}")),
            Case(jsoned("by-foo", {}, headers={"X-Foo": token})),
            *(Case(jsoned("by-key", {"x": x}, query=f"key={token}")) for x in ("1", "2")),
            *(Case(jsoned("either-key", {"x": x}, query=f"key={token}")) for x in ("1", "2")),
        ]
    found += [
        Case(jsoned("basic", {}, headers={"Authorization": f"Basic {b}"}))
        for b in ("dXNlcjpwYXNz", "eA==")
    ]
    for date, body in ((_date(now_ms), b"{}"), (_date(now_ms), b"x"), (_date(0), b"{}")):
        right = hmac_of(SECRET, b"{}" + date.encode(), "sha1")
        stamped = {"X-Signature": right, "Date": date}
        found.append(Case(HookRequest("scalr", body, headers=stamped)))
    found += [Case(jsoned(hook, {"x": "1"})) for hook in ("token", "token-beside", "here", "there")]
    return found


def _date(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%a %d %b %Y %H:%M:%S UTC")


def _bodies() -> list[Case]:
    return [
        Case(jsoned("posted", {"x": "1"})),
        Case(jsoned("posted", {"x": "1"}, method="PUT")),
        *(Case(jsoned("posted-or-put", {}, method=m)) for m in ("POST", "PUT", "PATCH")),
        *(Case(HookRequest("got", method=method)) for method in ("GET", "POST")),
        Case(HookRequest("got", method="HEAD")),
        Case(HookRequest("created", method="DELETE")),
        Case(HookRequest("forced", b'{"x": "1"}', "text/plain")),
        Case(HookRequest("forced", b'{"x": "1"}', None)),
        Case(formed("inner", {"payload": '{"ref": "main", "id": 7}', "other": "o"})),
        Case(formed("inner", {"payload": '{"ref": "x"}'})),
        Case(formed("inner", {"payload": "no JSON"})),
        Case(jsoned("inner", {"payload": '{"ref": "main"}'})),
        Case(HookRequest("whole", b"oh, hello you", "text/plain")),
        Case(HookRequest("whole", b'{"a": "hello"}')),
        Case(HookRequest("whole", b"bye", "text/plain")),
        Case(jsoned("null", {"o": None}), "null"),
        Case(jsoned("null", {"o": {"y": None}})),
        Case(jsoned("listed", [{}, {"x": "1"}])),
        Case(jsoned("listed", [{"x": "1"}])),
        Case(HookRequest("file", b"\x00\xffbytes", "application/octet-stream"), "unreadable"),
        Case(HookRequest("file", "grüße".encode(), "text/plain")),
        Case(HookRequest("nowhere", b"{}")),
    ]


def hooks() -> list[Hook]:
    """The hooks of the corpus, as a hooks file lists them."""
    return [{"id": name, **hook} for name, hook in HOOKS.items()]
