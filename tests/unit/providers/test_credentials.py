"""Senders that show the secret itself: tokens and passwords, and what hides them."""

import base64
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from router.providers.credentials import led
from router.providers.queries import PARAMETERS_MAX, parameters, without
from tests.unit.providers.makers import a_definition, a_provider, a_request, changed, verdict

TOKEN = b"7d1c9a40f6e2b58371d0"


def reason(provider: Provider, request: InboundRequest, *secrets: bytes) -> str | None:
    found = verdict(provider, request, *(secrets or (TOKEN,)))
    return found.reason if isinstance(found, Refused) else None


def a_token_provider(**verify: Any) -> Provider:
    return Provider(a_definition(verify={"scheme": "token"} | verify))


def with_token(value: str, name: str = "Authorization") -> InboundRequest:
    return a_request([(name, value)])


def asked_with(query: bytes) -> InboundRequest:
    return changed(a_request(), query_string=query)


def test_a_token_in_a_header() -> None:
    lab = a_provider("gitlab")
    assert verdict(lab, with_token(TOKEN.decode(), "X-Gitlab-Token"), b"no", TOKEN) == Verified(
        "s1"
    )
    assert reason(lab, with_token("no", "X-Gitlab-Token")) == "bad_signature"
    assert reason(lab, with_token("", "X-Gitlab-Token")) == "missing_signature"
    assert reason(lab, a_request()) == "missing_signature"


@pytest.mark.parametrize(
    ("verify", "challenge"),
    [
        ({"scheme": "basic"}, b'Basic realm="webhooks"'),
        ({"scheme": "jwt", "audience": "a"}, b'Bearer realm="webhooks"'),
        ({"scheme": "token"}, b'Bearer realm="webhooks"'),
        ({"scheme": "token", "header": "Authorization", "prefix": "Key "}, b'Key realm="webhooks"'),
        ({"scheme": "token", "header": "Authorization"}, None),
        ({"scheme": "token", "header": "X-Token"}, None),
        ({"scheme": "token", "query": "key"}, None),
        ({"scheme": "none"}, None),
    ],
)
def test_a_401_names_the_scheme_of_authorization(
    verify: dict[str, Any], challenge: bytes | None
) -> None:
    assert Provider(a_definition(verify=verify)).challenge == challenge


def test_a_bearer_token_is_the_usual_place() -> None:
    bearer = a_token_provider()
    for word in ("Bearer ", "bearer ", "BEARER "):
        assert reason(bearer, with_token(word + TOKEN.decode())) is None
    for text in (TOKEN.decode(), "Basic " + TOKEN.decode(), "Bearer", "Bearer" + TOKEN.decode()):
        assert reason(bearer, with_token(text)) == "malformed_signature"
    assert reason(bearer, with_token("Bearer  " + TOKEN.decode())) == "bad_signature"


def test_a_prefix_that_is_no_word_counts_exactly() -> None:
    acme = a_token_provider(header="X-Key", prefix="key-")
    assert reason(acme, with_token("key-" + TOKEN.decode(), "X-Key")) is None
    assert reason(acme, with_token("KEY-" + TOKEN.decode(), "X-Key")) == "malformed_signature"


def test_a_token_in_the_query() -> None:
    acme = a_token_provider(query="api.key")
    for query in (b"api.key=%b", b"a=1&api.key=%b&b=2", b"api%%2Ekey=%b", b"api.key=%b&api.key=%b"):
        filled = query.replace(b"%b", TOKEN).replace(b"%%", b"%")
        assert reason(acme, asked_with(filled)) is None
    assert reason(acme, asked_with(b"api.key=" + TOKEN[:-1] + b"%30")) is None
    assert reason(acme, asked_with(b"api.key=%b&api.key=x" % TOKEN)) == "ambiguous_header"
    assert reason(acme, asked_with(b"apixkey=" + TOKEN)) == "missing_signature"
    assert reason(acme, asked_with(b"a=1&" * PARAMETERS_MAX + b"api.key=" + TOKEN)) is not None
    assert reason(acme, with_token("Bearer " + TOKEN.decode())) == "missing_signature"


def test_a_near_token_is_no_token() -> None:
    acme = a_token_provider(header="X-Key")
    text = TOKEN.decode()
    near = [text[:-1], text + "0", text.upper(), " " + text, text + " ", text * 2, "\x00", "ÿ" * 20]
    for value in [*near, "x" * 5000]:
        assert reason(acme, with_token(value, "X-Key")) is not None


@pytest.mark.parametrize("secret", [b"", b" ", b"\n", b"whpk_AAAA", b"-----BEGIN PUBLIC KEY-----"])
def test_nothing_and_public_keys_are_no_tokens(secret: bytes) -> None:
    acme = a_token_provider(header="X-Key")
    for value in ("", " ", secret.decode()):
        assert reason(acme, with_token(value, "X-Key"), secret) is not None


def test_hints_for_tokens() -> None:
    acme = a_token_provider(header="X-Key")
    found = verdict(acme, with_token("Bearer " + TOKEN.decode(), "X-Key"), TOKEN)
    assert isinstance(found, Refused)
    assert "wrong prefix" in (found.hint or "")
    found = verdict(acme, with_token(TOKEN.decode(), "X-Key"), TOKEN + b"\n")
    assert isinstance(found, Refused)
    assert "white space" in (found.hint or "")


def basic(pair: bytes, word: str = "Basic ") -> InboundRequest:
    return with_token(word + base64.b64encode(pair).decode())


