"""The view for a terminal: a line a delivery, below them the state and the keys."""

from collections import deque

from rich.console import Console
from rich.live import Live
from rich.text import Text

from router.cli.listening.plain import PlainView, line, names_of
from router.cli.listening.target import Forwarded
from router.legible import visible

KEPT = 200
"""Deliveries that can be selected again: the last ones."""
KEYS = "r retry  s show  o open  c curl  ↑↓ select  q quit"


class ScreenView(PlainView):
    """Lines scroll; the last one stays. `selected` is the delivery that the keys are about."""

    def __init__(self, console: Console, to: str) -> None:
        self._console = console
        self._to = to
        self._kept: deque[Forwarded] = deque(maxlen=KEPT)
        self._back = 0  # how many steps before the newest
        self._taken = self._failed = 0
        self._why_not: str | None = "connecting"
        self._no_target: str | None = None
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "ScreenView":
        self._live.start()
        self._refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @property
    def selected(self) -> Forwarded | None:
        """The newest, or the one gone back to; None: nothing has come yet."""
        if not self._kept:
            return None
        return self._kept[-1 - min(self._back, len(self._kept) - 1)]

    def select(self, steps: int) -> None:
        """Go back (positive) or forth among those kept."""
        self._back = max(0, min(self._back + steps, len(self._kept) - 1))
        self._refresh()

    def forwarded(self, forwarded: Forwarded) -> None:
        """One line a try; the same delivery again takes its old place in the selection."""
        newest = self._kept[-1] if self._kept else None
        if newest is not None and newest.arrived.id == forwarded.arrived.id:
            self._kept[-1] = forwarded
        else:
            self._kept.append(forwarded)
            self._back = self._back + 1 if self._back else 0
        self._taken += forwarded.ok
        self._failed += not forwarded.ok and forwarded.again_in_s is None
        self._no_target = forwarded.error if forwarded.status is None else None
        self._console.print(_line(forwarded), soft_wrap=True)
        self._refresh()

    def connection(self, why_not: str | None, again_in_s: float) -> None:
        """In the last line, until it changes."""
        del again_in_s  # it would stand still while it passes
        self._why_not = why_not
        self._refresh()

    def target_down(self, to: str, why: str) -> None:
        """Among the lines, and in the last one until something takes a delivery."""
        self._no_target = why
        super().target_down(to, why)

    def note(self, text: str, style: str = "dim") -> None:
        """A text among the lines."""
        self._console.print(Text(text, style), soft_wrap=True)
        self._refresh()

    def _refresh(self) -> None:
        self._live.update(self._state(), refresh=True)

    def _state(self) -> Text:
        text = Text(overflow="ellipsis", no_wrap=True)
        if self._why_not is None:
            text.append("● connected to the router", "green")
        else:
            text.append(f"○ reconnecting ({visible(self._why_not)})", "yellow")
        if self._no_target is not None:
            text.append(f"  ○ target: {visible(self._no_target)}", "yellow")
        text.append(f"  {self._taken} accepted")
        text.append(f"  {self._failed} failed", "red" if self._failed else "")
        if (chosen := self.selected) is not None:
            names = visible(names_of(chosen.arrived))[:24]
            text.append(f"  [{chosen.arrived.id[:16]} {names}]", "bold")
        text.append(f"  {KEYS}", "dim")
        return text


def _line(forwarded: Forwarded) -> Text:
    time, endpoint, names, status, took, id_, said = line(forwarded)
    shade = "green" if forwarded.ok else "yellow" if forwarded.again_in_s is not None else "red"
    text = Text(f"{time}  ", "dim")
    text.append(f"{endpoint:<12}  {names:<24}  ", "default")
    text.append(f"{status:>3}", shade)
    text.append(f"  {took:>8}  {id_}  ", "dim")
    text.append(said, shade)
    return text
