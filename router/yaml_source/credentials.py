"""Secrets that somebody wrote into a file: where they are, and how a text is shown without them."""

import re
from collections.abc import Iterator

_PASSWORD = re.compile(
    r"postgres(?:ql)?://[^\s/?#@:]{0,200}:(\S{1,200})(?=@)"  # with a slash that nobody encoded
    r"|://[^\s/?#@:]{0,200}:([^\s/]{1,200})(?=@)"
    r"|[?&](?:ssl)?password=([^\s&\"']+)"
)
_FORMATS = re.compile(
    r"\b(gh[opsur]_[A-Za-z0-9]{30,255}|github_pat_\w{22,255}|glpat-[\w-]{20,64}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,255}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{16,255}|xapp-[A-Za-z0-9-]{16,255}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|SG\.[\w-]{16,64}\.[\w-]{16,64}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"
    r"|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|dop_v1_[0-9a-f]{64}|sk-(?:ant-|proj-)?[\w-]{32,255}"
    r"|eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10,2000})"
    r"|hooks\.slack\.com/(?:services|workflows|triggers)/T[\w/]{6,64}/([A-Za-z0-9]{16,64})"
    r"|discord(?:app)?\.com/api/webhooks/\d{6,32}/([\w-]{32,128})"
    r"|-----BEGIN[ A-Z]{1,32}PRIVATE KEY-----([A-Za-z0-9+/=\s\\]{32,8000})"
)
"""Keys that can be told by how they look."""
_FORMAT_SIGNS = (
    *(f"gh{kind}_" for kind in "opsur"),
    *(f"{kind}k_{mode}_" for kind in "rs" for mode in ("live", "test")),
    *(f"shp{kind}_" for kind in ("at", "ss", "ca", "pa")),
    *("github_pat_", "glpat-", "whsec_", "xox", "xapp-", "AKIA", "ASIA", "SG.", "AIza", "npm_"),
    *("dop_v1_", "sk-", "eyJ", "hooks.slack.com/", "discord", "-----BEGIN"),
)
"""How they begin: to look for these costs little."""
_NAMED = re.compile(
    r"(?:uthorization|earer|okens?|ecrets?|assw(?:or)?d|pwd|redentials?|key)"
    r"[\"']?(?:[ \t]*:[ \t]+|=|(?<=earer)[ \t]+)\[?[\"']?"
    r"(?:(?:bearer|basic|token)[ \t]+([\w+/.~=-]{8,400})|([\w+/.~=-]{16,400}))(?![\w+/.~=(-])",
    re.IGNORECASE,
)
_NAME_SIGNS = tuple(
    sign
    for word in ("uthorization", "earer", "oken", "ecret", "assw", "pwd", "redential", "key")
    for sign in (word, word.upper(), word.capitalize())
)
_KEY_OF = re.compile(r"(?:api|access|auth|private|signing)[-_]?$", re.IGNORECASE)
_MIXED = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")
_MIXED_MIN = 3
"""So often letters and digits take turns in what nobody has thought of."""
_RUN = re.compile(r"(?=[a-z]*\d)(?=\d*[a-z])(?=(?:[a-z]*\d){2})[a-z0-9]{14}", re.IGNORECASE)


def written_secrets(text: str) -> list[tuple[int, int]]:
    """Where credentials stand in a text, but for passwords of addresses."""
    found = {one.span(one.lastindex or 0) for one in _at_signs(text, _FORMAT_SIGNS, _FORMATS)}
    for one in _at_signs(text, _NAME_SIGNS, _NAMED):
        named = one[0][:3].lower() != "key" or _KEY_OF.search(
            text, max(0, one.start() - 9), one.start()
        )
        if named and _made_up(one[one.lastindex or 0], short=one.lastindex == 1):
            found.add(one.span(one.lastindex or 0))
    return sorted(found)


def _made_up(text: str, *, short: bool) -> bool:
    """Whether a program made this and nobody thought of it; `short`: it stands behind a scheme."""
    if short and any(map(str.isdigit, text)) and any(map(str.isalpha, text)):
        return True
    return len(_MIXED.findall(text)) >= _MIXED_MIN or _RUN.search(text) is not None


def _at_signs(
    text: str, signs: tuple[str, ...], pattern: re.Pattern[str]
) -> Iterator[re.Match[str]]:
    for sign in signs:
        at = -1
        while (at := text.find(sign, at + 1)) >= 0:
            if (found := pattern.match(text, at)) is not None:
                yield found


def is_secret(text: str) -> bool:
    """Whether a text can only be a credential, and no name."""
    return bool(written_secrets(f"token={text}"))


def without_secrets(text: str) -> str:
    """Credentials become as many asterisks, so that a caret stays where it is."""
    spans = [found.span(found.lastindex or 0) for found in _PASSWORD.finditer(text)]
    for start, end in (*spans, *written_secrets(text)):
        text = text[:start] + "*" * (end - start) + text[end:]
    return text
