"""`api`, `api_version`, `expect_every`, `allow_from` of endpoints, and `repository_dispatch`."""

import textwrap

import pytest

from router.config import Loaded, load
from router.kinds.http import HttpSpec
from router.model.settings import PUBLISHED, Api, Endpoint
from router.rules.specs import CompiledAction

HEAD = """\
version: 1
secrets:
  s: {env: S}
  token: {env: T}
"""


def loaded(text: str) -> Loaded:
    return load(HEAD + textwrap.dedent(text), path="rules.yaml", env={"BASE": "https://b.test/x/"})


def of_endpoint(keys: str, provider: str) -> Loaded:
    given = f"id: one-0123456789abcdef, provider: {provider}, secrets: [s, token], {keys}"
    return loaded(f"endpoints: {{one: {{{given}}}}}\n")


def endpoint(keys: str, provider: str = "shopify") -> Endpoint:
    found = of_endpoint(keys, provider)
    assert found.diagnostics == ()
    assert found.ruleset is not None
    return found.ruleset.endpoints["one"]


@pytest.mark.parametrize(
    ("keys", "api"),
    [
        ("x-none: 1", Api(spelling="shopify")),
        ("api: {base: https://a.test/}", Api("https://a.test", spelling="shopify")),
        ("api: {base: {env: BASE}}", Api("https://b.test/x", spelling="shopify")),
        ("api: {token: token}", Api(token="token", spelling="shopify")),
        ("api: {graphql: true}", Api(graphql=True, spelling="shopify")),
        ("api: {graphql_path: /g}", Api(graphql=True, graphql_path="/g", spelling="shopify")),
    ],
)
def test_how_a_sender_s_api_is_reached(keys: str, api: Api) -> None:
    assert endpoint(keys).api == api


def test_the_spelling_is_the_provider_as_written() -> None:
    assert endpoint("x-none: 1", "commerce").api.spelling == "commerce"


def test_the_api_of_another_sender_has_another_base() -> None:
    given = endpoint("api: {base: https://ghe.test/api/v3, token: token}", "github")
    assert given.api == Api("https://ghe.test/api/v3", "token", spelling="github")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("provider", (PUBLISHED,)),
        ("[provider]", (PUBLISHED,)),
        ("[10.0.0.0/8, provider, '2001:db8::/32']", ("10.0.0.0/8", "2001:db8::/32", PUBLISHED)),
        ("192.0.2.1", ("192.0.2.1/32",)),
        ("'::ffff:192.0.2.0/120'", ("192.0.2.0/24",)),
    ],
)
def test_who_may_deliver(written: str, read: tuple[str, ...]) -> None:
    assert endpoint(f"allow_from: {written}", "github").allow_from == read


def test_a_version_and_a_longest_quiet_time() -> None:
    given = endpoint("api_version: 2024-01, expect_every: 6h")
    assert (given.api_version, given.expect_every) == ("2024-01", 6 * 3_600_000)
    assert endpoint("x-none: 1").expect_every is None


