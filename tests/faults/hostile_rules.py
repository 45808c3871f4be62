"""
Rules files that mean harm: each small to write and as costly to read as its author could make it.

A bomb is the text of `rules.yaml`, or the files of a folder, and says whether the file is right.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

MIB = 1024 * 1024
ALMOST = 16 * MIB - 4096
"""As large as a file may be, room for what stands around it."""

HEAD = """\
version: 1
secrets: {shop: {env: SHOP}}
endpoints:
  shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, secrets: shop}
"""
MORE = "version: 1\nrules:\n  - {{id: r{n}, from: shop, actions: {{log: x}}}}\n"
RULE = "rules:\n  - {id: a, from: shop, actions: {log: x}}\n"


@dataclass(frozen=True)
class Bomb:
    """
    `files` by name, made when they are needed; `rules.yaml` is the one that is checked.

    `right`: whether `check` finds no error in it.
    """

    name: str
    files: Callable[[], Mapping[str, bytes]]
    right: bool = False


def bomb(name: str, make: Callable[[], str | bytes], *, right: bool = False) -> Bomb:
    """A bomb of one file."""

    def files() -> Mapping[str, bytes]:
        text = make()
        return {"rules.yaml": text if isinstance(text, bytes) else text.encode()}

    return Bomb(name, files, right)


def in_rules(name: str, make: Callable[[], str], *, right: bool = False) -> Bomb:
    """A bomb within an otherwise right file."""
    return bomb(name, lambda: HEAD + make(), right=right)


def matching(name: str, make: Callable[[], str], *, right: bool = False) -> Bomb:
    """A bomb in a condition, which is written as a literal block."""
    return in_rules(
        name,
        lambda: (
            "rules:\n  - id: a\n    from: shop\n    match: |-\n      "
            + make()
            + "\n    actions: {log: x}\n"
        ),
        right=right,
    )


def telling(name: str, make: Callable[[], str], *, right: bool = False) -> Bomb:
    """A bomb in a template, which is written as a literal block."""
    return in_rules(
        name,
        lambda: (
            "rules:\n  - id: a\n    from: shop\n    actions:\n      log: |-\n        "
            + make()
            + "\n"
        ),
        right=right,
    )


# -- YAML ------------------------------------------------------------------------------------------


def _laughs() -> str:
    levels = ["x-0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for n in range(1, 10):
        levels.append(f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]")
    return HEAD + "\n".join(levels) + "\n" + RULE


def _shared(size: int, times: int) -> str:
    """Few aliases of one large list: almost as many nodes as may be."""
    big = ", ".join(["a"] * size)
    return HEAD + f"x-0: &a [{big}]\nx-1: [{', '.join(['*a'] * times)}]\n" + RULE


def _shared_faults() -> str:
    """One list of wrong rules, 99 times."""
    wrong = "\n".join(f"    - {{idd: a{n}, frm: shop}}" for n in range(3_000))
    return HEAD + f"rules: &a\n{wrong}\n" + "\n".join(f"define{n}: *a" for n in range(99)) + "\n"


YAML = (
    bomb("a billion laughs", _laughs),
    bomb("100 aliases of 19,000 nodes", lambda: _shared(19_000, 100), right=True),
    bomb("101 aliases", lambda: _shared(3, 101)),
    bomb("99 aliases of 3,000 faults", _shared_faults),
    bomb("an alias in its own anchor", lambda: HEAD + "x-a: &a [*a]\n" + RULE),
    bomb("aliases of aliases, one a level", lambda: HEAD + _ladder() + RULE),
    bomb("2,000 brackets", lambda: HEAD + "x-a: " + "[" * 2_000),
    bomb("16 MiB of brackets", lambda: "[" * ALMOST),
    bomb("16 MiB of braces", lambda: "{" * ALMOST),
    bomb("16 MiB of open keys", lambda: "{a: " * (ALMOST // 4)),
    bomb("16 MiB of dashes", lambda: "- " * (ALMOST // 2)),
    bomb("16 MiB of question marks", lambda: "? " * (ALMOST // 2)),
    bomb("2,000 steps of indentation", lambda: _stairs(2_000)),
    bomb("brackets closed before they open", lambda: HEAD + "x-a: " + "]" * MIB),
    bomb("800,000 nodes in a list", lambda: HEAD + "x-a: [" + "a," * 800_000 + "]\n" + RULE,
         right=True),
    bomb("800,000 empty lists", lambda: HEAD + "x-a: [" + "[]," * 800_000 + "]\n" + RULE,
         right=True),
    bomb("300,000 keys", lambda: HEAD + "x-a: {" + _keys(300_000) + "}\n" + RULE, right=True),
    # As many nodes as may be need more than this memory, which is then what is said.
    bomb("2,000,000 nodes in a list", lambda: HEAD + "x-a: [" + "a," * 1_990_000 + "]\n" + RULE),
    bomb("more nodes than may be", lambda: HEAD + "x-a: [" + "a," * 2_100_000 + "]\n" + RULE),
    bomb("2,000,000 empty lists", lambda: HEAD + "x-a: [" + "[]," * 1_990_000 + "]\n" + RULE),
    bomb("990,000 keys", lambda: HEAD + "x-a: {" + _keys(990_000) + "}\n" + RULE),
    bomb("one key 900,000 times", lambda: HEAD + "x-a: {" + "a: 1, " * 900_000 + "}\n" + RULE),
    bomb("a text of 16 MiB", lambda: HEAD + f"x-a: {'a' * ALMOST}\n" + RULE, right=True),
    bomb("a quoted text of 16 MiB", lambda: HEAD + f'x-a: "{"a" * ALMOST}"\n' + RULE, right=True),
    bomb("16 MiB of escapes", lambda: HEAD + 'x-a: "' + "\\x41" * (ALMOST // 4) + '"\n' + RULE,
         right=True),
    bomb("a block of 16 MiB", lambda: HEAD + "x-a: |\n" + " a\n" * (ALMOST // 3) + RULE,
         right=True),
    bomb("a folded block of 16 MiB", lambda: HEAD + "x-a: >\n" + " a\n\n" * (ALMOST // 4) + RULE,
         right=True),
    bomb("a plain text in 4 million lines", lambda: HEAD + "x-a:\n" + " aa\n" * (ALMOST // 4)
         + RULE, right=True),
    bomb("more than 16 MiB", lambda: HEAD + RULE + "#" * (16 * MIB)),
    bomb("a key of 1 KiB", lambda: HEAD + "a" * 1_025 + ": 1\n" + RULE),
    bomb("a key of 1 MiB", lambda: HEAD + "a" * MIB + ": 1\n" + RULE),
    bomb("a key of 15 MiB", lambda: HEAD + f'? "{"a" * 15 * MIB}"\n: 1\n' + RULE),
    bomb("a thousand keys of 15 KiB", lambda: HEAD + "".join(
        f'? "{n}{"a" * 15_000}"\n: 1\n' for n in range(1_000)) + RULE),
    bomb("an integer of 400 digits", lambda: HEAD + f"x-a: {'9' * 400}\n" + RULE, right=True),
    bomb("an integer of a million digits", lambda: HEAD + f"vars: {{a: {'9' * MIB}}}\n" + RULE),
    bomb("a hexadecimal of a million digits",
         lambda: HEAD + f"vars: {{a: 0x{'f' * MIB}}}\n" + RULE),
    bomb("an exponent of nine digits", lambda: HEAD + "vars: {a: 1e999999999}\n" + RULE),
    bomb("an exponent of a million digits", lambda: HEAD + f"vars: {{a: 1e{'9' * MIB}}}\n" + RULE),
    bomb("a million numbers of 10 digits",
         lambda: HEAD + "x-a: [" + "1234567890," * 1_000_000 + "]\n" + RULE, right=True),
    bomb("300,000 anchors", lambda: HEAD + "x-a: [" + _anchors(300_000) + "]\n" + RULE, right=True),
    bomb("900,000 anchors", lambda: HEAD + "x-a: [" + _anchors(900_000) + "]\n" + RULE),
    bomb("an anchor of 1 MiB", lambda: HEAD + f"x-a: &{'a' * MIB} 1\n" + RULE,
         right=True),
    bomb("a tag of 1 MiB", lambda: HEAD + f"x-a: !{'a' * MIB} 1\n" + RULE),
    bomb("100,000 tags", lambda: HEAD + "x-a: [" + "!a b, " * 100_000 + "]\n" + RULE),
    bomb("tags that make objects",
         lambda: HEAD + "x-a: !!python/object/apply:os.system ['echo harm']\n" + RULE),
    bomb("100,000 directives", lambda: "%FOO bar\n" * 100_000 + "---\n" + HEAD + RULE),
    bomb("a million documents", lambda: "---\n" * 1_000_000),
    bomb("16 MiB of comments", lambda: HEAD + RULE + "#\n" * (ALMOST // 2), right=True),
    bomb("16 MiB of spaces", lambda: HEAD + RULE + " " * ALMOST, right=True),
    bomb("16 MiB of empty lines", lambda: HEAD + RULE + "\n" * ALMOST, right=True),
    bomb("16 MiB of tabs", lambda: HEAD + RULE + "\t" * ALMOST),
    bomb("16 MiB of carriage returns", lambda: HEAD + RULE + "\r" * ALMOST, right=True),
    bomb("16 MiB of zeros", lambda: b"\0" * ALMOST),
    bomb("nothing", lambda: b""),
    bomb("no UTF-8", lambda: b"\xff\xfe" + b"\x80" * MIB),
    bomb("16 MiB of letters of four bytes", lambda: HEAD + f'x-a: "{"😀" * (ALMOST // 4)}"\n'
         + RULE, right=True),
    bomb("merge keys", lambda: HEAD + "x-a: &a {b: 1}\nx-b: {<<: *a}\n" + RULE),
)  # fmt: skip


def _ladder() -> str:
    steps = ["x-0: &a0 [x]"] + [f"x-{n}: &a{n} [*a{n - 1}]" for n in range(1, 100)]
    return "\n".join(steps) + "\n"


def _stairs(steps: int) -> str:
    return "x-a:\n" + "\n".join(" " * n + "a:" for n in range(1, steps)) + "\n"


def _keys(count: int) -> str:
    return ", ".join(f"k{n}: 1" for n in range(count))


def _anchors(count: int) -> str:
    return ", ".join(f"&a{n} b" for n in range(count))


# -- the language ----------------------------------------------------------------------------------

LANGUAGE = (
    matching("a condition of 1 MiB", lambda: " && ".join(["payload.a == 'x'"] * 55_000)),
    matching("a condition of 15 MiB", lambda: "payload." + "a" * 15 * MIB),
    matching("100,000 parentheses", lambda: "(" * 100_000 + "payload.a" + ")" * 100_000),
    matching("100,000 brackets in a condition", lambda: "[" * 100_000),
    matching("100,000 negations", lambda: "!" * 100_000 + "payload.a"),
    matching("100,000 steps", lambda: "payload" + ".a" * 100_000),
    matching("100,000 pipes", lambda: "payload" + " | a" * 100_000),
    matching("100,000 flattenings", lambda: "payload" + "[]" * 100_000),
    matching("as long as may be, nested", lambda: "(" * 2_000 + "payload.a" + ")" * 2_000),
    matching("a literal of 1 MiB", lambda: "payload.a == `" + "[" * MIB + "`"),
    matching("a literal of a million digits", lambda: "payload.a == `" + "9" * MIB + "`"),
    matching("a bare number of a million digits", lambda: "payload.a == " + "9" * MIB),
    matching("a literal with an exponent", lambda: "payload.a == `1e999999999`", right=True),
    matching("a text that does not end", lambda: "payload.a == '" + "a" * MIB),
    matching("a glob of a thousand stars", lambda: f"glob(payload.a, '{'*a' * 1_000}')",
             right=True),
    matching("calls within calls", lambda: "lower(" * 1_000 + "payload.a" + ")" * 1_000),
    matching("an odd function of 1 MiB", lambda: "a" * MIB + "(payload.a)"),
    telling("200,000 templates in a text", lambda: "{{ payload.a }}" * 200_000),
    telling("1,000,000 templates that do not end", lambda: "{{ " * 1_000_000),
    telling("1,000,000 templates that are empty", lambda: "{{}}" * 1_000_000),
    telling("a template within a template", lambda: "{{ '" * 100_000),
    telling("15 MiB of text", lambda: "a" * 15 * MIB, right=True),
    telling("15 MiB of braces in a text", lambda: "}" * 15 * MIB, right=True),
    in_rules("a chain of 5,000 definitions", lambda: _defines(5_000) + RULE, right=True),
    in_rules("definitions that double", lambda: _doubling(200) + RULE, right=True),
    in_rules("definitions in a circle", lambda: "define: {a: def.b, b: def.c, c: def.a}\n" + RULE),
)  # fmt: skip


def _defines(count: int) -> str:
    rows = [f"  d{n}: def.d{n + 1}" for n in range(count)]
    return "define:\n" + "\n".join(rows) + f"\n  d{count}: payload.a\n"


def _doubling(count: int) -> str:
    rows = [f"  d{n}: '[def.d{n + 1}, def.d{n + 1}]'" for n in range(count)]
    return "define:\n" + "\n".join(rows) + f"\n  d{count}: payload.a\n"


# -- the file's own words --------------------------------------------------------------------------


def _rules(count: int, row: str) -> str:
    return "rules:\n" + "".join(row.format(n=n) for n in range(count))


def _after_all(count: int) -> str:
    """Each action after every one before it."""
    rows = [
        f"      - {{id: a{n}, log: x, after: [{', '.join(f'a{m}' for m in range(n))}]}}"
        for n in range(1, count)
    ]
    first = "rules:\n  - id: r\n    from: shop\n    actions:\n      - {id: a0, log: x}\n"
    return first + "\n".join(rows) + "\n"


def _circle(count: int) -> str:
    rows = [f"      - {{id: a{n}, log: x, after: a{(n + 1) % count}}}" for n in range(count)]
    return "rules:\n  - id: r\n    from: shop\n    actions:\n" + "\n".join(rows) + "\n"


def _near_names() -> str:
    """Misspelt names of many endpoints: each asks which one was meant."""
    rows = "".join(
        f"  endpoint-number-{n}: {{id: {n:032x}, provider: shopify, secrets: shop}}\n"
        for n in range(3_000)
    )
    rules = _rules(3_000, "  - {{id: r{n}, from: endpoint-numbre-{n}x, actions: {{log: x}}}}\n")
    return rows + rules


def _globs() -> str:
    many = ", ".join(f'"{"*" * 50}{n}"' for n in range(2_000))
    return f"rules:\n  - {{id: a, from: shop, events: [{many}], actions: {{log: x}}}}\n"


WORDS = (
    in_rules("200,000 unknown keys", lambda: "".join(f"key{n}: 1\n" for n in range(200_000))),
    in_rules("30,000 wrong rules", lambda: _rules(30_000, "  - {{idd: r{n}, frm: shop}}\n")),
    in_rules("a million rules that are null", lambda: "rules: [" + "~, " * 1_000_000 + "]\n"),
    in_rules("20,000 rules of one id", lambda: _rules(
        20_000, "  - {{id: a, from: shop, actions: {{log: x}}}}\n")),
    in_rules("5,000 rules with a warning", lambda: _rules(
        5_000, "  - {{id: r{n}, from: shop, match: payload.x{n}, actions: {{log: x}}}}\n"),
        right=True),
    in_rules("3,000 misspelt endpoints", _near_names),
    in_rules("an action after every other", lambda: _after_all(800), right=True),
    in_rules("5,000 actions in a circle", lambda: _circle(5_000)),
    in_rules("2,000 events of many stars", _globs, right=True),
    in_rules("100,000 ranges", lambda: "server: {trusted_proxies: ["
             + ", ".join(f"10.{n >> 8 & 255}.{n & 255}.0/24" for n in range(100_000))
             + "]}\n" + RULE, right=True),
    in_rules("a range of too many bits",
             lambda: f"server: {{trusted_proxies: [10.0.0.0/{'9' * MIB}]}}\n" + RULE),
    in_rules("a duration of a million digits",
             lambda: f"server: {{grace: {'9' * MIB}s}}\n" + RULE),
    in_rules("a URL of 1 MiB", lambda: f"targets: {{a: {{url: {'h' * MIB}}}}}\n" + RULE),
    in_rules("10,000 secrets", lambda: "targets:\n" + "".join(
        f"  t{n}: {{url: 'http://h', auth: {{bearer: s{n}}}}}\n" for n in range(10_000)) + RULE),
)  # fmt: skip


def _included(files: Mapping[str, str]) -> Callable[[], Mapping[str, bytes]]:
    return lambda: {name: text.encode() for name, text in files.items()}


FOLDERS = (
    Bomb("an include of itself", _included({
        "rules.yaml": HEAD + "include: [rules.yaml]\n" + RULE})),
    Bomb("includes in a circle", _included({
        "rules.yaml": HEAD + "include: [a/*.yaml]\n" + RULE,
        "a/one.yaml": "include: [../b/*.yaml]\n",
        "b/two.yaml": "include: [../a/*.yaml, ../rules.yaml]\n",
    })),
    Bomb("1,000 included files", lambda: {
        "rules.yaml": (HEAD + "include: [many/*.yaml]\n" + RULE).encode(),
        **{f"many/{n}.yaml": MORE.format(n=n).encode() for n in range(1_000)},
    }, right=True),
    Bomb("an include of many stars", _included({
        "rules.yaml": HEAD + f"include: ['{'*/' * 200}*.yaml', '{'**/' * 50}*.yaml']\n" + RULE,
        "a/a/a/a/a/a/a.yaml": "rules: []\n",
    })),
    Bomb("an include of the whole machine", _included({
        "rules.yaml": HEAD + "include: ['/**/*.yaml', '/proc/*/maps']\n" + RULE})),
    Bomb("an include of an endless device", _included({
        "rules.yaml": HEAD + "include: [/dev/zero]\n" + RULE})),
    Bomb("includes that together are too large", lambda: {
        "rules.yaml": (HEAD + "include: [many/*.yaml]\n" + RULE).encode(),
        **{f"many/{n}.yaml": b"x-a: " + b"a" * 4 * MIB + b"\n" for n in range(5)},
    }),
)  # fmt: skip

BOMBS = (*YAML, *LANGUAGE, *WORDS, *FOLDERS)


def named(name: str) -> Iterator[Bomb]:
    """Those whose name holds this text."""
    yield from (one for one in BOMBS if name in one.name)
