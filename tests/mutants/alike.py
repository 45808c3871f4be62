"""Changes that nobody can notice, each with the reason; every row must still fit its source."""

from dataclasses import dataclass

from tests.mutants.sites import Mutant


@dataclass(frozen=True)
class Alike:
    """
    In this function, on a line that reads `row`, `old` became `new`: nothing is different.

    The line stands here without its indentation; white space counts as one blank.
    """

    file: str
    within: str
    row: str
    old: str
    new: str
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        """Whether this row speaks of that change."""
        return (self.file, self.within, self.row, self.old, self.new) == (
            mutant.file.removeprefix("router/"),
            mutant.within,
            mutant.row,
            " ".join(mutant.old.split()),
            " ".join(mutant.new.split()),
        )


ALIKE = (
    Alike(
        "egress.py",
        "_carried",
        "if isinstance(address, IPv4Address):",
        "isinstance(address, IPv4Address)",
        "False",
        "an IPv4 address lies in no IPv6 range and has no bits above the 32nd: nothing is found",
    ),
    Alike(
        "web/admin/browsers.py",
        "header",
        'return values[0].decode("latin-1") if values else None',
        "0",
        "(-1)",
        "there is one value: two have been refused by then, so the first is the last",
    ),
    Alike(
        "web/pages/window.py",
        "Window._login",
        'onward = local(form.get("next", "/"))',
        '"/"',
        "'not /'",
        "what is no path of ours becomes the first page, and so does nothing",
    ),
    Alike(
        "providers/signatures.py",
        "hmac_digest",
        "if len(part) <= SMALL_BYTES:",
        "len(part) <= SMALL_BYTES",
        "(len(part) < SMALL_BYTES)",
        "in pieces or whole, the digest is the same; only its cost differs",
    ),
    Alike(
        "providers/verify.py",
        "Verifier.verify",
        "if self._only is not None:",
        "self._only is not None",
        "False",
        "of one way alone the first good verdict, or the nearest refusal, is that way's own",
    ),
    Alike(
        "store/accepting.py",
        "_insert_special",
        "runs.add(book, new, rows[0][11], effects)",
        "0",
        "(-1)",
        "every row of one delivery bears the same time",
    ),
    Alike(
        "store/accepting.py",
        "_insert_special",
        "new = runs.New(jobs, [rows[i] for i in places], jobs[0].turn)",
        "0",
        "(-1)",
        "the jobs of one run have one turn",
    ),
    Alike(
        "store/accepting.py",
        "_claim",
        "if not claims:",
        "not claims",
        "False",
        "nothing to claim is nothing to insert: all of none were free; only its cost differs",
    ),
    Alike(
        "store/pruning.py",
        "_times",
        '"finished": retain.finished_before or 0,',
        "0",
        "(-1)",
        "nothing was received before 1970",
    ),
    Alike(
        "store/holding.py",
        "_hold",
        "if not names:",
        "not names",
        "False",
        "of no names nothing is held: two statements that change nothing",
    ),
    Alike(
        "store/adding.py",
        "_origins",
        "if not asked or book.next_run == 1:",
        "not asked or book.next_run == 1",
        "False",
        "of no jobs, or in a store without runs, no run is found: a statement that finds nothing",
    ),
    Alike(
        "rules/plan.py",
        "Plan",
        "class Plan(msgspec.Struct, frozen=True):",
        "True",
        "False",
        "nobody writes to a plan; that nobody may is for whoever changes the code",
    ),
)


def reason_of(mutant: Mutant) -> str | None:
    """Why nobody can notice this change; None: somebody should."""
    return next((one.reason for one in ALIKE if one.is_of(mutant)), None)
