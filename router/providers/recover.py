"""The `recover:` of a definition's `api`: how missed deliveries are listed and asked for."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

_PATH = re.compile(r"/[!-~]*")
_SEGMENT = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]{1,100}"
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_DURATION = re.compile(r"[1-9][0-9]{0,3}[hd]")


class RecoverRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    How missed deliveries are asked for.

    `list` is the path of what the sender keeps, newest first, `{since}` in Unix seconds; a page
    holds them at `items` (dotted; left out: the answer is the list). The next page has the query
    parameter `page`: what the Link header says (`place: link`), or the last item's `id` while
    `more` is true (`last_id`).

    Of an item `id` is the sender's name for it, `key` what all attempts of one delivery share,
    `time` when it was (as `time_format`), `event` its name; whatever has the values of `delivered`
    needs nothing. With `redeliver`, a path with `{id}`, the sender delivers it again by itself;
    else `body` is where the item holds what it would have delivered (`@`: it is that).

    `hooks` are paths that an endpoint's `recover.hook` may have; `{hook}` of the others stands for
    it. Where one ends in `{id}` and the endpoint leaves that out, the hook is found among those at
    the path before it by the address in `hook_address`.

    Those of `app_hooks` are for the app itself, which proves itself by its private key.

    Things are kept for `keeps`, and at most `per_s` calls a second are made. `needs` says what
    the token must be allowed, and where one is made; `limits` are for people.
    """

    list: str
    page: str
    time: str
    keeps: str
    needs: str
    place: Literal["link", "last_id"] = "link"
    more: str | None = None
    items: str | None = None
    id: str = "id"
    key: str | None = None
    time_format: Literal["seconds", "milliseconds", "iso8601"] = "seconds"
    event: str | None = None
    delivered: dict[str, str] = {}
    redeliver: str | None = None
    body: str | None = None
    hooks: tuple[str, ...] = ()
    hook_address: str | None = None
    app_hooks: tuple[str, ...] = ()
    per_s: int = 1
    limits: tuple[str, ...] = ()

    @property
    def keeps_ms(self) -> int:
        """How long the sender keeps what it could not deliver."""
        return int(self.keeps[:-1]) * {"h": 3_600_000, "d": 86_400_000}[self.keeps[-1]]

    def described(self) -> str:
        """What `router recover` does, for people."""
        if self.redeliver is not None:
            return f"`router recover` has it delivered again, up to {self.keeps} later"
        return f"`router recover` fetches it, up to {self.keeps} later"

    def hook_at(self, text: str) -> str | None:
        """
        The path of the hook that an endpoint names (`repos/octo/site/hooks/7`), with `{id}` at its
        end where that is left out; None: it is none.
        """
        path = f"/{text.strip('/')}"
        for form in self.hooks:
            if re.fullmatch(_pattern(form), path):
                return path
            open_end = form.removesuffix("/{id}")
            if open_end != form and re.fullmatch(_pattern(open_end), path):
                return f"{path}/{{id}}"
        return None


def _pattern(form: str) -> str:
    return "".join(
        _SEGMENT if index % 2 else re.escape(piece)
        for index, piece in enumerate(_PLACEHOLDER.split(form))
    )


def problems(rule: RecoverRule | None) -> Iterator[str]:
    """What contradicts itself in an `api.recover`."""
    if rule is None:
        return
    hooked = bool(rule.hooks)
    rows = (
        (
            (rule.redeliver is None) == (rule.body is None),
            "`api.recover` has either `redeliver` or `body`",
        ),
        (
            rule.redeliver is not None and "{id}" not in rule.redeliver,
            "`api.recover.redeliver` has {id}",
        ),
        (
            (rule.more is None) != (rule.place == "link"),
            "`api.recover.more` goes with `place: last_id`",
        ),
        (not _DURATION.fullmatch(rule.keeps), "`api.recover.keeps` is a time like '3d'"),
        (rule.per_s < 1, "`api.recover.per_s` is above zero"),
        (
            any(form.endswith("/{id}") for form in rule.hooks) != (rule.hook_address is not None),
            "`api.recover.hook_address` goes with a hook that ends in {id}",
        ),
    )
    yield from (text for wrong, text in rows if wrong)
    for name, path in (("list", rule.list), ("redeliver", rule.redeliver)):
        if path is None:
            continue
        known = {"since", "id"} | ({"hook"} if hooked else set())
        if hooked != ("{hook}" in path) or set(_PLACEHOLDER.findall(path)) - known:
            yield f"`api.recover.{name}` has {{hook}} if there are `hooks`, {{since}} or {{id}}"
        if not _PATH.fullmatch(path.removeprefix("{hook}") or "/"):
            yield f"`api.recover.{name}` is a path like '/v1/events'"
