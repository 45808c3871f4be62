"""The `repository_dispatch` action: an `http` call that the code host's definition describes."""

from collections.abc import Collection, Mapping
from urllib.parse import SplitResult, urlsplit

from router.config.api import bases_of, checked_base
from router.config.language import ExpressionSite, Language
from router.config.schema import RepositoryDispatchEntry
from router.config.settings import above_zero
from router.config.targets import limit_name
from router.expressions import Template, compile_template
from router.model.settings import Api
from router.providers import builtin
from router.providers.api import ApiRule
from router.providers.management import DISPATCH, is_repository
from router.rules.specs import HttpSpec
from router.yaml_source import SourceText

PROVIDER = "code-host"
TIMEOUT_S = 30.0


class Dispatches:
    """Compiles `repository_dispatch` actions of one file, whose endpoints' `api:` are `apis`."""

    def __init__(self, language: Language, apis: Mapping[str, Api]) -> None:
        self._language = language
        self._apis = apis
        self._context = language.context

    def compile(
        self, entry: RepositoryDispatchEntry, roots: frozenset[str], sources: Collection[str]
    ) -> tuple[HttpSpec, str | None]:
        """
        The call, and the name that its limits belong to; `sources` are the endpoints that the
        rule names.
        """
        above_zero(self._context, entry.timeout, entry.at("timeout"), "timeout")
        rule = _rule()
        base = self._base(entry, rule, sources)
        spec = HttpSpec(
            target=None,
            url=self._url(entry, base, rule, roots),
            method="POST",
            path=None,
            query=(),
            headers=self._headers(entry, rule),
            body_kind="json",
            body=self._body(entry, roots),
            accept=tuple((status, status) for status in DISPATCH.statuses),
            auth=None,
            timeout_s=entry.timeout / 1_000 if entry.timeout else TIMEOUT_S,
        )
        return spec, _limit_name(base)

    def _base(self, entry: RepositoryDispatchEntry, rule: ApiRule, sources: Collection[str]) -> str:
        if entry.api_base is not None:
            return checked_base(self._context, entry.api_base)
        token = entry.token.value if entry.token else ""
        bases = bases_of(token, sources, self._apis, rule.base or "")
        if len(bases) > 1:
            message = f"{entry.called} needs the key 'api_base': its token could belong to any of "
            hint = "name the address that may see the token"
            self._context.error("missing-key", message + ", ".join(bases), entry.node, hint)
        return bases[0]

    def _url(
        self, entry: RepositoryDispatchEntry, base: str, rule: ApiRule, roots: frozenset[str]
    ) -> Template:
        """Each expression of `repo` becomes one path segment: none can lead elsewhere."""
        owner, slash, name = self._repository(entry.repo, roots)
        path = (rule.dispatch or "").replace("{owner}", owner).replace("{repo}", name)
        return compile_template(base + path if slash else base)

    def _repository(self, text: SourceText | None, roots: frozenset[str]) -> tuple[str, str, str]:
        if text is None:
            return "", "", ""
        template = self._language.template(text, ExpressionSite("a repository", roots))
        if template is None:
            return "", "", ""
        literal = "".join(part if isinstance(part, str) else "x" for part in template.parts)
        slashes = [part for part in template.parts if isinstance(part, str) and "/" in part]
        if not is_repository(literal):
            hint = None
            if template.whole is not None and not slashes:
                hint = "write owner and name apart: '{{ … }}/{{ … }}'"
            message = f"'{text.value[:60]}' is not written OWNER/REPO"
            self._context.error("bad-repository", message, text, hint)
            return "", "", ""
        return _split(template)

    def _headers(
        self, entry: RepositoryDispatchEntry, rule: ApiRule
    ) -> tuple[tuple[str, Template], ...]:
        name = self._context.secret(entry.token)
        token = f"{rule.token_prefix}{{{{ secret.{name} }}}}"
        header = rule.header_for(PROVIDER)
        return (
            ("Accept", compile_template(rule.accept)),
            (header, compile_template(token if name.isidentifier() else "")),
        )

    def _body(self, entry: RepositoryDispatchEntry, roots: frozenset[str]) -> dict[str, object]:
        place = ExpressionSite("a dispatch", roots)
        body: dict[str, object] = {}
        if entry.event_type is not None:
            body["event_type"] = self._language.template(entry.event_type, place)
        if entry.client_payload is not None:
            body["client_payload"] = self._language.json(entry.client_payload, place)
        return body


def _split(template: Template) -> tuple[str, str, str]:
    """The template's text around the one slash that no expression holds."""
    for index, part in enumerate(template.parts):
        if isinstance(part, str) and "/" in part:
            at = template.offset_of(index) + part.index("/")
            return template.text[:at], "/", template.text[at + 1 :]
    return "", "", ""


def _rule() -> ApiRule:
    rule = builtin()[PROVIDER].definition.api
    assert rule is not None  # noqa: S101 - our own definition
    return rule


def _limit_name(base: str) -> str | None:
    try:
        parts: SplitResult = urlsplit(base)
        return limit_name(parts)
    except ValueError:
        return None
