"""`providers:` of the user's own, and `verify` with keys on an endpoint."""

import textwrap
from typing import Any

import pytest

from router.config import load
from router.errors import Diagnostic
from router.model.settings import FixedAnswer
from router.providers import builtin
from router.rules.ruleset import Ruleset

REST = """
version: 1
secrets: {acme: {env: ACME_SECRET}}
rules: [{id: r, from: all, actions: [{log: x}]}]
"""
ENDPOINT = "endpoints: {hook: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: %s, secrets: acme}}"


def found(text: str) -> tuple[Ruleset | None, tuple[Diagnostic, ...]]:
    loaded = load(REST + textwrap.dedent(text), path="rules.yaml", env={})
    return loaded.ruleset, loaded.diagnostics


def own(definition: str) -> tuple[Ruleset | None, tuple[Diagnostic, ...]]:
    inner = textwrap.indent(textwrap.dedent(definition), "    ")
    return found(f"{ENDPOINT % 'acme'}\nproviders:\n  acme:\n{inner}\n")


def generic(name: str, verify: str) -> tuple[Ruleset | None, tuple[Diagnostic, ...]]:
    return found(
        f"""
        endpoints:
          hook:
            id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54
            provider: {name}
            secrets: acme
            verify: {verify}
        """
    )


def rule_of(ruleset: Ruleset | None) -> Any:
    assert ruleset is not None
    return ruleset.providers[ruleset.endpoints["hook"].provider].definition.verify


def test_a_definition_of_ten_lines() -> None:
    ruleset, diagnostics = own(
        """
        verify: {scheme: hmac, header: [X-Acme-Signature, X-Old], prefix: v1=, algorithm: sha512}
        event: {field: [type, kind]}
        id: {header: X-Acme-Id}
        fields: {team: {field: team.name}}
        events: [made, {group: Lost, names: [lost], actions: [again]}]
        samples: [{for: "*", payload: {type: made, team: {name: a}, n: 1.50}}]
        respond: {method: GET, echo: challenge}
        body_max: 2MiB
        read: [json, form]
        """
    )
    assert diagnostics == ()
    assert ruleset is not None
    provider = ruleset.providers["acme"]
    assert [(e.name, e.group, e.actions) for e in provider.events] == [
        ("made", "Events", ()),
        ("lost", "Lost", ("again",)),
    ]
    assert provider.definition.verify.header == ("X-Acme-Signature", "X-Old")
    assert (provider.body_max, provider.label) == (2 * 1024**2, "acme")
    assert provider.root_fields == {"team"}
    assert ruleset.endpoints["hook"].body_max == 2 * 1024**2
    sample = provider.sample("made")
    assert provider.compose(sample, "1") == b'{"type":"made","team":{"name":"a"},"n":1.50}'


@pytest.mark.parametrize(
    ("definition", "code", "line", "words"),
    [
        ("verify: {scheme: hmac, heder: X-A}", "unknown-key", 1, "'heder'"),
        ("verify: {header: X-A}", "missing-key", 1, "'scheme'"),
        ("verify: {scheme: hmacs, header: X-A}", "unknown-value", 1, "'hmacs'"),
        ("event: {field: type}", "missing-key", 1, "'verify'"),
        ("verify: {scheme: hmac}", "bad-provider", 1, "names the signature's header"),
        ("verify: {scheme: none}\nbody_max: 5MB", "bad-provider", 2, "KiB, MiB or GiB"),
        ("verify: {scheme: none}\nrefuse_with: 500", "bad-provider", 2, "Invalid enum value 500"),
        ("verify: {scheme: none}\nmethods: [POST, get]", "bad-provider", 2, "not a method"),
        (
            "verify: {scheme: none}\nrespond:\n  - {method: GET, echo: a}\n  - {echo: b}",
            "bad-provider",
            4,
            "needs `when`",
        ),
        (
            "verify: {scheme: none}\nfields:\n  team: {header: X-T, field: team}",
            "bad-provider",
            3,
            "exactly one of header, field, key, event",
        ),
        (
            "verify: {scheme: none}\napi:\n  token_header: X-T\n  colour: red",
            "bad-provider",
            4,
            "unknown key 'colour'",
        ),
        ("verify: {scheme: hmac, header: X, algorithm: md5}", "unknown-value", 1, "'sha1'"),
        (
            "verify:\n  scheme: hmac\n  header: s\n  message: '{url}'",
            "bad-provider",
            4,
            "holds {body}",
        ),
        ("verify:\n  scheme: hmac\n  header: X\n  equals: a", "bad-provider", 4, "does not go"),
        ("verify: {scheme: jwt, issuer: a, jwks_url: http://a.test}", "bad-provider", 1, "https"),
    ],
)
def test_faults_of_a_definition_have_their_place(
    definition: str, code: str, line: int, words: str
) -> None:
    ruleset, diagnostics = own(definition)
    assert ruleset is None
    first = diagnostics[0]
    before = (REST + ENDPOINT).count("\n") + 3
    assert (first.code, (first.line or 0) - before) == (code, line)
    assert words in first.message
    assert "unknown-provider" not in {d.code for d in diagnostics}


