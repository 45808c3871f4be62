"""`router completion install`: the shell's script where that shell looks for it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import quote

from router.errors import UsageError, os_errors_refused

SHELLS = ("bash", "zsh", "fish")
MARK = "# router completion"
"""The end of the one line that is added to a shell's own file."""


def install(
    shell: str | None, script: Callable[[str], str], environ: Mapping[str, str]
) -> Iterator[str]:
    """
    Keep the script of this shell, else of SHELL, and have the shell read it: what was done, and
    how it is undone. A second time it renews the script and adds nothing.

    Raises:
        UsageError: it is none of SHELLS, or a file cannot be written.
    """
    chosen = shell or Path(environ.get("SHELL", "")).name
    if chosen not in SHELLS:
        raise UsageError(
            f"your shell cannot be told from SHELL={environ.get('SHELL', '')!r}; "
            f"name one: `router completion install {'|'.join(SHELLS)}`"
        )
    kept, reader = _places(chosen, environ)
    with os_errors_refused(f"cannot write {kept}"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(script(chosen), "utf-8")
    yield f"wrote {kept}"
    if reader is None:
        yield f"new shells complete `router`; to undo: rm {quote(str(kept))}"
        return
    with os_errors_refused(f"cannot write {reader}"):
        added = _read_by(reader, f"{_BEFORE[chosen]}. {quote(str(kept))}  {MARK}")
    yield f"{'added a line to' if added else 'it is read already by'} {reader}"
    yield (
        f"new shells complete `router`; to undo: remove the line that ends in `{MARK}` from "
        f"{reader}, and rm {quote(str(kept))}"
    )


_BEFORE = {
    "bash": "",
    # Its completions are there once `compinit` has run, which not everybody's file does.
    "zsh": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; ",
}


def _places(shell: str, environ: Mapping[str, str]) -> tuple[Path, Path | None]:
    """Where the script is kept, and the shell's own file that must read it; fish looks itself."""
    home = Path(environ.get("HOME") or Path.home())
    if shell == "fish":
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return config / "fish" / "completions" / "router.fish", None
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    own = home / ".bashrc" if shell == "bash" else Path(environ.get("ZDOTDIR") or home) / ".zshrc"
    return data / "router" / f"completion.{shell}", own


def _read_by(reader: Path, line: str) -> bool:
    """Whether the line had to be added."""
    text = reader.read_text("utf-8", "replace") if reader.exists() else ""
    if line in text.splitlines():
        return False
    with reader.open("a", encoding="utf-8") as file:
        file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
    return True
