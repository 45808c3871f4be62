"""The views for pipes and CI: a line each, or a JSON object each."""

from typing import Any

import click
import msgspec

from router.cli.listening import lines
from router.cli.listening.target import Forwarded
from router.cli.output import note
from router.legible import visible
from router.operator.times import dates


class PlainView:
    """Shows how it goes: aligned lines on stdout, everything else on stderr."""

    _connection: str | None = ""

    def forwarded(self, forwarded: Forwarded) -> None:
        """A delivery was forwarded, or tried to be: one line a try."""
        time, endpoint, names, status, took, id_, said = lines.line(forwarded)
        text = f"{time}  {endpoint:<12}  {names:<24}  {status:>3}  {took:>8}  {id_}  {said}"
        click.echo(text.rstrip())

    def connection(self, why_not: str | None, again_in_s: float) -> None:
        """The signal is connected (None), or is not, and why; printed when that changes."""
        if why_not != self._connection:
            self._connection = why_not
            self._connected(why_not, again_in_s)

    def _connected(self, why_not: str | None, again_in_s: float) -> None:
        text = "connected to the router"
        if why_not is not None:
            text = f"reconnecting: {visible(why_not)}; again in {again_in_s:.1f} s"
        note(text)

    def target_down(self, to: str, why: str) -> None:
        """At the start: the router answers, but the target does not."""
        text = f"{visible(to)}: {visible(why)}; deliveries wait until it accepts them"
        self.note(text, "yellow")

    def gap(self, removed: int, *, other: bool) -> None:
        """Deliveries are missing, for good."""
        what = "1 delivery was" if removed == 1 else f"{removed} deliveries were"
        text = f"{what} removed by retention before this listener came to them (all endpoints)"
        if other:
            text = (
                "the router's store is not the one of the checkpoint (a backup was restored, or "
                "the store is new); continuing with what came after the last delivery seen"
            )
        self.note(f"GAP: {text}", "bold red")

    def note(self, text: str, style: str = "dim") -> None:
        """Anything else; `style` is for a terminal."""
        del style
        note(text)


class JsonView(PlainView):
    """One JSON object a line: deliveries, gaps and changes of the connection alike."""

    def forwarded(self, forwarded: Forwarded) -> None:
        """One object a try."""
        _print(dates(forwarded.as_json()))

    def _connected(self, why_not: str | None, again_in_s: float) -> None:
        state = "connected" if why_not is None else "reconnecting"
        _print({"connection": state, "why": why_not, "again_in_s": round(again_in_s, 1)})

    def target_down(self, to: str, why: str) -> None:
        """One object."""
        _print({"target_down": {"to": to, "why": why}})

    def gap(self, removed: int, *, other: bool) -> None:
        """What is missing."""
        _print({"gap": {"removed": removed, "other_ledger": other}})


def _print(value: dict[str, Any]) -> None:
    click.echo(msgspec.json.encode(value).decode("utf-8"))