@pytest.mark.parametrize(
    ("definition", "at", "hint"),
    [
        ("api: {bse: x}", "bse", "did you mean 'base'?"),
        ("api: {recover: {colour: red}}", "colour", "known: "),
        ("api: {base: [3]}", "[3]", None),
        ("shapes: {paylods: []}", "paylods", "did you mean 'payloads'?"),
        ("shapes: {payloads: 3}", "3", None),
        ("shapes: {payloads: [{for: a, fields: {n: interger}}]}", "interger", "did you mean 'int"),
        ("shapes: {payloads: [{for: a, feilds: {n: x}}]}", "feilds", "did you mean 'fields'?"),
        ("shapes: {payloads: [{for: a, fields: {n: [wat]}}]}", "wat", "known: any, null"),
        ("shapes: {types: {t: {fields: {n: nmber}}}}", "nmber", "did you mean 'number'?"),
    ],
)
def test_a_fault_within_a_definition_stands_where_it_is(
    definition: str, at: str, hint: str | None
) -> None:
    _, (first, *_) = own(f"verify: {{scheme: none}}\n{definition}")
    assert (first.code, first.column) == ("bad-provider", 5 + definition.index(at))
    assert first.hint == hint if hint is None else (first.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("", FixedAnswer(204, "text/plain; charset=utf-8", ("",))),
        (", answer: {body: kept}", FixedAnswer(200, "text/plain; charset=utf-8", ("kept",))),
    ],
)
def test_what_its_sender_wants_is_the_answer_of_an_endpoint_without_one(
    said: str, found: FixedAnswer
) -> None:
    answers = "providers: {acme: {verify: {scheme: token}, answer: {status: 204}}}"
    text = f"{REST}{ENDPOINT % f'acme{said}'}\n{answers}\n"
    loaded = load(text, path="rules.yaml", env={})
    assert loaded.ruleset is not None, loaded.diagnostics
    assert loaded.ruleset.endpoints["hook"].answer == found


def test_a_built_in_name_is_taken() -> None:
    _, diagnostics = found(
        f"{ENDPOINT % 'svix'}\nproviders: {{svix: {{verify: {{scheme: none}}}}}}"
    )
    assert [d.code for d in diagnostics] == ["built-in-name"]


def test_a_name_of_ones_own_is_known_and_suggested() -> None:
    _, diagnostics = found(
        f"{ENDPOINT % 'acmee'}\nproviders: {{acme: {{verify: {{scheme: hmac, header: X-A}}}}}}"
    )
    assert diagnostics[0].code == "unknown-provider"
    assert "'acme'" in (diagnostics[0].hint or "")


def test_a_name_like_no_other_is_answered_with_some_that_are_known() -> None:
    _, diagnostics = found(ENDPOINT % "zzyzx")
    names = list(builtin())
    hint = f"known providers: {', '.join(names[:8])} and {len(names) - 8} more"
    assert [(d.code, d.hint) for d in diagnostics] == [("unknown-provider", hint)]


def test_a_provider_that_names_its_events_freely_has_no_unknown_ones() -> None:
    text = ENDPOINT % "svix" + "\n"
    ruleset, diagnostics = found(text.replace("rules:", "#"))
    assert ruleset is not None
    assert diagnostics == ()
    rules = REST.replace("from: all", "from: hook, events: user.created")
    assert load(rules + text, path="r.yaml", env={}).diagnostics == ()


def test_verify_of_an_endpoint_is_that_of_its_sender() -> None:
    ruleset, diagnostics = generic("hmac", "{header: X-Signature, encoding: base64, key: hex}")
    assert diagnostics == ()
    assert ruleset is not None
    assert ruleset.endpoints["hook"].provider == "hmac@hook"
    rule = rule_of(ruleset)
    assert (rule.scheme, rule.header, rule.encoding) == ("hmac", ("X-Signature",), "base64")
    assert (rule.prefix, rule.key) == ("", "hex")
    assert rule_of(generic("token", "{query: key}")[0]).query == "key"
    assert rule_of(generic("basic", "{user: ada}")[0]).user == "ada"
    assert rule_of(generic("jwt", "{audience: us, issuer: them}")[0]).audience == "us"


