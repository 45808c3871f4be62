"""
Calls of a sender's API as pure data: requests built, answers read, nothing sent.

Interfaces show what is sent and little of what is answered, so answers are read with care: what
is not understood is said, never guessed.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from router.legible import cut
from router.providers.api import ApiRule

WORDS_MAX = 300
_MUTATION = """\
mutation webhookSubscriptionCreate(
  $topic: WebhookSubscriptionTopic!, $webhookSubscription: WebhookSubscriptionInput!
) {
  webhookSubscriptionCreate(topic: $topic, webhookSubscription: $webhookSubscription) {
    webhookSubscription { id }
    userErrors { field message }
  }
}"""
_TOPIC = re.compile(r"[a-z0-9_]+(?:[/.][a-z0-9_]+)+")
_JSON = re.compile(r"application/(?:[a-z0-9.-]+\+)?json")
_TAKEN = re.compile(r"\balready (?:been )?(?:taken|exists?)\b", re.IGNORECASE)
_BEYOND, _DAY_S = 10**15, 86_400.0
_THROTTLED = (("extensions", "code"), ("message",))
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


class Access(msgspec.Struct, frozen=True):
    """
    Whose API is called and as whom. `base` has no trailing slash; `spelling` is the provider's
    name as the user wrote it; `version` stands for `{api_version}`. `as_app`: the token is
    an app's.
    """

    rule: ApiRule
    base: str
    token: str | None = None
    spelling: str = ""
    version: str | None = None
    as_app: bool = False

    def __repr__(self) -> str:
        return f"Access({self.base!r})"


class Promise(msgspec.Struct, frozen=True):
    """
    What an answer must be to mean success: one of these statuses, and JSON, nothing at all, or
    either. Whatever else comes with a 2xx (a login page, a proxy's own word) means nothing.
    `anything` is for contents that prove themselves.
    """

    statuses: tuple[int, ...]
    body: Literal["json", "nothing", "json or nothing", "anything"] = "json"

    def __str__(self) -> str:
        return f"{' or '.join(map(str, self.statuses))} with {self.body}"

    def broken_by(self, status: int, media: str, body: bytes) -> str | None:
        """What an answer is instead, in words; None: it is what was promised."""
        kind = media.partition(";")[0].strip().lower()
        is_json = _JSON.fullmatch(kind) is not None
        fits = ("nothing" in self.body and not body) or ("json" in self.body and is_json)
        fits = fits or self.body == "anything"
        if status in self.statuses and fits:
            return None
        came = (_words(kind) or "content of no type") if body else "nothing"
        return f"HTTP {status} with {came}, where success is {self}"


class ApiRequest(msgspec.Struct, frozen=True):
    """One request to send. `headers` may hold a token: they are never shown."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    promise: Promise
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"ApiRequest({self.method} {self.url})"


class Subscribed(msgspec.Struct, frozen=True):
    """A subscription was made."""

    id: str


class NotSubscribed(msgspec.Struct, frozen=True):
    """None was made; `problems` say why, one for each field."""

    problems: tuple[str, ...]

    @property
    def taken(self) -> bool:
        """Whether that is because there is such a subscription already."""
        return any(_TAKEN.search(problem) for problem in self.problems)


class BadAnswerError(ValueError):
    """An answer is not what the interface says; the text is for people."""


# -- requests

SUBSCRIBE = Promise((200, 201))
GRAPHQL = Promise((200,))
NOTIFY = Promise((200, 201, 202, 204), "json or nothing")
JSON = Promise((200,))
DISPATCH = Promise((204,), "nothing")


def subscribe(access: Access, topic: str, address: str) -> ApiRequest:
    """REST: notifications of `topic` to `address`."""
    return post(
        access,
        _filled(access, access.rule.subscribe),
        {"webhook": {"topic": topic, "address": address, "format": "json"}},
        SUBSCRIBE,
    )


def subscribe_graphql(
    access: Access, topic: str, address: str, *, path: str | None = None
) -> ApiRequest:
    """GraphQL: the same, by the mutation; `path` where it is not the definition's."""
    given = {"callbackUrl": address, "format": "JSON"}
    variables = {"topic": graphql_topic(topic), "webhookSubscription": given}
    return post(
        access,
        _filled(access, path or access.rule.graphql),
        {"query": _MUTATION, "variables": variables},
        GRAPHQL,
    )


def notify(access: Access, webhook_id: str) -> ApiRequest:
    """A test notification for one subscription; a GraphQL id counts by its last part."""
    number = quote(webhook_id.rpartition("/")[2], safe="")
    return post(access, _filled(access, access.rule.notify, webhook_id=number), None, NOTIFY)


def granted_scopes(access: Access) -> ApiRequest:
    """What the token may do."""
    rule = access.rule.scopes
    return get(access, rule.granted if rule else "")


def ranges(access: Access) -> ApiRequest:
    """The addresses that deliveries come from."""
    return get(access, access.rule.ranges or "")


def dispatch(
    access: Access, repository: str, event_type: str, client_payload: Any = None
) -> ApiRequest:
    """
    An event of the user's own for a repository written `owner/name`.

    Raises:
        ValueError: it is not written so.
    """
    if not is_repository(repository):
        raise ValueError(f"{repository[:80]!r} is not written OWNER/REPO")
    owner, _, name = repository.partition("/")
    path = _filled(access, access.rule.dispatch, owner=owner, repo=name)
    body = {"event_type": event_type}
    if client_payload is not None:
        body["client_payload"] = client_payload
    return post(access, path, body, DISPATCH)


def is_repository(text: str) -> bool:
    """Whether a text is `owner/name`, neither of them dots alone."""
    parts = text.split("/")
    return _REPOSITORY.fullmatch(text) is not None and not any(set(p) == {"."} for p in parts)


def get(access: Access, path: str, promise: Promise = JSON) -> ApiRequest:
    """A question; `path` begins with a slash."""
    return ApiRequest("GET", _url(access, path), _headers(access), promise)


def post(access: Access, path: str, body: Any, promise: Promise) -> ApiRequest:
    """A call that changes something; `body` None: it has none."""
    return ApiRequest(
        "POST",
        _url(access, path),
        (*_headers(access), ("Content-Type", "application/json")),
        promise,
        None if body is None else msgspec.json.encode(body),
    )


def _headers(access: Access) -> tuple[tuple[str, str], ...]:
    rule, accept = access.rule, ("Accept", access.rule.accept)
    if access.token is None:
        return (accept,)
    prefix = rule.app_prefix if access.as_app else rule.token_prefix
    return (accept, (rule.header_for(access.spelling), (prefix or "") + access.token))


def _url(access: Access, path: str) -> str:
    return access.base.rstrip("/") + path


def _filled(access: Access, path: str | None, **values: str) -> str:
    text = path or ""
    for name, value in {**values, "api_version": access.version or access.rule.version}.items():
        text = text.replace(f"{{{name}}}", value or "")
    return text


# -- topics


def is_topic(text: str) -> bool:
    """Whether a text is written as a topic is on the REST interface: `orders/create`."""
    return _TOPIC.fullmatch(text) is not None


def graphql_topic(topic: str) -> str:
    """`orders/create` as the GraphQL interface writes it: `ORDERS_CREATE`."""
    return re.sub(r"[/.]", "_", topic).upper()


def topic_table(topics: Iterable[str]) -> Mapping[str, str]:
    """
    GraphQL's name to REST's, for every topic of a catalogue.

    Raises:
        ValueError: two topics have the same name there.
    """
    table: dict[str, str] = {}
    for topic in topics:
        if table.setdefault(graphql_topic(topic), topic) != topic:
            raise ValueError(f"{topic!r} and {table[graphql_topic(topic)]!r} are one in GraphQL")
    return table


# -- answers


def read_subscribed(body: bytes) -> Subscribed:
    """
    The REST answer to a subscription: `{"webhook": {"id": …}}`.

    Raises:
        BadAnswerError: it is something else.
    """
    return Subscribed(_named(_member(decoded(body), "webhook")))


def read_subscribed_graphql(body: bytes) -> Subscribed | NotSubscribed:
    """
    The GraphQL answer to a subscription, its `userErrors` field by field.

    Raises:
        BadAnswerError: it is neither.
    """
    answer = decoded(body)
    problems = [_problem(e) for e in _listed(_member(answer, "errors"))]
    made = _member(_member(answer, "data"), "webhookSubscriptionCreate")
    problems += [_problem(e) for e in _listed(_member(made, "userErrors"))]
    if problems:
        return NotSubscribed(tuple(problems))
    return Subscribed(_named(_member(made, "webhookSubscription")))


def read_throttled(body: bytes) -> float | None:
    """
    Of an answer that says `THROTTLED` (GraphQL: a 200 with an error of that code) the seconds until
    there is enough for the query, 0 if it does not say; None: it says something else.
    """
    try:
        answer = decoded(body)
    except BadAnswerError:
        return None
    errors = _listed(_member(answer, "errors"))
    said = {_at(error, *path) for path in _THROTTLED for error in errors if _is_text(error, path)}
    if not said & {"THROTTLED", "Throttled"}:
        return None
    cost = _at(answer, "extensions", "cost")
    status = _member(cost, "throttleStatus")
    wanted, there, rate = (
        _member(cost, "requestedQueryCost"),
        _member(status, "currentlyAvailable"),
        _member(status, "restoreRate"),
    )
    if not all(_is_number(value) for value in (wanted, there, rate)) or rate <= 0:
        return 0.0
    return float(min(max(0, (wanted - there) / rate), _DAY_S))


def read_scopes(access: Access, body: bytes) -> tuple[str, ...]:
    """
    The scopes that the token has.

    Raises:
        BadAnswerError: it is no such list.
    """
    rule = access.rule.scopes
    found = _member(decoded(body), rule.items if rule else "")
    names = [_member(one, rule.name if rule else "") for one in _listed(found)]
    if not isinstance(found, list) or not all(isinstance(name, str) for name in names):
        raise BadAnswerError("the answer has no list of scopes")
    return tuple(sorted({_words(name) for name in names}))


def read_problem(body: bytes) -> str:
    """A few words of an error's body, whatever it is; empty if it says nothing."""
    try:
        answer = decoded(body)
    except BadAnswerError:
        return _words(body.decode("utf-8", "replace"))
    for name in ("errors", "error", "message", "detail"):
        if value := _member(answer, name):
            return _words(_said(value))
    return _words(_said(answer)) if answer else ""


def decoded(body: bytes | msgspec.Raw) -> Any:
    """An answer's JSON. Raises BadAnswerError: it is none."""
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):  # a text that is not UTF-8, too
        raise BadAnswerError("the answer is not JSON") from None


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = _member(value, name)
    return value


