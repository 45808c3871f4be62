"""
What time tells: does a wrong signature take longer the later it is wrong, an address longer the
nearer it is to an endpoint's?

    python -m tests.faults.timing --pairs 1000000

In this process, through the router's own code: two kinds of request that differ only in what must
not show are timed in turn, in an order drawn anew each time, and their times compared by Welch's t
(as dudect does), whole and cropped at percentiles so that a scheduler's hiccup outweighs nothing. A
difference shows from |t| = 4.5 on, or from three times what the machine makes of requests of which
neither is nearer. As a check of the check, a comparison that stops at the first difference is
measured too, and must show.
"""

import argparse
import gc
import hashlib
import hmac
import math
import random
import sys
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from router.model.delivery import InboundRequest, LiveSecret
from router.model.settings import Endpoint
from router.providers import Provider, builtin
from router.rules.live import LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from tests.builders import a_ruleset
from tests.faults.telling import say, verdict

LIMIT = 4.5
ABOVE_NOISE = 3.0
PERCENTILES = (1.0, 0.999, 0.99, 0.95, 0.9, 0.75, 0.5)
WARM_UP = 2_000
CHUNK = 50_000
NOW_MS = 1_705_312_200_000
KEY = b"a-secret-of-some-length"
BODY = b'{"id": 1, "total": "12.50"}'

Times = tuple["array[int]", "array[int]"]
"""Nanoseconds of the one kind, and of the other."""
Make = Callable[[int], Any]
"""What a request of one kind brings, made anew each time; the number picks among equals."""


@dataclass(frozen=True)
class Question:
    """
    What is done with two kinds of request, whose times must not differ; `shows`: those must,
    None: those may.

    Both go the same way, from being made to the last, and are made by the same code: else where
    things happen to lie in memory would be measured.
    """

    name: str
    act: Callable[[Any], object]
    one: Make
    other: Make
    shows: bool | None = False


def welch(one: Sequence[float], other: Sequence[float]) -> float:
    """Welch's t of two samples; 0 where there is nothing to compare."""
    if min(len(one), len(other)) < 2:
        return 0.0
    (mean, spread), (mean_, spread_) = _moments(one), _moments(other)
    error = math.sqrt(spread / len(one) + spread_ / len(other))
    return 0.0 if error == 0 else (mean - mean_) / error


def _moments(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)


def cropped(one: Sequence[float], other: Sequence[float]) -> dict[float, float]:
    """t with both samples cut at the same percentile of all, for each percentile."""
    together = sorted([*one, *other])
    found = {}
    for share in PERCENTILES:
        limit = together[min(len(together) - 1, int(share * len(together)))]
        found[share] = welch([v for v in one if v <= limit], [v for v in other if v <= limit])
    return found


def measured(question: Question, pairs: int, rng: random.Random) -> Times:
    """Nanoseconds of each request, a pair of both kinds at a time, in an order drawn each time."""
    times = array("q"), array("q")
    made, act, clock = (question.one, question.other), question.act, time.perf_counter_ns
    for number in range(WARM_UP):
        act(made[number % 2](number))
    enabled = gc.isenabled()
    gc.disable()
    try:
        for number in range(pairs):
            first = rng.random() < 0.5
            for kind in (first, not first):
                given = made[kind](number)
                began = clock()
                act(given)
                times[kind].append(clock() - began)
            if number % CHUNK == 0:
                gc.collect()
    finally:
        if enabled:
            gc.enable()
    return times


# -- what is asked ---------------------------------------------------------------------------------


def signature(right: bytes, at: int) -> bytes:
    """A signature with one bit wrong, in the byte at this place."""
    raw = bytearray(right)
    raw[at] ^= 1
    return bytes(raw)


def wrong_byte(header: str, write: Callable[[bytes], str], algorithm: str = "sha256") -> Question:
    """First against last byte of an HMAC wrong, for the sender that shows it in this header."""
    right = hmac.new(KEY, BODY, algorithm).digest()
    provider = _provider(header)
    first, last = (write(signature(right, at)) for at in (0, len(right) - 1))
    return Question(
        f"{provider.name}: first or last byte of the signature wrong",
        _judge(provider),
        partial(_request, header, first),
        partial(_request, header, last),
    )


def token_question() -> Question:
    """A token that shares its beginning with the secret, against one that shares nothing."""
    provider = builtin()["gitlab"]
    near, far = (KEY[:-1] + b"X").decode(), "X" * len(KEY)
    return Question(
        "gitlab: a token that is nearly the secret, or not at all",
        _judge(provider),
        partial(_request, "X-Gitlab-Token", near),
        partial(_request, "X-Gitlab-Token", far),
    )


ADDRESSES = 199


def addresses(seed: str) -> list[bytes]:
    """Unguessable ones, always the same for a seed."""
    names = [hashlib.sha256(f"{seed}{n}".encode()).hexdigest()[:32] for n in range(ADDRESSES)]
    return [f"/wh_{name}".encode() for name in names]


def endpoint_question() -> Question:
    """An address that is there and one that is not: no secret, for one is answered 401, one 404."""
    known, unknown = addresses("known"), addresses("unknown")
    return Question(
        "an endpoint that is there, or not",
        _endpoints().get,
        partial(_whole, known),
        partial(_whole, unknown),
        shows=None,
    )


