"""
A small writer of SVG: text, boxes and lines, placed by hand.

The colours are classes of one style sheet that follows the reader's light or dark setting; there
are no scripts, no fonts to load and no links. Lengths are in pixels.
"""

from collections.abc import Iterable
from xml.sax.saxutils import escape

FONT = 12

STYLE = f"""\
text {{ font: {FONT}px system-ui, sans-serif; fill: #1f2328; }}
.title {{ font-weight: 600; font-size: 14px; }}
.small {{ font-size: 11px; fill: #59636e; }}
.paper {{ fill: #ffffff; }}
.bar {{ fill: #0969da; }}
.short {{ fill: #bc4c00; }}
.class {{ fill: #8250df; }}
.peer {{ fill: #818b98; }}
.goal {{ stroke: #1f2328; stroke-width: 2; }}
.rule {{ stroke: #d1d9e0; }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #f0f6fc; }}
  .small {{ fill: #9198a1; }}
  .paper {{ fill: #0d1117; }}
  .bar {{ fill: #4493f8; }}
  .short {{ fill: #db6d28; }}
  .class {{ fill: #ab7df8; }}
  .peer {{ fill: #656c76; }}
  .goal {{ stroke: #f0f6fc; }}
  .rule {{ stroke: #3d444d; }}
}}
"""


def text(x: float, y: float, said: str, kind: str = "", *, anchor: str = "start") -> str:
    """Words whose base line begins, or ends, or has its middle, at this point."""
    name = f' class="{kind}"' if kind else ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{_n(x)}" y="{_n(y)}"{name}{place}>{escape(said)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    size = f'width="{_n(max(width, 0))}" height="{_n(max(height, 0))}"'
    return f'<rect x="{_n(x)}" y="{_n(y)}" {size} class="{kind}"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" class="{kind}"/>'


def picture(width: float, height: float, said: str, marks: Iterable[str]) -> str:
    """The whole file; `said` is what it shows, for those who cannot see it."""
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(said)}</title>",
            f"<style>\n{STYLE}</style>",
            box(0, 0, width, height, "paper"),
            *marks,
            "</svg>\n",
        ]
    )


def _n(number: float) -> str:
    """A tenth of a pixel is fine enough."""
    return f"{number:.1f}".removesuffix(".0")
