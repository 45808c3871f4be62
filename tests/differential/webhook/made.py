"""Rules and requests as Hypothesis makes them: every tree of rules over a few parameters."""

from typing import Any

from hypothesis import strategies as st

from tests.differential.webhook.corpus import fits, signed, value
from tests.differential.webhook.requests import HookRequest, hmac_of, jsoned

SECRETS = ("secret-a", "secret-b")
_PLACES = st.sampled_from(
    [("x", "payload"), ("o.y", "payload"), ("l.0", "payload"), ("q", "url"), ("X-H", "header")]
)
_TEXTS = st.sampled_from(["1", "a", "true", "", "<nil>", "ab", "1.50", "it's"])
_PATTERNS = st.sampled_from(["^a", ".", "^$", "1", "[0-9.]+$", "^(true|ab)$", "'"])
_ATOMS = st.sampled_from(["1", "a", "", "ab", 1, True, False, None, 1.5, [1], {"a": "ab"}, "it's"])

Rule = dict[str, Any]


@st.composite
def leaf(draw: Any) -> Rule:
    """A match of a parameter."""
    place = draw(_PLACES)
    if draw(st.booleans()):
        return value(place[0], draw(_TEXTS), place[1])
    return fits(place[0], draw(_PATTERNS), place[1])


def _inner(rules: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
    several = st.lists(rules, min_size=1, max_size=3)
    return st.one_of(
        rules.map(lambda rule: {"not": rule}),
        several.map(lambda each: {"and": each}),
        several.map(lambda each: {"or": each}),
    )


RULES = st.recursive(leaf(), _inner, max_leaves=5)


@st.composite
def hook(draw: Any) -> Rule:
    """A hook; some are signed."""
    rule = draw(RULES)
    proof = draw(st.sampled_from(["none", "none", "one", "each"]))
    if proof == "one":
        rule = {"and": draw(st.permutations([signed(SECRETS[0]), rule]))}
    elif proof == "each":
        rule = {"or": [{"and": [signed(secret), rule]} for secret in SECRETS]}
    return {"trigger-rule": rule, "trigger-signature-soft-failures": True}


@st.composite
def request(draw: Any, hooks: list[str]) -> HookRequest:
    """A request to one of these hooks."""
    # A null on the way is another matter: see the corpus.
    inner = st.one_of(_PAIR, _ATOMS.filter(lambda atom: atom is not None))
    places = {"x": _ATOMS, "o": inner, "l": st.lists(_ATOMS, max_size=2)}
    payload = draw(st.fixed_dictionaries({}, optional=places))
    made = jsoned(
        draw(st.sampled_from(hooks)), payload, query=draw(st.sampled_from(["", "q=1", "q=a", "q="]))
    )
    headers = draw(st.sampled_from([{}, {"X-H": "a"}, {"X-H": "1"}]))
    secret = draw(st.sampled_from([*SECRETS, SECRETS[0], None]))
    proof = {} if secret is None else {"X-Sig": "sha256=" + hmac_of(secret, made.body)}
    return HookRequest(made.hook, made.body, headers={**headers, **proof}, query=made.query)


_PAIR = st.fixed_dictionaries({}, optional={"y": _ATOMS})


@st.composite
def hooks_and_requests(draw: Any) -> tuple[list[Rule], list[HookRequest]]:
    """Several hooks, and requests to them."""
    hooks = [
        {"id": f"h{at}", **one}
        for at, one in enumerate(draw(st.lists(hook(), min_size=12, max_size=12)))
    ]
    names = [one["id"] for one in hooks]
    return hooks, draw(st.lists(request(names), min_size=40, max_size=40))
