"""`router check --fix`: what has one right answer, as a diff, and after a yes in the files."""

from collections.abc import Iterable, Iterator
from difflib import unified_diff
from pathlib import Path

import click

from router.cli.consent import Consent, refuse_silence
from router.cli.files import write_whole
from router.cli.options import Options
from router.cli.output import counted, note
from router.config.fixing import Fixed, fixed
from router.errors import UsageError, os_errors_refused
from router.legible import visible
from router.wiring.rules import read_text
from router.yaml_source.credentials import without_secrets

_MARK = b"\xef\xbb\xbf"


def fix_files(places: Iterable[Options], consent: Consent, *, quiet: bool) -> None:
    """
    Mend the rules files and what they include; `quiet` shows no diff, and so needs a `--yes`.

    Raises:
        UsageError: not a terminal, and no `--yes`; or a file cannot be read or written.
    """
    texts: dict[str, str] = {}
    done = 0
    for place in places:
        mended = _mended(place, texts)
        texts |= mended.texts
        done += len(mended.done)
        for d in mended.refused:
            note(f"{d.file}:{d.line}:{d.column}: left as it is: {d.hint} — that alone helps not")
    before = {file: read_text(Path(file)) for file in texts}
    if not quiet:
        for file, text in texts.items():
            click.echo("".join(_diff(file, before[file], text)), nl=False)
    if consent.dry_run:
        raise click.exceptions.Exit(0)
    if not texts:
        return
    if not consent.yes:
        refuse_silence(quiet=quiet)
        click.confirm("Write these changes?", abort=True)
    for file, text in texts.items():
        _write(Path(file), before[file], text)
    note(f"{counted(done, 'finding')} fixed in {', '.join(texts)}")


def _mended(place: Options, texts: dict[str, str]) -> Fixed:
    return fixed(
        lambda file: texts[file] if file in texts else read_text(Path(file)),
        lambda changed: (
            place.loaded(thorough=True, tests=True, changed=texts | dict(changed)).diagnostics
        ),
    )


def _diff(file: str, before: str, after: str) -> Iterator[str]:
    """Only lines that change: those around them may hold what is nobody's business."""
    old, new = (text.splitlines() for text in (before, after))
    for line in unified_diff(old, new, file, file, n=0, lineterm=""):
        yield f"{visible(without_secrets(line))}\n"


def _write(path: Path, before: str, after: str) -> None:
    """The file itself, also behind a link, with its mode and mark."""
    with os_errors_refused(f"cannot write {path}"):
        real = path.resolve(strict=True)
        data = real.read_bytes()
        mark = _MARK if data.startswith(_MARK) else b""
        if data != mark + before.encode("utf-8"):
            raise UsageError(f"{path} has changed meanwhile; nothing of it is written")
        write_whole(real, mark + after.encode("utf-8"), real.stat().st_mode & 0o7777)