def test_a_user_and_password() -> None:
    anybody = a_provider("basic")
    assert reason(anybody, basic(b"ada:p:w"), b"ada:p:w") is None
    assert reason(anybody, basic(b"ada:p:w", "basic "), b"ada:p:w") is None
    assert reason(anybody, basic(b"ada:pw"), b"ada:p:w") == "bad_signature"
    assert reason(anybody, basic(b"adapw"), b"adapw") == "malformed_signature"
    assert reason(anybody, a_request(), b"ada:pw") == "missing_signature"
    for text in ("Basic", "Basic ", "Basic !!!!", "Bearer " + "YTpi", "Basic YTpi" * 2000):
        assert reason(anybody, with_token(text), b"a:b") == "malformed_signature"


def test_with_a_user_the_secret_is_the_password() -> None:
    ada = Provider(a_definition(verify={"scheme": "basic", "user": "ada"}))
    assert reason(ada, basic(b"ada:pass:word"), b"pass:word") is None
    assert reason(ada, basic(b"eve:pass:word"), b"pass:word") == "bad_signature"
    for empty in (b"", b" "):
        assert reason(ada, basic(b"ada:" + empty), empty) is not None


def test_what_proves_a_request_is_hidden() -> None:
    acme = a_token_provider(query="key")
    hidden = acme.hidden(asked_with(b"a=1&key=abc&k%65y=abc&b=2"))
    assert hidden.query_string == b"a=1&key=[removed]&k%65y=[removed]&b=2"
    lab = a_provider("gitlab")
    request = a_request([("X-Gitlab-Token", "abc"), ("X-Gitlab-Event", "Push Hook")])
    assert lab.particular
    assert lab.hidden(request).headers == (
        (b"x-gitlab-token", b"[removed]"),
        (b"x-gitlab-event", b"Push Hook"),
    )
    assert not a_provider("github").particular


def test_a_signature_is_not_hidden() -> None:
    lab = a_provider("gitlab")
    request = a_request([("webhook-signature", "v1,abc")])
    assert lab.hidden(request) == request


def test_parameters_of_a_query() -> None:
    assert parameters(b"a=1&b=%26+c&d&=e&&f=g=h") == [
        (b"a", b"1"),
        (b"b", b"& c"),
        (b"d", b""),
        (b"", b"e"),
        (b"f", b"g=h"),
    ]
    assert parameters(b"") == []
    assert parameters(b"a=1&" * PARAMETERS_MAX) == []
    assert without(b"a&b=1&a=2", b"a") == b"a=[removed]&b=1&a=[removed]"
    assert without(b"", b"a") == b""


def test_leads() -> None:
    assert led(b"Bearer x", b"Bearer ") == b"x"
    assert led(b"x", b"") == b"x"
    assert led(b"", b"Bearer ") is None


def test_a_token_has_at_most_4096_bytes() -> None:
    acme = a_token_provider(header="X-Key", prefix="key-")
    longest = "x" * 4_096
    assert reason(acme, with_token("key-" + longest, "X-Key"), longest.encode()) is None
    more = longest + "x"
    assert reason(acme, with_token("key-" + more, "X-Key"), more.encode()) == "malformed_signature"


def test_a_pair_has_at_most_4096_bytes_of_base64() -> None:
    anybody = a_provider("basic")
    longest = b"ada:" + b"p" * 3_068
    assert len(base64.b64encode(longest)) == 4_096
    assert reason(anybody, basic(longest), longest) is None
    more = longest + b"p"
    assert reason(anybody, basic(more), more) == "malformed_signature"
    # A blank is no base64, but counts where bytes are counted.
    assert reason(anybody, basic(longest, "Basic  "), longest) == "malformed_signature"
    assert reason(anybody, basic(longest[:-3], "Basic  "), longest[:-3]) is None


@pytest.mark.parametrize(("others", "found"), [(99, True), (100, False)])
def test_a_hundred_parameters_are_read(others: int, found: bool) -> None:
    query = b"&".join([b"a=1"] * others + [b"key=" + TOKEN])
    assert (len(parameters(query)) == others + 1) is found
    wanted = None if found else "missing_signature"
    assert reason(a_token_provider(query="key"), asked_with(query)) == wanted


@pytest.mark.parametrize(
    "verify",
    [{"scheme": "token", "header": "X-Key"}, {"scheme": "token", "query": "key"}],
)
def test_a_refusal_has_the_status_that_the_sender_is_to_get(verify: dict[str, Any]) -> None:
    gone = Provider(a_definition(verify=verify, refuse_with=403))
    for value in ("", "wrong"):
        sent = changed(with_token(value, "X-Key"), query_string=b"key=" + value.encode())
        found = verdict(gone, sent, TOKEN)
        assert isinstance(found, Refused)
        expected = "bad_signature" if value else "missing_signature"
        assert (found.reason, found.status) == (expected, 403)


def test_of_several_secrets_the_first_that_is_equal_is_named() -> None:
    acme = a_token_provider(header="X-Key")
    request = with_token(TOKEN.decode(), "X-Key")
    for secrets, name in (((b"no", TOKEN), "s1"), ((TOKEN, b"no"), "s0"), ((TOKEN, TOKEN), "s0")):
        assert verdict(acme, request, *secrets) == Verified(name)


def test_a_user_of_any_language_has_a_password() -> None:
    ada = Provider(a_definition(verify={"scheme": "basic", "user": "adä"}))
    assert reason(ada, basic("adä:pw".encode()), b"pw") is None
    assert reason(ada, basic("adä:pw".encode("latin-1")), b"pw") == "bad_signature"
    assert reason(ada, basic("adäpw".encode()), b"pw") == "malformed_signature"
