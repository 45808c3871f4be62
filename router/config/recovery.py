"""`recover:` of an endpoint: what its sender could not deliver is asked for again."""

from router.config.context import LoadContext
from router.config.environment import setting
from router.config.schema import EndpointEntry, RecoverEntry
from router.model.settings import Recover
from router.providers import Provider
from router.providers import recovering as recovering_senders
from router.providers.recover import RecoverRule

EVERY_MIN_MS = 60_000


def recovering(context: LoadContext, entry: EndpointEntry, provider: Provider | None) -> Recover:
    """`recover:`, checked against what the sender's API can do."""
    given = entry.recover
    if given is None or provider is None:
        return Recover()
    rule = provider.definition.api.recover if provider.definition.api else None
    if rule is None:
        context.error(
            "not-for-provider",
            f"{provider.label} has no API that lists what it could not deliver",
            entry.key_at("recover"),
            f"leave 'recover' out; these have one: {', '.join(recovering_senders())}",
        )
        return Recover()
    if given.every is not None and given.every < EVERY_MIN_MS:
        context.error("bad-value", "'every' is one minute or longer", given.at("every"))
    _token(context, entry, rule)
    hook = _hook(context, given, rule)
    _app(context, entry, given, rule, hook)
    return Recover(given.every, hook)


def _token(context: LoadContext, entry: EndpointEntry, rule: RecoverRule) -> None:
    if entry.broken & {"api"} or (entry.api is not None and entry.api.token is not None):
        return
    context.error(
        "missing-key",
        "'recover' calls the sender's API, and no token is named for it",
        entry.key_at("recover"),
        f"add `api: {{token: SECRET}}`: {rule.needs}",
    )


def _app(
    context: LoadContext, entry: EndpointEntry, given: RecoverEntry, rule: RecoverRule, hook: str
) -> None:
    """A hook of the app itself is for the app's own token, and no other hook is."""
    if not hook or entry.api is None or entry.broken & {"api"}:
        return
    is_app = entry.api.app is not None
    if is_app == (hook in rule.app_hooks):
        return
    if is_app:
        mine = " or ".join(f"'{one.lstrip('/')}'" for one in rule.app_hooks)
        context.error(
            "bad-value", "an app may not see this webhook", given.at("hook"), f"its own is {mine}"
        )
    else:
        context.error(
            "missing-key",
            "this is the webhook of an app, and 'api' does not say which",
            given.at("hook"),
            "add `api: {app: ID, token: SECRET}`, where the secret is the app's private key",
        )


def _hook(context: LoadContext, given: RecoverEntry, rule: RecoverRule) -> str:
    text = setting(context, given.hook)
    if not rule.hooks:
        if text is not None:
            context.error("not-for-provider", "this provider needs no 'hook'", given.key_at("hook"))
        return ""
    if given.broken & {"hook"}:
        return ""
    if text is None:
        context.error(
            "missing-key",
            "'recover' needs 'hook': which webhook of the sender it is",
            given.node,
            f"like {_forms(rule)}",
        )
        return ""
    if (path := rule.hook_at(text.value)) is None:
        message = f"'{text.shown}' is no webhook of this sender"
        context.error("bad-value", message, text, f"write {_forms(rule)}")
    return path or ""


def _forms(rule: RecoverRule) -> str:
    """`repos/OWNER/REPO/hooks` or …: the id may be left out."""
    forms = (form.removesuffix("/{id}").lstrip("/") for form in rule.hooks)
    words = [form.replace("{", "").replace("}", "") for form in forms]
    return " or ".join(f"'{word}'" for word in words)
