"""Commands that do their worst: what each runs, and what must come of it."""

from typing import NamedTuple


class Command(NamedTuple):
    """`expected` is `done` or a class of failure; with `files` it is handed one."""

    expected: str
    argv: tuple[str, ...]
    files: bool = False


def _sh(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


def _python(script: str) -> tuple[str, ...]:
    return ("python3", "-S", "-c", script)


_FOLDER = "import os; os.chdir(os.path.dirname(os.environ['GIVEN'])); "
COMMANDS = {
    "floods": Command("timeout", _sh("yes")),
    "floods_both": Command("timeout", _sh("yes & yes >&2")),
    "one_line_without_end": Command("timeout", _sh("cat /dev/zero")),
    "drips": Command("timeout", _python("import os\nwhile True: os.write(1, b'x')")),
    "one_huge_line": Command("done", _python("print('x' * 50_000_000)")),
    "json_of_many_parts": Command("done", _python("print('[' + '[],' * 21_000 + '1]')")),
    "json_of_great_depth": Command("done", _python("print('[' * 60_000)")),
    "bytes_that_are_no_text": Command("done", _python("import os; os.write(1, b'\\xff' * 60_000)")),
    "never_ends": Command("timeout", _sh("sleep 600")),
    "ignores_signals": Command("timeout", _sh("trap '' TERM INT HUP; while :; do sleep 1; done")),
    "closes_its_pipes": Command("timeout", _sh("exec <&- >&- 2>&-; sleep 600")),
    "leaves_its_pipes_open": Command("done", _sh("sleep 20 & echo on")),
    "leaves_its_group": Command("timeout", _sh("setsid sleep 600 & sleep 600")),
    "starts_others_without_end": Command("timeout", _sh("while :; do true & done")),
    "starts_many": Command("timeout", _sh("for n in $(seq 300); do sleep 600 & done; sleep 600")),
    "starts_many_elsewhere": Command(
        "timeout",
        _sh("setsid sh -c 'for n in $(seq 1500); do sleep 60 & done' & sleep 60"),
    ),
    "stops_itself": Command("timeout", _sh("kill -STOP $$")),
    "kills_itself": Command("error", _sh("kill -KILL $$")),
    "fills_the_folder_it_is_given": Command(
        "done", _python(_FOLDER + "[open(str(n), 'w').close() for n in range(40_000)]"), files=True
    ),
    "nests_folders_without_end": Command(
        "done",
        _python(_FOLDER + "[(os.mkdir('d'), os.chdir('d')) for _ in range(3_000)]"),
        files=True,
    ),
    "makes_its_file_a_folder": Command(
        "done",
        _python(_FOLDER + "os.unlink('GIVEN'); os.makedirs('GIVEN/a/b')"),
        files=True,
    ),
}