@pytest.mark.parametrize(
    ("name", "verify", "code"),
    [
        ("hmac", "{prefix: v1=}", "bad-provider"),
        ("token", "{header: X-A, query: a}", "bad-provider"),
        ("basic", "{header: X-A}", "bad-provider"),
        ("jwt", "{algorithms: [RS256]}", "bad-provider"),
        ("hmac", "{header: X-A, scheme: token}", "unknown-key"),
        ("hmac", "{header: X-A, oauth: {}}", "not-available"),
        ("hmac", "nobody", "unknown-value"),
        ("stripe", "{header: X-A}", "verify-fixed"),
        ("none", "{header: X-A}", "verify-fixed"),
    ],
)
def test_what_verify_of_an_endpoint_cannot_be(name: str, verify: str, code: str) -> None:
    ruleset, diagnostics = generic(name, verify)
    assert ruleset is None
    assert code in {d.code for d in diagnostics}


def test_who_verifies_nothing_must_say_so() -> None:
    _, diagnostics = found(ENDPOINT % "none")
    assert [d.code for d in diagnostics] == ["nothing-verified"]
    ruleset, diagnostics = found(
        "endpoints: {hook: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: none, verify: none}}"
    )
    assert ruleset is not None
    assert [d.code for d in diagnostics] == ["unused-secret"]


def test_own_providers_are_part_of_the_generation() -> None:
    generations = set()
    for header in ("X-A", "X-B"):
        ruleset, _ = own(f"verify: {{scheme: hmac, header: {header}}}")
        assert ruleset is not None
        generations.add(ruleset.generation)
    assert len(generations) == 2


ASKING = """
providers:
  push:
    verify:
      scheme: jwt
      jwks_url: https://keys.example/jwks
      claims: {email_verified: true}
      ask: [audience, claims.email]
endpoints:
  hook: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: push%s}
"""


def test_an_endpoint_says_what_its_provider_asks_and_needs_no_secret() -> None:
    given = ", verify: {audience: us, claims: {email: ada@example.com}}"
    ruleset, diagnostics = found(ASKING % given)
    assert {d.code for d in diagnostics} == {"unused-secret"}
    rule = rule_of(ruleset)
    assert (rule.audience, rule.ask) == ("us", ())
    assert rule.claims == {"email_verified": True, "email": "ada@example.com"}


@pytest.mark.parametrize(
    ("verify", "code", "words"),
    [
        ("", "missing-key", "'audience'"),
        (", verify: {audience: us}", "missing-key", "'claims.email'"),
        (", verify: {audience: us, user: ada}", "verify-fixed", "only: audience, claims.email"),
    ],
)
def test_what_a_provider_asks_and_nothing_else(verify: str, code: str, words: str) -> None:
    ruleset, diagnostics = found(ASKING % verify)
    assert ruleset is None
    said = [f"{d.message} {d.hint}" for d in diagnostics if d.code == code]
    assert words in said[0]


MAIL = """
endpoints:
  hook: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: sendgrid, verify: {%s}%s}
"""
TOKEN = 'jwks_url: "https://id.example/keys", audience: us'
ASKED = 'introspect: {url: "https://id.example/i", client_id: a, client_secret: acme}'


@pytest.mark.parametrize("how", [TOKEN, ASKED])
@pytest.mark.parametrize(
    ("signature", "secrets", "schemes"),
    [
        ("required", ", secrets: acme", ["ecdsa", "token"]),
        ("replaced", "", ["token"]),
    ],
)
def test_a_mail_sender_shows_a_token_beside_its_signature_or_instead(
    how: str, signature: str, secrets: str, schemes: list[str]
) -> None:
    ruleset, diagnostics = found(MAIL % (f"signature: {signature}, {how}", secrets))
    assert {d.code for d in diagnostics} <= {"unused-secret"}
    assert ruleset is not None
    definition = ruleset.providers["email@hook"].definition
    tokens = {"jwt": "token", "introspection": "token"}
    assert [tokens.get(rule.scheme, rule.scheme) for rule in definition.ways] == schemes
    assert definition.together == (signature == "required")


@pytest.mark.parametrize(
    ("verify", "secrets", "code"),
    [
        ("signature: required, audience: us", ", secrets: acme", "bad-provider"),
        (f"signature: required, {TOKEN}", "", "nothing-verified"),
        ("signature: replaced, header: X-A", "", "bad-provider"),
        ('signature: replaced, jwks_url: "http://id.example/keys"', "", "bad-provider"),
        ("signature: both", "", "unknown-value"),
        (TOKEN, ", secrets: acme", "verify-fixed"),
    ],
)
def test_what_a_mail_sender_s_token_cannot_be(verify: str, secrets: str, code: str) -> None:
    ruleset, diagnostics = found(MAIL % (verify, secrets))
    assert ruleset is None
    assert code in {d.code for d in diagnostics}


def test_no_other_sender_has_a_signature_to_replace() -> None:
    for name in ("jwt", "stripe"):
        ruleset, diagnostics = generic(name, f"{{signature: replaced, {TOKEN}}}")
        assert ruleset is None
        assert "verify-fixed" in {d.code for d in diagnostics}