def near_endpoint_question() -> Question:
    """Unknown addresses that are known ones but for their ends, against some that are like none."""
    near, far = ([address[:-4] for address in addresses(seed)] for seed in ("known", "unknown"))
    # Few are asked for twice: a table's look-up takes as long as the one address happens to take.
    return Question(
        "an address that is nearly an endpoint's, or not at all",
        _endpoints().get,
        partial(_ended, near),
        partial(_ended, far),
    )


def _whole(texts: Sequence[bytes], number: int) -> bytes:
    return bytes(bytearray(texts[number % ADDRESSES]))


def _ended(heads: Sequence[bytes], number: int) -> bytes:
    return b"%b%04x" % (heads[number % ADDRESSES], number * 40_503 & 0xFFFF)


def _endpoints() -> Mapping[bytes, Any]:
    """The table in which the public listener looks addresses up."""
    endpoints = {
        f"e{n}": Endpoint(f"e{n}", "github", (address.decode(),), ("shop",))
        for n, address in enumerate(addresses("known"))
    }
    return LiveRuleset(_ruleset(endpoints), SecretValues({"shop": KEY}, {"shop": None})).by_path


def equals() -> tuple[Question, ...]:
    """How much shows between kinds of which neither is nearer: what the machine itself adds."""
    one, other = ([address[:-4] for address in addresses(seed)] for seed in ("far", "unknown"))
    return (
        Question(
            "noise: two tokens that are not the secret at all",
            _judge(builtin()["gitlab"]),
            partial(_request, "X-Gitlab-Token", "Y" * len(KEY)),
            partial(_request, "X-Gitlab-Token", "X" * len(KEY)),
            shows=None,
        ),
        Question(
            "noise: addresses that are like none",
            _endpoints().get,
            partial(_ended, one),
            partial(_ended, other),
            shows=None,
        ),
    )


def control() -> Question:
    """What must show: a comparison in Python that stops at the first difference."""
    right = hmac.new(KEY, BODY, "sha256").digest()

    def leaks(given: bytes) -> bool:
        return all(a == b for a, b in zip(given, right, strict=True))

    first, last = signature(right, 0), signature(right, len(right) - 1)
    return Question(
        "control: a comparison that stops at the first difference",
        leaks,
        partial(_whole, [first] * ADDRESSES),
        partial(_whole, [last] * ADDRESSES),
        shows=True,
    )


def questions() -> tuple[Question, ...]:
    """All that is measured."""
    import base64  # noqa: PLC0415 - here alone

    return (
        wrong_byte("X-Hub-Signature-256", lambda raw: "sha256=" + raw.hex()),
        wrong_byte("X-Shopify-Hmac-Sha256", lambda raw: base64.b64encode(raw).decode()),
        token_question(),
        endpoint_question(),
        near_endpoint_question(),
        *equals(),
        control(),
    )


def _provider(header: str) -> Provider:
    return builtin()["github" if "Hub" in header else "shopify"]


def _request(header: str, text: str, _number: int) -> InboundRequest:
    headers = (
        (header.lower().encode(), text.encode()),
        (b"x-github-event", b"push"),
        (b"x-shopify-topic", b"orders/paid"),
        (b"content-type", b"application/json"),
    )
    return InboundRequest("POST", b"/wh_x", b"", headers, BODY, "192.0.2.1", NOW_MS)


def _judge(provider: Provider) -> Callable[[Any], object]:
    secrets, verify = [LiveSecret("main", KEY)], provider.verify
    return lambda request: verify(request, secrets, now_ms=NOW_MS)


def _ruleset(endpoints: Mapping[str, Endpoint]) -> Ruleset:
    return a_ruleset(endpoints=dict(endpoints), providers={"github": builtin()["github"]})


# -- telling ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The largest |t| of a question, that of all times uncut, and both medians in nanoseconds."""

    question: Question
    most: float
    whole: float
    share: float
    medians: tuple[int, int]

    def right(self, noise: float) -> bool:
        """Whether it is as it must be, where the machine itself makes a difference of `noise`."""
        shows = self.most >= max(LIMIT, ABOVE_NOISE * noise)
        return self.question.shows in (None, shows)

    def __str__(self) -> str:
        cut = f"{self.most:8.2f} at most (up to the {self.share:.1%} quantile)"
        one, other = self.medians
        return (
            f"|t| {self.whole:6.2f} whole, {cut}, medians {one}, {other} ns  {self.question.name}"
        )


def answered(question: Question, times: Times) -> Answer:
    """What the times of both kinds say."""
    scores = cropped(*times)
    share, most = max(scores.items(), key=lambda item: abs(item[1]))
    one, other = (sorted(each)[len(each) // 2] for each in times)
    return Answer(question, abs(most), abs(scores[1.0]), share, (one, other))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--only", default="", metavar="TEXT", help="whose name holds this")
    options = parser.parse_args()
    say(f"seed {options.seed}, {options.pairs:,} pairs each")
    answers: list[Answer] = []
    began = time.monotonic()
    for question in (one for one in questions() if options.only in one.name):
        times = measured(question, options.pairs, random.Random(options.seed))
        answers.append(answered(question, times))
        say(str(answers[-1]))
    noise = max((a.most for a in answers if a.question.name.startswith("noise")), default=0.0)
    if noise >= LIMIT:
        say(f"this machine makes a difference of {noise:.2f} by itself: only more can be told")
    problems = [
        f"{a.question.name}: {'does not show' if a.question.shows else 'it shows'}"
        for a in answers
        if not a.right(noise)
    ]
    return verdict(problems, f"{time.monotonic() - began:.0f} s, {len(problems)} problems")


if __name__ == "__main__":
    sys.exit(main())