def _is_text(value: Any, path: tuple[str, ...]) -> bool:
    return isinstance(_at(value, *path), str)


def _is_number(value: Any) -> bool:
    """Whether it is a number that can be counted with."""
    counts = isinstance(value, int | float) and not isinstance(value, bool)
    return counts and abs(value) < _BEYOND


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _named(subscription: Any) -> str:
    """The id of a subscription that was made."""
    value = _member(subscription, "id")
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise BadAnswerError("the answer holds neither a subscription with its id nor errors")
    return _words(str(value))


def _problem(error: Any) -> str:
    """`field.path: message` of one user error."""
    path = ".".join(str(part) for part in _listed(_member(error, "field")))
    message = _member(error, "message")
    said = _said(error if message is None else message)
    return _words(f"{path}: {said}" if path else said)


def _said(value: Any, levels: int = 4) -> str:
    if isinstance(value, dict | list) and levels == 0:
        return "…"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_said(child, levels - 1)}" for name, child in value.items())
    if isinstance(value, list):
        return ", ".join(_said(child, levels - 1) for child in value)
    return str(value)


def _words(text: str) -> str:
    """One line of somebody else's text, cut."""
    return cut(
        " ".join("".join(c if c.isprintable() else " " for c in text).split()), WORDS_MAX - 1
    )
