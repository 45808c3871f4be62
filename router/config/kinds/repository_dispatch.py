"""`repository_dispatch:` of an action: an `http` call that the code host's definition describes."""

from typing import Annotated
from urllib.parse import urlsplit

from router.config.api import bases_of, checked_base
from router.config.kinds.base import CompileContext, Compiled, Schema, Surroundings
from router.config.language import ExpressionSite
from router.config.targets import limit_name
from router.config.units import Duration
from router.expressions import Template, compile_template
from router.kinds.http import HttpSpec
from router.providers import builtin
from router.providers.api import ApiRule
from router.providers.management import DISPATCH, is_repository
from router.yaml_source import Entry, Node, SourceText, doc, named

PROVIDER = "code-host"


@named("'repository_dispatch'", required=("repo", "event_type", "token"))
class RepositoryDispatchEntry(Entry):
    """A `repository_dispatch` action: an event of one's own on the code host."""

    repo: Annotated[SourceText | None, doc("OWNER/NAME.", "octo/deploys")] = None
    event_type: Annotated[SourceText | None, doc("The event's name.", "deploy")] = None
    client_payload: Annotated[
        Node | None, doc("What goes with it; texts are templates.", {"order": "{{ payload.id }}"})
    ] = None
    token: Annotated[SourceText | None, doc("The secret that opens the API.", "hub_token")] = None
    api_base: Annotated[
        SourceText | None, doc("The API's address.", "https://hub.example.com/api/v3")
    ] = None
    timeout: Annotated[Duration | None, doc("For one call.", gt=0)] = None


class DispatchCompiler:
    """Compiles the `repository_dispatch` actions of one file."""

    def __init__(self, file: CompileContext) -> None:
        self._file = file
        self._language = file.language
        self._context = file.context

    def __call__(self, entry: RepositoryDispatchEntry, around: Surroundings) -> Compiled:
        """The call, and the name that its limits belong to."""
        self._context.above_zero(entry)
        rule = builtin()[PROVIDER].definition.api
        assert rule is not None  # noqa: S101 - our own definition
        base = self._base(entry, rule, around.sources)
        spec = HttpSpec(
            target=None,
            url=self._url(entry, base, rule, around.roots),
            method="POST",
            path=None,
            query=(),
            headers=self._headers(entry, rule),
            body_kind="json",
            body=self._body(entry, around.roots),
            accept=tuple((status, status) for status in DISPATCH.statuses),
            auth=None,
            timeout_s=entry.timeout / 1_000 if entry.timeout else 30.0,
        )
        try:
            return spec, limit_name(urlsplit(base))
        except ValueError:  # reported as a bad address
            return spec, None

    def _base(self, entry: RepositoryDispatchEntry, rule: ApiRule, sources: tuple[str, ...]) -> str:
        if entry.api_base is not None:
            return checked_base(self._context, entry.api_base)
        bases = bases_of(
            entry.token.value if entry.token else "", sources, self._file.apis, rule.base or ""
        )
        if len(bases) > 1:
            self._context.error(
                "missing-key",
                f"{entry.called} needs the key 'api_base': its token could belong to any of "
                + ", ".join(bases),
                entry.node,
                "name the address that may see the token",
            )
        return bases[0]

    def _url(
        self, entry: RepositoryDispatchEntry, base: str, rule: ApiRule, roots: frozenset[str]
    ) -> Template:
        """Each expression of `repo` becomes one path segment: none can lead elsewhere."""
        if (named := self._repository(entry.repo, roots)) is None:
            return compile_template(base)
        owner, name = named
        path = (rule.dispatch or "").replace("{owner}", owner).replace("{repo}", name)
        return compile_template(base + path)

    def _repository(self, text: SourceText | None, roots: frozenset[str]) -> tuple[str, str] | None:
        """The template's text around the one slash that no expression holds; else reported."""
        template = self._file.template(text, ExpressionSite("a repository", roots))
        if text is None or template is None:
            return None
        for index, part in enumerate(template.parts):
            if isinstance(part, str) and "/" in part and is_repository(_literal(template)):
                at = template.offset_of(index) + part.index("/")
                return template.text[:at], template.text[at + 1 :]
        whole = template.whole is not None
        hint = "write owner and name apart: '{{ … }}/{{ … }}'" if whole else None
        message = f"'{text.shown}' is not written OWNER/REPO"
        self._context.error("bad-repository", message, text, hint)
        return None

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


def _literal(template: Template) -> str:
    """Its text, with a letter for each expression."""
    return "".join(part if isinstance(part, str) else "x" for part in template.parts)


REPOSITORY_DISPATCH = Schema(
    kind="http",
    entry=RepositoryDispatchEntry,
    about="Trigger an event of your own on the code host.",
    compiler=DispatchCompiler,
    look=None,
)