@pytest.mark.parametrize(
    ("keys", "provider", "code", "words"),
    [
        ("api_version: 2024-13", "shopify", "bad-value", "expected one like '2024-01'"),
        ("api_version: 2024-1", "shopify", "bad-value", "expected one like '2024-01'"),
        ("api_version: 2024-01", "github", "not-for-provider", "name no API version"),
        ("expect_every: 0s", "shopify", "bad-value", "'expect_every' must be above zero"),
        ("allow_from: provider", "shopify", "not-for-provider", "publishes no address ranges"),
        ("allow_from: provder", "github", "bad-range", "'provder' is not a range"),
        ("api: {base: 'ftp://x'}", "shopify", "bad-url", "is not an address"),
        ("api: {base: 'https://u:p@x'}", "shopify", "bad-url", "is not an address"),
        ("api: {base: 'https://x/?a=b'}", "shopify", "bad-url", "is not an address"),
        ("api: {token: nope}", "shopify", "unknown-secret", "no secret is called 'nope'"),
        ("api: {graphql_path: g}", "shopify", "bad-path", "'g' is not a path"),
        ("api: {graphql_path: /g, graphql: false}", "shopify", "bad-value", "is not used"),
        ("api: {graphql: true}", "github", "not-for-provider", "knows no 'graphql'"),
        ("api: {app: '5', token: token}", "shopify", "not-for-provider", "knows no 'app'"),
        (
            "api: {app: '5', token: token}, recover: {hook: orgs/o/hooks}",
            "github",
            "bad-value",
            "an app may not see this webhook",
        ),
        (
            "api: {token: token}, recover: {hook: app/hook}",
            "github",
            "missing-key",
            "'api' does not say which",
        ),
        ("recover: {every: 15m}", "shopify", "not-for-provider", "no API that lists what it could"),
        ("recover: {hook: app/hook}", "github", "missing-key", "no token is named for it"),
        ("api: {token: token}, recover: {every: 1h}", "github", "missing-key", "needs 'hook'"),
        (
            "api: {token: token}, recover: {every: 59s, hook: orgs/o/hooks}",
            "github",
            "bad-value",
            "one minute",
        ),
        (
            "api: {token: token}, recover: {hook: octo/site}",
            "github",
            "bad-value",
            "is no webhook of",
        ),
        (
            "api: {token: token}, recover: {hook: repos/a/../hooks}",
            "github",
            "bad-value",
            "is no webhook",
        ),
        (
            "api: {token: token}, recover: {hook: app/hook}",
            "stripe",
            "not-for-provider",
            "needs no 'hook'",
        ),
        ("api: {token: token}", "sendgrid", "not-for-provider", "no API that the router calls"),
    ],
)
def test_what_makes_no_sense(keys: str, provider: str, code: str, words: str) -> None:
    [found] = of_endpoint(keys, provider).diagnostics
    assert found.code == code
    assert words in found.message


def dispatch(keys: str) -> CompiledAction:
    found = loaded(_rules(keys))
    assert found.diagnostics == ()
    assert found.ruleset is not None
    return found.ruleset.rules[0].actions[0]


def _rules(keys: str) -> str:
    return f"""\
        endpoints:
          code: {{id: code-0123456789abcdef, provider: github, secrets: s}}
        rules:
          - id: pushes
            from: code
            events: push
            actions: {{repository_dispatch: {{{keys}, token: token}}}}
        """


def test_a_dispatch_is_an_http_call() -> None:
    action = dispatch("repo: octo/x, event_type: go")
    assert (action.id, action.kind) == ("repository_dispatch", "http")
    assert action.target == "https://api.github.com:443"
    assert action.retry.name == "standard"
    assert isinstance(action.spec, HttpSpec)
    assert (action.spec.method, action.spec.body_kind) == ("POST", "json")
    assert action.spec.url is not None
    assert action.spec.url.text == "https://api.github.com/repos/octo/x/dispatches"


def test_a_dispatch_elsewhere() -> None:
    action = dispatch("repo: octo/x, event_type: go, api_base: 'http://ghe.test/api/v3/'")
    assert action.target == "http://ghe.test:80"
    assert isinstance(action.spec, HttpSpec)
    assert action.spec.url is not None
    assert action.spec.url.text == "http://ghe.test/api/v3/repos/octo/x/dispatches"


GHE = "https://ghe.example.com/api/v3"


@pytest.mark.parametrize(
    ("endpoints", "sources", "token", "host"),
    [
        # the endpoint whose token it is
        ([f"api: {{token: token, base: '{GHE}'}}"], "a", "token", "ghe.example.com"),
        (["api: {token: s}", f"api: {{token: token, base: '{GHE}'}}"], "a", "token", "ghe"),
        (["api: {token: token}", f"api: {{base: '{GHE}'}}"], "b", "token", "api.github.com"),
        ([f"api: {{token: token, base: '{GHE}'}}"] * 2, "all", "token", "ghe.example.com"),
        # nobody's token: the endpoint that the event comes from
        ([f"api: {{token: s, base: '{GHE}'}}", "api: {}"], "a", "token", "ghe.example.com"),
        ([f"api: {{base: '{GHE}'}}", "api: {token: s}"], "b", "token", "api.github.com"),
        (["", f"api: {{base: '{GHE}'}}"], "a", "token", "api.github.com"),
        # neither: the only API there is
        ([f"api: {{base: '{GHE}'}}"], "shop", "token", "ghe.example.com"),
    ],
)
def test_a_token_goes_to_the_api_it_was_given_for(
    endpoints: list[str], sources: str, token: str, host: str
) -> None:
    found = loaded(_world(endpoints, sources, token))
    assert [d for d in found.diagnostics if d.severity == "error"] == []
    assert found.ruleset is not None
    (action,) = found.ruleset.rules[0].actions
    assert isinstance(action.spec, HttpSpec)
    assert action.spec.url is not None
    assert action.spec.url.text.startswith(f"https://{host}")
    assert action.target.startswith(f"https://{host}")


