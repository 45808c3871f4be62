"""The programs and folders that shell actions name: are they where the file says?"""

import os
from pathlib import Path

from router.config.context import LoadContext
from router.config.schema import ShellEntry
from router.yaml_source import SourceText


def check_programs(context: LoadContext) -> None:
    """
    Warn of folders and programs that are given as relative paths and are not there.

    Names without a slash are looked for when they run, and absolute paths belong to the machine
    that runs them: of both nothing can be told here.
    """
    for rule in context.file.rules or ():
        for action in rule.actions or ():
            if action.shell is not None:
                _check(context, action.shell)


def _check(context: LoadContext, entry: ShellEntry) -> None:
    folder = context.folder / entry.cwd.value if entry.cwd else context.folder
    if entry.cwd is not None and not folder.is_dir():
        if not entry.cwd.value.startswith("/"):
            message = f"there is no folder '{entry.cwd.value[:60]}'"
            context.warning("folder-not-there", message, entry.cwd, "relative to this file")
        return
    for words in (entry.argv, entry.interpreter):
        if words:
            _program(context, words[0], folder)


def _program(context: LoadContext, word: SourceText, folder: Path) -> None:
    name = word.value
    if "/" not in name or name.startswith("/") or "{{" in name:
        return
    file = folder / name
    if not file.is_file():
        message, hint = f"there is no program '{name[:60]}'", "relative to 'cwd', else to this file"
    elif not os.access(file, os.X_OK):
        message, hint = f"'{name[:60]}' cannot be run", f"chmod +x {name[:60]}"
    else:
        return
    context.warning("program-not-there", message, word, hint)
