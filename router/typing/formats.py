"""What texts of a format look like, so that a constant that is none of them is found."""

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final

import msgspec

Predicate = Callable[[str], bool]
Advice = Callable[[str, str], str | None]
"""What to write instead, of the compared expression and the text."""


class Format(msgspec.Struct, frozen=True):
    """
    One format: `about` is what such texts are. `whole`, `begin`, `part` and `end` say of a text
    whether it can be one, or its beginning, a part of it or its end. `numbers` and `times`: whether
    such a text may show a number or a time.
    """

    about: str
    whole: Predicate
    begin: Predicate
    part: Predicate
    end: Predicate
    advice: Advice
    numbers: bool = True
    times: bool = True


def _made(
    about: str,
    whole: Predicate,
    advice: Advice = lambda _said, _text: None,
    *,
    part: Predicate = lambda _: True,
    begin: Predicate | None = None,
    end: Predicate | None = None,
    numbers: bool = False,
    times: bool = False,
) -> Format:
    return Format(about, whole, begin or part, part, end or part, advice, numbers, times)


def _sent(about: str, whole: Predicate, *more: Advice, **others: bool | Predicate) -> Format:
    """A format of what senders write, who may leave a text empty."""
    return _made(about, lambda text: not text or whole(text), *more, **others)  # type: ignore[arg-type]


def _regex(pattern: str) -> Predicate:
    found = re.compile(pattern)
    return lambda text: found.fullmatch(text) is not None


def _write(change: Callable[[str], str]) -> Advice:
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


def _of_domain(said: str, text: str) -> str | None:
    return f"write domain_of({said}) == '{text.lower()}'" if "." in text else None


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _code(letters: int, example: str) -> Advice:
    def advice(_said: str, text: str) -> str:
        plain = len(text) == letters and text.isalpha()
        return f"write '{text.upper()}'" if plain else f"write the code, as in '{example}'"

    return advice


def _domain(text: str) -> bool:
    return _letters(text) and not text.endswith(".") and (text[:1] == "[" or ":" not in text)


def _letters(text: str) -> bool:
    return "@" not in text and text == text.lower()


_SMALL = _made(
    "in small letters",
    lambda text: text == text.lower(),
    _write(str.lower),
    part=lambda text: text == text.lower(),
    numbers=True,
    times=True,
)
_TIMES: Mapping[str, Format] = {
    "timestamp": _sent(
        "a time, as in '2026-11-20T12:00:00Z'",
        lambda text: re.search(r"\d[T :]\d", text) is not None,
        _of_day,
        times=True,
    ),
    "date": _sent("a day, as in '2026-11-20'", lambda text: ":" not in text, _day, times=True),
    "day": _made(
        "a day, as in '2026-11-20'",
        _regex(r"\d{4}-\d\d-\d\d"),
        _day,
        part=_regex(r"[\d-]{0,10}"),
        times=True,
    ),
}
_GIT: Mapping[str, Format] = {
    "git_ref": _sent(
        "a whole ref, as in 'refs/heads/main'",
        lambda text: text.startswith("refs/"),
        _write(lambda text: f"refs/heads/{text}"),
        begin=lambda text: text.startswith("refs/"[: len(text)]),
    ),
    "git_branch": _sent(
        "a branch, as in 'main', without 'refs/heads/'",
        lambda text: not text.startswith(("refs/heads/", "refs/tags/")),
        _write(lambda text: text.removeprefix("refs/heads/")),
        begin=lambda text: not text.startswith(("refs/heads", "refs/tags")),
        numbers=True,
        times=True,
    ),
    "git_tag": _sent(
        "a tag, as in 'v1.0', without 'refs/tags/'",
        lambda text: not text.startswith(("refs/heads/", "refs/tags/")),
        _write(lambda text: text.removeprefix("refs/tags/")),
        begin=lambda text: not text.startswith(("refs/heads", "refs/tags")),
        numbers=True,
        times=True,
    ),
    "repository_name": _sent(
        "the owner and the name of a repository, as in 'acme/shop'",
        _regex(r"[^/]+/[^/]+"),
        part=lambda text: text.count("/") <= 1,
    ),
    "git_sha": _sent(
        "a whole hash of 40 or 64 digits, in small letters",
        _regex(r"[0-9a-f]{40}|[0-9a-f]{64}"),
        lambda said, text: f"write starts_with({said}, '{text.lower()}')",
        part=_regex(r"[0-9a-f]{0,64}"),
        numbers=True,
    ),
}

FORMATS: Final[Mapping[str, Format]] = {
    **_TIMES,
    **_GIT,
    "lower": _SMALL,
    "lowercase": _SMALL,
    "upper": _made(
        "in capital letters",
        lambda text: text == text.upper(),
        _write(str.upper),
        part=lambda text: text == text.upper(),
        numbers=True,
        times=True,
    ),
    "trimmed": _made(
        "without white space at its ends",
        lambda text: text == text.strip(),
        _write(str.strip),
        begin=lambda text: text == text.lstrip(),
        end=lambda text: text == text.rstrip(),
        numbers=True,
        times=True,
    ),
    "domain": _made(
        "a domain in small letters, without '@'",
        _domain,
        _write(lambda text: text.rpartition("@")[2].lower().rstrip(".")),
        part=_letters,
        end=lambda text: _letters(text) and not text.endswith("."),
        numbers=True,
    ),
    "money": _sent(
        "a text that shows a number, as in '512.50'",
        _regex(r"[+-]?\d+(\.\d+)?"),
        part=_regex(r"[+-]?\d*\.?\d*"),
        numbers=True,
    ),
    "currency_code": _sent(
        "the code of a currency, three capital letters",
        _regex("[A-Z]{3}"),
        _code(3, "EUR"),
        part=_regex("[A-Z]{0,3}"),
    ),
    "country_code": _sent(
        "the code of a country, two capital letters",
        _regex("[A-Z]{2}"),
        _code(2, "DE"),
        part=_regex("[A-Z]{0,2}"),
    ),
    "country_name": _sent(
        "the name of a country, as in 'Germany'",
        lambda text: re.fullmatch("[A-Z]{2}", text) is None,
        lambda said, text: f"write {said}_code == '{text}'" if said.endswith("country") else None,
    ),
    "hash": _made(
        "64 digits in small letters",
        _regex("[0-9a-f]{64}"),
        _write(str.lower),
        part=_regex("[0-9a-f]{0,64}"),
        numbers=True,
    ),
    "email": _sent(
        "an e-mail address",
        lambda text: "@" in text[1:],
        lambda said, text: _of_domain(said, text.removeprefix("@")),
        begin=lambda text: not text.startswith("@"),
    ),
    "ip": _sent(
        "an IP address",
        _is_address,
        lambda said, text: f"write cidr({said}, '{text}')" if "/" in text else None,
        part=_regex(r"[0-9a-fA-F.:]*"),
    ),
    "url": _sent(
        "the address of a page",
        lambda text: "/" in text or ":" in text,
        _of_domain,
    ),
}


def misfits(name: str | None, text: str, place: str = "whole") -> Format | None:
    """The format, if no text of it is this, or has this at the `place`."""
    found = FORMATS.get(name or "")
    return None if found is None or getattr(found, place)(text) else found


def differ(a: str | None, b: str | None) -> bool:
    """Whether no text of the one is one of the other."""
    return {a, b} in ({"date", "timestamp"}, {"day", "timestamp"})