@pytest.mark.parametrize(
    ("endpoints", "sources"),
    [
        (["api: {token: token}", f"api: {{token: token, base: '{GHE}'}}"], "a"),
        (["", f"api: {{base: '{GHE}'}}"], "all"),
        (["", f"api: {{base: '{GHE}'}}"], "[a, b]"),
        (["", f"api: {{base: '{GHE}'}}"], "shop"),
    ],
)
def test_a_token_that_could_belong_to_several_apis_is_an_error(
    endpoints: list[str], sources: str
) -> None:
    found = loaded(_world(endpoints, sources, "token")).diagnostics
    (error,) = [d for d in found if d.severity == "error"]
    assert error.code == "missing-key"
    assert error.message == (
        "'repository_dispatch' needs the key 'api_base': its token could belong to any of "
        f"https://api.github.com, {GHE}"
    )
    named = _world(endpoints, sources, "token", f"api_base: '{GHE}'")
    assert [d for d in loaded(named).diagnostics if d.severity == "error"] == []


def _world(endpoints: list[str], sources: str, token: str, keys: str = "timeout: 5s") -> str:
    """Endpoints a, b, … of the code host with these keys, and a shop; one rule that dispatches."""
    lines = [
        f"  {name}: {{id: {name * 20}, provider: github, secrets: s, {given}}}"
        for name, given in zip("ab", endpoints, strict=False)
    ]
    return "\n".join(
        [
            "endpoints:",
            *lines,
            "  shop: {id: shop-0123456789abcdef, provider: shopify, secrets: s}",
            "rules:",
            "  - id: go",
            f"    from: {sources}",
            "    actions:",
            f"      repository_dispatch: {{repo: o/r, event_type: go, token: {token}, {keys}}}",
            "",
        ]
    )


@pytest.mark.parametrize(
    "repo",
    [
        "'{{ payload.repository.owner.name }}/{{ payload.repository.name }}'",
        "'octo/{{ payload.repository.name }}'",
        "'{{ payload.repository.owner.name }}-x/y'",
        """\"{{ lookup(var.m, 'a/b', 'c') }}/y\"""",
    ],
)
def test_expressions_in_a_repository(repo: str) -> None:
    found = loaded("vars: {m: {}}\n" + textwrap.dedent(_rules(f"repo: {repo}, event_type: go")))
    assert [d.code for d in found.diagnostics] == []


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        ("repo: octo, event_type: go", "bad-repository", "'octo' is not written OWNER/REPO"),
        ("repo: a/b/c, event_type: go", "bad-repository", "OWNER/REPO"),
        ("repo: ../b, event_type: go", "bad-repository", "OWNER/REPO"),
        (
            "repo: '{{ payload.repository.full_name }}', event_type: go",
            "bad-repository",
            "OWNER/REPO",
        ),
        ("repo: 'a/{{ secret.s }}', event_type: go", "root-not-here", "'secret'"),
        ("repo: a/b, event_type: '{{ secret.s }}'", "root-not-here", "'secret'"),
        ("repo: a/b", "missing-key", "'event_type'"),
        ("repo: a/b, event_type: go, timeout: 0s", "bad-value", "'timeout'"),
        (
            "repo: a/b, event_type: go, api_base: 'https://{{ payload.x }}/'",
            "bad-url",
            "is not an address",
        ),
    ],
)
def test_a_dispatch_that_makes_no_sense(keys: str, code: str, words: str) -> None:
    found = loaded(_rules(keys)).diagnostics
    assert [d.code for d in found] == [code]
    assert words in found[0].message
