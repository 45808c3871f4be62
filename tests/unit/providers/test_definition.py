"""Definitions: what is refused, and in which words."""

from typing import Any

import pytest

from router.errors import ConfigError
from router.providers import parse_definition
from router.providers.definition import body_bytes, duration_s
from tests.unit.providers.makers import a_definition

HMAC: dict[str, Any] = {"scheme": "hmac", "header": "X-Acme-Signature"}
JWT: dict[str, Any] = {"scheme": "jwt", "issuer": "i"}
PLACE: dict[str, Any] = {"header": "X-C", "hosts": ["a.test"], "names": ["a.test"]}
CERTIFIED: dict[str, Any] = {"scheme": "rsa", "header": "X-S", "equals": "topic"}
ASKED: dict[str, Any] = {"scheme": "introspection"}
ISSUER: dict[str, Any] = {"url": "https://a.test/i", "client_id": "a", "client_secret": "b"}
KEYS = "https://keys.example/jwks"


def said(**keys: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        a_definition(**keys)
    return " | ".join(d.message for d in caught.value.diagnostics)


def test_a_small_definition_is_enough() -> None:
    assert a_definition().names == ("acme",)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"colour": "red"}, "unknown field `colour`"),
        ({"verify": HMAC | {"colour": "red"}}, "unknown field `colour`"),
        ({"event": {"header": "X-E", "colour": 1}}, "unknown field `colour`"),
        ({"names": []}, "at least one name"),
        ({"names": 5}, "Expected"),
        ({"methods": ["post"]}, "not a method"),
        ({"methods": []}, "at least one method"),
        ({"read": []}, "one or more of json form text"),
        ({"read": "yaml"}, "Invalid enum value"),
        ({"fields": {"Shop": {"header": "X-Shop"}}}, "not a name for a root"),
        ({"verify": {"scheme": "sha1", "header": "X-S"}}, "Invalid enum value 'sha1'"),
        ({"verify": HMAC | {"algorithm": "md5"}}, "Invalid enum value 'md5'"),
        ({"verify": {"scheme": "hmac"}}, "names the signature's header"),
        ({"verify": {"scheme": "none", "header": "X-S"}}, "none has none"),
        ({"verify": {"scheme": "basic", "header": "X-S"}}, "basic is in Authorization"),
        ({"verify": {"scheme": "ecdsa", "header": "X-S", "algorithm": "sha1"}}, "is over sha256"),
        ({"verify": {"scheme": "token", "header": "X-T", "query": "t"}}, "not in header and query"),
        ({"verify": {"scheme": "token", "query": "a b"}}, "not the name of a query parameter"),
        ({"verify": {"scheme": "token", "message": "{body}."}}, "does not go with the scheme"),
        ({"verify": {"scheme": "token", "key": "hex"}}, "`verify.key` does not go with"),
        ({"verify": HMAC | {"query": "t"}}, "not in header and query"),
        ({"verify": HMAC | {"each": "items"}}, "`verify.each` needs `field`"),
        ({"verify": {"scheme": "hmac", "field": "sig"}}, "stand in the body that it covers"),
        ({"verify": {"scheme": "hmac", "field": "a b"}}, "is not a dotted path"),
        ({"verify": {"scheme": "hmac", "query": "sig", "message": "{url}{body}"}}, "in the query"),
        ({"verify": {"scheme": "basic", "field": "a"}}, "`verify.field` does not go with"),
        ({"verify": {"scheme": "rsa", "header": "X-S", "padding": "oaep"}}, "Invalid enum value"),
        (
            {
                "verify": HMAC
                | {"prefix": "v1=", "separator": ",", "timestamp_part": "t=", "time": "http_date"}
            },
            "at which this list is parted",
        ),
        ({"verify": HMAC | {"padding": "pss"}}, "`verify.padding` does not go with"),
        ({"verify": HMAC | {"partial": True}}, "does not cover the body; this one does"),
        ({"verify": HMAC | {"equals": "TopicArn"}}, "`verify.equals` does not go with"),
        ({"verify": HMAC | {"time": "iso8601"}}, "says how `timestamp` is written"),
        ({"verify": HMAC | {"message": "{body}[x]"}}, "names nothing that may be absent"),
        ({"verify": HMAC | {"message": "{body}["}}, "none is within another"),
        ({"verify": HMAC | {"message": "[{body}]"}}, "a sender that signs less"),
        ({"verify": HMAC | {"message": "{secret}{body}"}}, "the secret is the key"),
        ({"verify": HMAC | {"message": "{body}[{timestamp}]", "timestamp": "T"}}, "never left out"),
        ({"verify": HMAC | {"timestamp": {"header": "T", "query": "t"}}}, "is in one place"),
        ({"verify": HMAC | {"timestamp": {"query": "t"}}}, "go together"),
        ({"verify": HMAC | {"message": "{url}", "body_hash": {"header": "X-H"}}}, "must be signed"),
        ({"verify": HMAC | {"user": "ada"}}, "`verify.user` does not go with"),
        ({"verify": {"scheme": "basic", "user": "a:b"}}, "holds no ':'"),
        ({"verify": {"scheme": "jwt"}}, "needs `audience` or `issuer`"),
        ({"verify": {"scheme": "jwt", "issuer": "i", "algorithms": []}}, "one or more of RS256"),
        ({"verify": JWT | {"algorithms": ["HS256", "RS256"]}}, "HS256 stands alone"),
        ({"verify": JWT | {"algorithms": ["HS256"], "jwks_url": KEYS}}, "a key that is published"),
        ({"verify": JWT | {"jwks_url": "http://a.test/keys"}}, "fetched by https"),
        ({"verify": JWT | {"jwks_url": "https://ada:pw@a.test/"}}, "no user, password"),
        ({"verify": JWT | {"jwks_url": "https://[/"}}, "is not an address"),
        ({"verify": JWT | {"jwks_url": "https:///keys"}}, "is not an address"),
        ({"verify": HMAC | {"jwks_url": KEYS}}, "`verify.jwks_url` does not go with"),
        ({"verify": JWT | {"ask": ["scheme"]}}, "names audience, issuer"),
        ({"verify": JWT | {"ask": ["issuer.name"]}}, "names audience, issuer"),
        ({"verify": CERTIFIED | {"certificate": {}}}, "`header` or `field`"),
        ({"verify": CERTIFIED | {"certificate": PLACE | {"hosts": []}}}, "needs `hosts`"),
        ({"verify": CERTIFIED | {"certificate": PLACE | {"names": []}}}, "and its `names`"),
        ({"verify": CERTIFIED | {"certificate": PLACE | {"hosts": ["com"]}}}, "name of a host"),
        ({"verify": CERTIFIED | {"certificate": PLACE | {"names": [".a.test"]}}}, "name of a host"),
        ({"verify": CERTIFIED | {"certificate": PLACE, "equals": None}}, "says that it is for us"),
        ({"verify": CERTIFIED | {"certificate": PLACE, "key": "hex"}}, "do not go with"),
        ({"verify": CERTIFIED}, "goes with `certificate`"),
        ({"verify": HMAC | {"certificate": PLACE}}, "`verify.certificate` does not go with"),
        ({"verify": ASKED | {"introspect": {}}}, "needs `client_secret`"),
        ({"verify": ASKED}, "needs `url`"),
        ({"verify": ASKED | {"introspect": ISSUER | {"url": "http://a.test"}}}, "by https"),
        ({"verify": HMAC | {"introspect": ISSUER}}, "`verify.introspect` does not go with"),
        ({"verify": JWT | {"body_hash": {}}}, "is `{claim: NAME}`"),
        ({"verify": HMAC, "also": [JWT | {"jwks_url": KEYS}]}, "cannot stand beside each other"),
        ({"verify": HMAC | {"header": "X S"}}, "not a header name"),
        ({"verify": HMAC | {"message": "{payload}"}}, "knows {body}"),
        ({"verify": HMAC | {"message": "fixed"}}, "holds {body} once, or"),
        ({"verify": HMAC | {"message": "{body}{body}"}}, "holds {body} once"),
        ({"verify": HMAC | {"message": "{timestamp}{body}"}}, "go together"),
        ({"verify": HMAC | {"timestamp": "X-T"}}, "go together"),
        ({"verify": HMAC | {"message": "{id}.{body}"}}, "needs an `id` header"),
        ({"verify": HMAC | {"tolerance": "300s"}}, "needs a signed timestamp"),
        ({"verify": HMAC | {"prefix": "§"}}, "plain ASCII"),
        ({"verify": {"scheme": "token", "prefix": "§"}}, "plain ASCII"),
        ({"verify": HMAC | {"separator": ","}}, "`prefix` tells signatures"),
        ({"verify": HMAC | {"separator": ",", "prefix": "v1,"}}, "cannot stand within `prefix`"),
        ({"verify": HMAC | {"timestamp_part": "t="}}, "needs `separator`"),
        (
            {"verify": HMAC | {"separator": ",", "prefix": "t=", "timestamp_part": "t="}},
            "one place of its own",
        ),
        ({"also": [{"scheme": "none"}]}, "would let everybody in"),
        ({"also": [{"scheme": "jwt", "issuer": "i"}]}, "cannot stand beside each other"),
        ({"event": {"prefix": "x"}}, "exactly one of header, field, key, event, body"),
        (
            {"event": {"header": "X-E", "field": "e"}},
            "exactly one of header, field, key, event, body",
        ),
        ({"event": {"event": True}}, "cannot come from itself"),
        ({"event": {"field": ["a", "b"], "all": True}}, "`all` is for `id`"),
        ({"id": {"header": "X-Id", "all": True}}, "and for its fields"),
        ({"event": {"body": True}}, "`body` is for `id`"),
        ({"id": {"header": "X-Id", "varies": "a"}}, "`varies` goes with `body: true`"),
        ({"id": {"body": True, "header": "X-Id"}}, "exactly one of header, field, key, event, bod"),
        ({"split": 0}, "1 to 1000"),
        ({"split": 1001}, "1 to 1000"),
        ({"split": 9, "id": {"header": "X-Id"}}, "each event needs its own"),
        ({"split_at": "value"}, "needs `split`"),
        ({"ranges": {"url": "http://a.test/ips"}}, "an https address"),
        ({"ranges": {"url": "https://a.test", "where": {"a": "b"}}}, "leads into them"),
        (
            {
                "ranges": {"url": "https://a.test"},
                "api": {"token_header": "X-T", "ranges": "/meta", "ranges_field": "hooks"},
            },
            "keep one",
        ),
        ({"split": 9, "split_at": "a..b"}, "the path of a list"),
        ({"split": 9, "split_at": "a", "split_lines": True}, "goes without it"),
        ({"split": 9, "read": "form"}, "`read` is json"),
        ({"split_lines": True}, "needs `split`"),
        ({"form_field": "é"}, "plain ASCII"),
        ({"body_max": "5MB"}, "KiB, MiB or GiB"),
        ({"body_max": "1GiB"}, "at most 100MiB"),
        ({"ack_within": "soon"}, "ms, s, m, h or d"),
        ({"answer": {"status": 302}}, "200 to 299"),
        ({"answer": {"type": "xml"}}, "is a media type"),
        ({"answer": {"body": "{{ delivery.id }}"}}, "is static text"),
        ({"refuse_with": 500}, "Invalid enum value 500"),
        ({"respond": [{"echo": "c"}]}, "needs `when`"),
        ({"respond": [{"echo": "", "method": "GET"}]}, "names a place"),
        ({"respond": [{"method": "GET"}]}, "names what is sent back"),
        ({"respond": [{"when": {"header:é": "*"}, "echo": "c"}]}, "not a header name"),
        ({"respond": [{"method": "GET", "echo": "field:a"}]}, "has no body"),
        ({"respond": [{"method": "GET", "echo": "a", "answer": "{ecco}"}]}, "knows {echo}"),
        ({"respond": [{"method": "GET", "answer": {"a": ["{echo}"]}}]}, "`echo` names it"),
        (
            {"respond": [{"method": "GET", "echo": "a", "answer_headers": {"Date": "1"}}]},
            "sets Date itself",
        ),
        (
            {"respond": [{"method": "GET", "echo": "a", "answer_headers": {"X-A": "é"}}]},
            "plain printable ASCII",
        ),
        ({"respond": [{"method": "GET", "echo": "a", "status": 302}]}, "Invalid enum value 302"),
        ({"respond": [{"method": "HEAD", "answer": "a"}]}, "has no body"),
        ({"respond": [{"method": "GET", "echo": "a", "status": 204}]}, "nothing is sent back"),
        (
            {
                "verify": {"scheme": "token"},
                "respond": [{"method": "GET", "echo": "a", "answer": "{hmac_hex}"}],
            },
            "the scheme hmac",
        ),
        ({"respond": [{"when": {"a": "b"}, "visit": "url"}]}, "`visit` and `hosts`"),
        (
            {"respond": [{"when": {"a": "b"}, "visit": "u", "hosts": ["a.b"], "unsigned": True}]},
            "a POST that is verified",
        ),
        ({"respond": [{"when": {"a": "b"}, "visit": "url", "hosts": ["com"]}]}, "is not a host"),
        (
            {"respond": [{"method": "GET", "echo": "c", "token": "t", "unsigned": True}]},
            "do not go together",
        ),
        ({"respond": [{"echo": "c", "when": {"a": "b"}, "token": "t"}]}, "those by POST"),
        ({"methods": ["GET"], "respond": [{"echo": "c", "method": "GET"}]}, "cannot be both"),
        (
            {
                "verify": {"scheme": "ed25519", "header": "X-S"},
                "respond": [{"echo": "c", "method": "GET", "token": "t"}],
            },
            "would show a public key",
        ),
    ],
)
def test_contradictions_are_named(keys: dict[str, Any], words: str) -> None:
    assert words in said(**keys)


def test_all_contradictions_are_named_at_once() -> None:
    text = said(methods=["post"], body_max="x", split=0)
    assert "not a method" in text
    assert "KiB" in text
    assert "1 to 1000" in text


def test_the_file_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_definition({}, file="acme.yaml")
    assert caught.value.diagnostics[0].file == "acme.yaml"
    assert caught.value.diagnostics[0].code == "provider_definition"


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("5s", 5), ("10m", 600), ("2h", 7200), ("1d", 86400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "0s", "-1s", "1.5s", "5S", "५s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a|unit|above zero"):
        duration_s(text)


@pytest.mark.parametrize(
    ("text", "size"), [("64KiB", 65536), ("25MiB", 26214400), ("1GiB", 1073741824)]
)
def test_sizes(text: str, size: int) -> None:
    assert body_bytes(text) == size
