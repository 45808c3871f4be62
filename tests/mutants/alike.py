"""Changes that nobody can notice, each with the reason; every row must still fit its source."""

from dataclasses import dataclass

from router.store.sqlite import pruning
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


_UNNAMED = f'""" {" ".join(pruning._UNNAMED.split())} """'
_TABLES = {"d": "deliveries", "j": "jobs", "a": "attempts"}

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
        "web/admin/token_throttle.py",
        "TokenThrottle.wait_s",
        "return math.ceil(left) if left > 0 and len(window.tried) >= ALLOWED else 0",
        "left > 0",
        "(left >= 0)",
        "at no time left the whole seconds of it are 0",
    ),
    Alike(
        "web/pages/request.py",
        "cookie",
        "return found[0] if len(found) == 1 else None",
        "0",
        "(-1)",
        "of one value the first is the last",
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
        "web/pages/login.py",
        "Login.begin",
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
        "providers/signatures.py",
        "hmac_check.check",
        "return equal(right, signatures[0])",
        "0",
        "(-1)",
        "of one signature the first is the last",
    ),
    Alike(
        "providers/verify.py",
        "Verifier.__init__",
        "self._only = self._schemes[0] if len(self._schemes) == 1 else None",
        "0",
        "(-1)",
        "of one way the first is the last",
    ),
    Alike(
        "providers/bearer.py",
        "_from_json",
        'if not isinstance(entry, dict) or "d" in entry:',
        '"d"',
        "'not d'",
        "a private key that is read is of no public kind, and refused for that",
    ),
    Alike(
        "providers/signatures.py",
        "",
        "_PIECE = 2_047",
        "2_047",
        "(2046)",
        "in which pieces a part is hashed, its digest is the same; only its cost differs",
    ),
    Alike(
        "providers/signed.py",
        "message_template",
        'parts.append(MessagePart("text", piece.encode("ascii")))',
        '"text"',
        "'not text'",
        "what is no body and no header stands there as it is, whatever its kind is called",
    ),
    Alike(
        "providers/signed.py",
        "message_template",
        "elif piece:",
        "piece",
        "True",
        "between two placeholders stands no text: a part of no bytes changes no digest",
    ),
    Alike(
        "providers/verify.py",
        "Verifier.judge",
        "if self._only is not None:",
        "self._only is not None",
        "False",
        "of one way alone the first good verdict, or the nearest refusal, is that way's own",
    ),
    Alike(
        "store/sqlite/accepting.py",
        "_insert_special",
        "runs.at_once(changes.add(NewRun(jobs, [rows[i] for i in places], jobs[0].turn)))",
        "0",
        "(-1)",
        "the jobs of one run have one turn",
    ),
    Alike(
        "store/sqlite/accepting.py",
        "_claim",
        "if taken != total:",
        "taken != total",
        "True",
        "judged one by one, what was free is accepted all the same; only its cost differs",
    ),
    Alike(
        "store/sqlite/accepting.py",
        "_claim",
        "if claims:",
        "claims",
        "True",
        "nothing to claim is nothing to insert: all of none were free; only its cost differs",
    ),
    Alike(
        "store/sqlite/accepting.py",
        "_NewRows.insert",
        "if running:",
        "running",
        "True",
        "where no job was handed over, what is remembered later is nothing",
    ),
    Alike(
        "store/sqlite/accepting.py",
        "_insert_special",
        "if not changes.cancelled or isinstance(receipt, Duplicate):",
        "not changes.cancelled or isinstance(receipt, Duplicate)",
        "(not changes.cancelled and isinstance(receipt, Duplicate))",
        "jobs of a copy never come here, and a receipt with nothing cancelled put in is as it was",
    ),
    Alike(
        "store/sqlite/pruning.py",
        "_Ages.__init__",
        "finished = retain.finished_before or 0",
        "0",
        "(-1)",
        "nothing was received before 1970",
    ),
    *(
        Alike(
            "store/sqlite/leasing.py",
            "",
            "_BATCH = 16",
            "16",
            new,
            "how many go into one statement: what is found is the same, only its cost differs",
        )
        for new in ("(15)", "(17)")
    ),
    Alike(
        "store/sqlite/accepting.py",
        "accept_of_dead",
        "if owns:",
        "owns",
        "True",
        "to accept nothing is to store nothing: only its cost differs",
    ),
    *(
        Alike(
            "store/sqlite/pruning.py",
            "",
            "EVERYTHING = 1 << 40",
            "40",
            new,
            "no store has so many deliveries, nor half of them",
        )
        for new in ("(39)", "(41)")
    ),
    *(
        Alike(
            "store/sqlite/pruning.py",
            "",
            '_UNNAMED = """',
            _UNNAMED,
            _UNNAMED.replace(there, there.replace("1", "2")),
            "whether there is a row is all that is asked: not what is in it, nor how many",
        )
        for table, number in (("d", "d.n"), ("j", "j.n"), ("a", "a.job"))
        for there in (
            f"(SELECT 1 FROM {_TABLES[table]} {table} ",  # noqa: S608 - a text to be found
            f"ORDER BY {number} DESC LIMIT 1) IS NULL",
        )
    ),
    *(
        Alike(
            "dispatch/breaker.py",
            "Breaker._fail",
            "wait = min(FIRST_WAIT_MS * 2 ** min(self.openings, 10), LONGEST_WAIT_MS)",
            "10",
            new,
            "after five openings the wait is the longest; the bound only keeps the number small",
        )
        for new in ("(9)", "(11)")
    ),
    *(
        Alike(
            "store/sqlite/leasing.py",
            within,
            "raise",
            "raise",
            "pass",
            "what follows finds no job to put aside, and raises it; until then all is rolled back",
        )
        for within in ("lease", "recover")
    ),
    *(
        Alike(
            "store/sqlite/pruning.py",
            "",
            '_UNNAMED = """',
            _UNNAMED,
            _UNNAMED.replace(f"+ 1) << 20 AND {table}.", f"+ 2) << 20 AND {table}."),
            "behind the last delivery that names a generation nothing names it",
        )
        for table in ("j", "a")
    ),
    *(
        Alike(
            "store/sqlite/pruning.py",
            "",
            '_UNNAMED = """',
            _UNNAMED,
            _UNNAMED.replace(f"ORDER BY {number} DESC", f"ORDER BY {number}"),
            "from whichever end it is looked for, it is found or not: only its cost differs",
        )
        for number in ("d.n", "j.n", "a.job")
    ),
    Alike(
        "store/sqlite/writer.py",
        "Writer.close",
        "self._thread.join()",
        "self._thread.join()",
        "pass",
        "the thread has told that it is done by then, and nothing but its end follows",
    ),
    Alike(
        "store/sqlite/writer.py",
        "Writer._finish",
        "if book.copies:",
        "book.copies",
        "True",
        "to write no counts changes no row: only its cost differs",
    ),
    *(
        Alike(
            "store/sqlite/writer.py",
            "_code",
            'return int(getattr(error, "sqlite_errorcode", 0))',
            "0",
            new,
            "an error without a code: neither of these is the code of a fault of the disk",
        )
        for new in ("(-1)", "(1)")
    ),
    Alike(
        "store/sqlite/adding.py",
        "_add",
        'alone = unit.jobs[0].state != "waiting"',
        "0",
        "(-1)",
        "a unit that is no run is one job: the first is the last",
    ),
    Alike(
        "actions/http.py",
        "HttpAction._lookup_for.Resolver.resolve",
        "del family  # every address of the name; the connector tries them in turn",
        "del family",
        "pass",
        "a name that is not used any more",
    ),
    Alike(
        "store/sqlite/writer.py",
        "_alone",
        'book.db.execute("RELEASE item")',
        'book.db.execute("RELEASE item")',
        "pass",
        "the end of the transaction releases it, and until then the latest of its name counts",
    ),
    Alike(
        "actions/plain_http/response.py",
        "errno_words",
        'return f": {os.strerror(number).lower()}" if number and number > 0 else ""',
        "0",
        "(-1)",
        "of whole numbers that are not 0, those above -1 are those above 0",
    ),
    Alike(
        "store/sqlite/holding.py",
        "_hold",
        "if names",
        "names",
        "True",
        "of no names nothing is held: two statements that change nothing",
    ),
    Alike(
        "store/sqlite/adding.py",
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
