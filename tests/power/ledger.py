"""How many random bugs of each package the tests catch, and whether that has become worse."""

import json
from collections.abc import Iterable, Mapping
from math import comb
from pathlib import Path
from typing import NamedTuple

LEDGER = Path(__file__).with_name("ledger.json")
LEVEL = 0.01
AREAS = {
    "ledger": "store dispatch serving actions plugin_host model intake",
    "road": "cli operator api wiring web log metrics",
    "language": "config expressions typing rules kinds rehearsal yaml_source",
    "rest": "providers provider_calls diagnosis top",
}
"""What is compared: a single package has too few bugs to show more than noise."""


class Rate(NamedTuple):
    """
    Of `drawn` bugs `caught` were caught, and `unreached` are reached by no test.

    `seed` drew them at `commit`; for each at most `tries` tests were tried.
    """

    caught: int
    drawn: int
    unreached: int
    seed: int
    tries: int
    commit: str


Counts = tuple[int, int]
"""Caught, drawn."""


def chance(now: Counts, first: Counts) -> float:
    """How likely so few or fewer are caught now if nothing has changed: Fisher's exact test."""
    caught = now[0] + first[0]
    fewer = range(max(0, caught - first[1]), now[0] + 1)
    ways = sum(comb(now[1], k) * comb(first[1], caught - k) for k in fewer)
    return ways / comb(now[1] + first[1], caught)


def areas(rates: Mapping[str, Rate]) -> dict[str, Counts]:
    """Return the counts of each area, and of all packages together."""
    each = {area: _pooled(rates, names.split()) for area, names in AREAS.items()}
    return each | {"all": _pooled(rates, rates)}


def _pooled(rates: Mapping[str, Rate], packages: Iterable[str]) -> Counts:
    some = [rates[name] for name in packages if name in rates]
    return sum(rate.caught for rate in some), sum(rate.drawn for rate in some)


def in_no_area(packages: Iterable[str]) -> set[str]:
    return set(packages) - {name for names in AREAS.values() for name in names.split()}


def fallen(now: Mapping[str, Rate], first: Mapping[str, Rate]) -> list[str]:
    """The areas that have become worse than in the first ledger, in words."""
    return [
        f"{area}: {new[0]} of {new[1]} caught, at first {old[0]} of {old[1]};"
        f" chance alone does this in {chance(new, old):.2%} of cases, under {LEVEL:.0%}"
        for (area, new), old in zip(areas(now).items(), areas(first).values(), strict=True)
        if chance(new, old) < LEVEL
    ]


def read(place: Path = LEDGER) -> tuple[dict[str, Rate], dict[str, Rate]]:
    """Return the first rates, and the latest rate of each package."""
    kept = json.loads(place.read_text("utf-8")) if place.exists() else {"first": {}, "later": {}}
    first, later = ({k: Rate(**v) for k, v in kept[part].items()} for part in ("first", "later"))
    return first, first | later


def write(rates: Mapping[str, Rate], place: Path = LEDGER) -> None:
    """Keep these rates, a line a package: as the first ones if there are none."""
    first, latest = read(place)
    parts = {"first": first or rates, "later": {**latest, **rates} if first else {}}
    rows = {
        part: [f'    "{k}": {json.dumps(v._asdict())}' for k, v in sorted(some.items())]
        for part, some in parts.items()
    }
    texts = [f'  "{part}": {{\n' + ",\n".join(some) + "\n  }" for part, some in rows.items()]
    place.write_text("{\n" + ",\n".join(texts) + "\n}\n", "utf-8")
