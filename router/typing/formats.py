"""What texts of a format look like, so that a constant that is none of them is found."""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

Predicate = Callable[[str], object]
Place = Literal["whole", "begin", "part", "end"]


class Format(msgspec.Struct, frozen=True):
    """
    One format: `about` is what such texts are. `whole`, `begin`, `part` and `end` say of a text
    whether it can be one, or its beginning, a part of it or its end; None: any can. `advice` is
    what to write instead, of the compared expression and the text.
    """

    about: str
    whole: Predicate
    advice: Callable[[str, str], str | None]
    begin: Predicate | None = None
    part: Predicate | None = None
    end: Predicate | None = None


def _fits(pattern: str) -> Predicate:
    return re.compile(pattern, re.DOTALL).fullmatch


def _write(change: Callable[[str], str]) -> Callable[[str, str], str | None]:
    return lambda _, text: f"write '{changed}'" if (changed := change(text)) else None


def _day(_said: str, text: str) -> str | None:
    if (found := re.match(r"\d{4}-\d\d-\d\d(?=[T ])", text)) is not None:
        return f"write '{found[0]}'"
    if (found := re.fullmatch(r"(\d\d?)\.(\d\d?)\.(\d{4})", text)) is not None:
        return f"write '{found[3]}-{found[2]:0>2}-{found[1]:0>2}'"
    return None


def _of_day(said: str, text: str) -> str | None:
    day = re.fullmatch(r"\d{4}-\d\d-\d\d", text)
    return f"write date({said}) == '{text}'" if day else f"age({said}) is its age in seconds"


def _small(text: str) -> bool:
    return text == text.lower()


def _capital(text: str) -> bool:
    return text == text.upper()


def _without_prefix(what: str, prefix: str) -> Format:
    """What a ref names, of one kind: `prefix` is left out."""
    return Format(
        f"a {what} without '{prefix}'",
        _fits(r"(?!refs/(?:heads|tags)/).*"),
        _write(lambda text: text.removeprefix(prefix)),
        begin=_fits(r"(?!refs/(?:heads|tags)).*"),
    )


def _code(letters: int, example: str) -> Format:
    """A code of capital letters, which a sender may leave empty."""

    def advice(_said: str, text: str) -> str:
        plain = len(text) == letters and text.isalpha()
        return f"write '{text.upper()}'" if plain else f"write the code, as in '{example}'"

    about = f"a code of {letters} capital letters"
    return Format(about, _fits(f"|[A-Z]{{{letters}}}"), advice, part=_fits(f"[A-Z]{{0,{letters}}}"))


_SMALL = Format("in small letters", _small, _write(str.lower), part=_small)
FORMATS: Final[Mapping[str, Format]] = {
    "timestamp": Format("a time, as in '2026-11-20T12:00:00Z'", _fits(r"|.*\d[T :]\d.*"), _of_day),
    "date": Format("a day, as in '2026-11-20'", _fits("[^:]*"), _day),
    "day": Format(
        "a day, as in '2026-11-20'", _fits(r"\d{4}-\d\d-\d\d"), _day, part=_fits(r"[\d-]{0,10}")
    ),
    "git_ref": Format(
        "a whole ref, as in 'refs/heads/main'",
        _fits("|refs/.*"),
        _write(lambda text: f"refs/heads/{text}"),
        begin=_fits("r?|re|ref|refs|refs/.*"),
    ),
    "git_branch": _without_prefix("branch", "refs/heads/"),
    "git_tag": _without_prefix("tag", "refs/tags/"),
    "currency_code": _code(3, "EUR"),
    "country_code": _code(2, "DE"),
    "lower": _SMALL,
    "lowercase": _SMALL,
    "upper": Format("in capital letters", _capital, _write(str.upper), part=_capital),
    "domain": Format(
        "a domain in small letters, without '@'",
        lambda text: _small(text) and re.fullmatch(r"(?:\[[^@]*|[^@:]*)(?<!\.)", text),
        _write(lambda text: text.rpartition("@")[2].lower().rstrip(".")),
        part=lambda text: _small(text) and "@" not in text,
        end=lambda text: _small(text) and re.fullmatch(r"[^@]*(?<!\.)", text),
    ),
}


def misfits(name: str | None, text: str, place: Place = "whole") -> Format | None:
    """The format, if no text of it is this, or has this at the `place`."""
    if (found := FORMATS.get(name or "")) is None:
        return None
    may = getattr(found, place) or found.part
    return None if may is None or may(text) else found


def differ(a: str | None, b: str | None) -> bool:
    """Whether no text of the one is one of the other."""
    return {a, b} in ({"date", "timestamp"}, {"day", "timestamp"})
