"""However a rules file is cut into files, the same is said of the same lines."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from router.config import KeptFiles, load
from router.errors import Diagnostic

HEAD = """\
version: 1
endpoints: {shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}}
"""
FOLDED = """\
  - id: %s
    from: shopp
    match: >-

      payload.id &&
      nowhere(1)
    actions: {}
"""
RULES = (
    "  - {id: %s, from: shop, match: payload.id == 1, actions: {log: hi}}\n",
    "  - {id: %s, from: shop, match: \"payload.id === '\\u00e9'\", actions: {log: hi}}\n",
    FOLDED,
    "  - {id: %s, frm: shop, actions: {log: hi}}\n  # behind it\n",
    "  - {id: %s, from: shop, actions: {log: \"{{ sec.x }}\"}} # 𝄞\n",
    "  - id: %s\n    from: [shop]\n    events: orders/payd\n    actions:\n      - {htp: x}\n",
)  # fmt: skip
ENDS = ("", "\n", "\r\n", "\n# the end", "\n\n")


def said(found: tuple[Diagnostic, ...]) -> list[tuple[str, str, int, int, str | None]]:
    return sorted((d.code, d.message, d.column, d.width, d.source) for d in found)


@given(
    rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=8),
    cuts=st.sets(st.integers(1, 7)),
    end=st.sampled_from(ENDS),
    breaks=st.sampled_from([str, lambda text: text.replace("\n", "\r\n")]),
)
def test_cut_anywhere(
    rules: list[str], cuts: set[int], end: str, breaks: Callable[[str], str]
) -> None:
    texts = [text % f"r{number}" for number, text in enumerate(rules)]
    whole = breaks(HEAD + "rules:\n" + "".join(texts))
    files: dict[str, str] = {}
    for number, text in enumerate(texts):
        if not files or number in cuts:
            files[f"p{len(files)}.yaml"] = "version: 1\nrules:\n"
        files[f"p{len(files) - 1}.yaml"] += text
    files = {name: breaks(text) + end for name, text in files.items()}
    main = breaks(HEAD + "include: 'p*.yaml'") + end
    one = load(whole, path="rules.yaml", env={}).diagnostics
    many = load(main, path="rules.yaml", env={}, files=KeptFiles(files)).diagnostics
    assert said(one) == said(many)
    for fault in many:
        lines = {"rules.yaml": main, **files}[fault.file].replace("\r\n", "\n").split("\n")
        assert lines[fault.line - 1] == fault.source
