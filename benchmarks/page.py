"""
What docs/dev/benchmarks.md says in figures: its tables, and what they mean for sizing.

Both are made from a run's file, so that the page never says anything that was not measured.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import table
from benchmarks.figures import Figures

ROOT = Path(__file__).parents[1]
COMMITTED = ROOT / "benchmarks" / "figures.json"
PICTURE = ROOT / "docs" / "pictures" / "benchmarks.svg"
PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
SIZING, MEASURED, END = "<!-- sizing -->\n", "<!-- measured -->\n", "<!-- end -->\n"
MIB = 1024 * 1024


def filled(page: str, found: Figures) -> str:
    """The page with its two made parts made anew."""
    page = put(page, SIZING, sizing(found))
    return put(page, MEASURED, tables(found))


def put(page: str, mark: str, made: str) -> str:
    """
    What stands between this mark and the next end is replaced.

    Raises:
        ValueError: the mark, or an end after it, is not on the page.
    """
    before, found, rest = page.partition(mark)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"no {mark.strip()} with an {END.strip()}")
    return f"{before}{mark}\n{made}\n{END}{after}"


def tables(found: Figures) -> str:
    told = f"{found.machine}. Each load lasted {found.seconds} s, {found.rounds} rounds."
    parts = [f"### {name}\n\n{table.whole(rows)}" for name, rows in found.rows.items()]
    return "\n".join([told + "\n", *parts])


def sizing(found: Figures) -> str:
    """One line for each question that the figures answer; unanswered ones are left out."""
    lines = [f"| {question} | {answer} |" for question, answer in answers(found)]
    return "\n".join(["| question | answer |", "|---|---|", *lines]) + "\n"


def answers(found: Figures) -> Iterator[tuple[str, str]]:
    for question, names, told in QUESTIONS:
        figures = [one for name in names if (one := found.figure(name)) is not None]
        if len(figures) == len(names):
            yield question, told(*figures)


# -- what is told, from the figures of the rows that are named -------------------------------------


def _rate(rate: float) -> str:
    return f"{_count(rate)} a second at full load; plan for half of it, {_count(rate / 2)}"


def _core(micros: float) -> str:
    return (
        f"one delivery takes {_count(micros)} µs of processor time, so a core of its own does "
        f"{_count(1e6 / micros)} a second; most of it is one interpreter, which more than two "
        "cores do not make quicker"
    )


def _sync(commit: float, answer: float) -> str:
    return (
        f"one synced commit takes {_ms(commit)} here, and an answer at 200 a second, which waits "
        f"for one, {_ms(answer)}; deliveries that come together share a commit, so a slow disk "
        "makes each answer later and takes much less from their number"
    )


def _waiting(*p99: float) -> str:
    told = (f"{_ms(one)} at {rate:,}/s" for rate, one in zip(RATES, p99, strict=True))
    return f"99 of 100 at most {', '.join(told)}"


def _rules(matching: float, ratio: float) -> str:
    return (
        f"with 10,000 that compare an event's own fields the rate is {ratio:.2f} of that with 10; "
        f"finding an event's rules among them takes {_count(matching)} µs"
    )


def _bodies(*rates: float) -> str:
    told = (f"{_count(r)}/s of {size}" for size, r in zip(SIZES, rates, strict=True))
    return f"{', '.join(told)}: count bytes, not deliveries, for large ones"


def _mail(single: float, thousands: float) -> str:
    return (
        f"{_count(single)} events a second one by one, {_count(thousands)} in batches of 1,000: "
        "let the sender batch"
    )


def _memory(idle: float, full: float) -> str:
    each = (full - idle) * MIB / 1e6
    return (
        f"{_count(idle)} MiB, and about {_count(each)} bytes for each waiting job "
        f"({_count(full)} MiB with a million); large bodies come on top"
    )


def _disk(whole: float, small: float) -> str:
    return (
        f"{_count(whole)} bytes for a delivery of 2 kB with its event, key, job and attempt, "
        f"{_count(small)} for a small one that waits; times what comes while they are kept"
    )


def _actions(http: float, shell: float, python: float) -> str:
    return (
        f"{_count(http)} HTTP calls a second, {_count(shell)} processes, {_count(python)} plugin "
        "calls, if what they call is as quick as ours"
    )


RATES = (200, 1_000, 2_000, 4_000)
SIZES = ("1 kB", "100 kB", "1 MB", "25 MiB")
QUESTIONS: tuple[tuple[str, tuple[str, ...], Callable[..., str]], ...] = (
    ("How many deliveries can one process keep?", ("durable accept and run",), _rate),
    ("And for each core?", ("processor time of one delivery",), _core),
    (
        "What does the disk's sync cost?",
        ("one synced commit of SQLite, p50", "ack at 200/s, p50"),
        _sync,
    ),
    (
        "How long does a sender wait?",
        tuple(f"ack at {rate:,}/s, p99" for rate in RATES),
        _waiting,
    ),
    (
        "How many rules?",
        ("matching among 10,000 rules", "ratio, 10,000 rules to 10"),
        _rules,
    ),
    ("What do large bodies cost?", tuple(f"bodies of {size}" for size in SIZES), _bodies),
    (
        "And email batches?",
        ("email batches of 1, events", "email batches of 1,000, events"),
        _mail,
    ),
    (
        "How much memory?",
        ("memory, idle", "memory, 1,000,000 jobs waiting, peak"),
        _memory,
    ),
    (
        "How much disk?",
        (
            "disk of one delivery, 2 kB, all records",
            "disk of a small delivery and its waiting job",
        ),
        _disk,
    ),
    (
        "How soon is a backlog gone?",
        (
            "HTTP dispatch from backlog",
            "shell from backlog, /bin/true",
            "python from backlog, a plugin of nothing",
        ),
        _actions,
    ),
)
"""Each question, the rows that answer it, and the answer as words about their figures."""


def _count(figure: float) -> str:
    """Two digits are enough to plan with."""
    rounded = float(f"{figure:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _ms(figure: float) -> str:
    rounded = float(f"{figure:.2g}")
    return f"{rounded:g} ms" if rounded < 1_000 else f"{rounded / 1_000:g} s"
