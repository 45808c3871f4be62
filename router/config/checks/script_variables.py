"""
The variables that a shell's script reads and does not set.

Not a parser of the shell: quotes, comments, here-documents and substitutions are told apart, and
everything that might set a variable counts as setting it. Where that is not enough, nothing is
said.
"""

import re
from collections.abc import Generator, Iterator

_ASSIGNED = re.compile(
    r"(?<![\w$])([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?="
    r"|\$\{([A-Za-z_]\w*):?="
    r"|\b(?:for|select)\s+([A-Za-z_]\w*)"
    r"|\bgetopts\s+\S+\s+([A-Za-z_]\w*)"
    r"|\bprintf\s+-v\s+([A-Za-z_]\w*)"
)
_DECLARED = re.compile(
    r"\b(?:read|readarray|mapfile|export|local|declare|typeset|readonly|unset)\b([^;&|<>()\n]*)"
)
_BEYOND = re.compile(r"(?:^|[;&|\s])(?:\.|source|eval)\s", re.MULTILINE)
"""What other files and texts set is not known."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_OWN = re.compile(
    "IFS|PWD|OLDPWD|OPTARG|OPTIND|PPID|PS[124]|LINENO|SHLVL|REPLY|E?UID|S?RANDOM|SECONDS|HOSTNAME"
    "|HOSTTYPE|OSTYPE|MACHTYPE|SHELL|TERM|DIRSTACK|FUNCNAME|GROUPS|PIPESTATUS|SHELLOPTS|COLUMNS"
    "|LINES|EPOCH(?:SECONDS|REALTIME)|BASH\\w*|_"
)
"""What shells set themselves."""
_VARIABLE = (
    r"(?P<braced>\$\{(?P<guard>[!#]?)(?P<name>[A-Za-z_]\w*)(?P<rest>[^}]{0,2}))"
    r"|(?P<plain>\$(?P<word>[A-Za-z_]\w*))"
)
_EXPANDED = re.compile(_VARIABLE)
_TOKEN = re.compile(
    r"(?P<escape>\\.)"
    r"|(?P<single>')"
    r"|(?P<double>\")"
    r"|(?P<comment>(?:(?<=[\s;(])|^)\#[^\n]*)"
    r"|(?P<here>(?<!<)<<-?[ \t]*(?P<mark>[\\'\"]?)(?P<tag>[A-Za-z_]\w*)[^\n]*\n)"
    rf"|{_VARIABLE}"
    r"|(?P<open>\$?\()"
    r"|(?P<close>\))",
    re.DOTALL | re.MULTILINE,
)


def variables_used(script: str) -> Iterator[tuple[str, int, int]]:
    """Each variable that is read without a fallback, and where first."""
    if _BEYOND.search(script):
        return
    known = set(_set_by(script))
    for found in _reads(script):
        name = found["name"] or found["word"]
        # With `${NAME-…}`, `:-`, `+`, `?` the script says itself what is to happen then.
        itself = found["guard"] or (found["rest"] or "").lstrip(":")[:1] in ("-", "+", "?", "=")
        if name not in known and not itself and not _OWN.fullmatch(name):
            known.add(name)
            yield name, found.start(), found.end()


def _set_by(script: str) -> Iterator[str]:
    for found in _ASSIGNED.finditer(script):
        yield from filter(None, found.groups())
    for found in _DECLARED.finditer(script):
        yield from _NAME.findall(found[1])
    if re.search(r"\bcoproc\b", script):
        yield "COPROC"


def _reads(script: str) -> Iterator[re.Match[str]]:
    """What the shell expands; `within` are the quotes and parentheses around a place."""
    within, at = "", 0
    while (found := _TOKEN.search(script, at)) is not None:
        at, kind = found.end(), found.lastgroup
        quoted = within.endswith('"')
        if kind in ("braced", "plain"):
            yield found
        elif kind == "double":
            within = within[:-1] if quoted else within + '"'
        elif kind == "open" and (not quoted or found[0] == "$("):
            within += "("
        elif quoted:
            at = found.start() + (2 if kind == "escape" else 1)
        elif kind == "close":
            if within and "case" in script:
                return  # its patterns end with a parenthesis that nothing opens
            within = within[:-1]
        elif kind == "single":
            at = script.find("'", at) + 1 or len(script)
        elif kind == "here":
            at = yield from _here_document(script, found)


def _here_document(script: str, found: re.Match[str]) -> Generator[re.Match[str], None, int]:
    """What is expanded in it, and where it ends."""
    last = re.compile(rf"^\t*{found['tag']}$", re.MULTILINE).search(script, found.end())
    end = last.end() if last else len(script)
    if not found["mark"]:
        yield from _EXPANDED.finditer(script, found.end(), end)
    return end
