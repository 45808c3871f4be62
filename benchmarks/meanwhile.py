"""Something that goes on, again and again, while something else is measured."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def meanwhile(once: Callable[[int], T]) -> Iterator[list[T]]:
    """
    Call `once(0)`, `once(1)`, … one after another in a thread until the block ends; what they gave.

    The last call ends before the block does. What one raises ends the calls, and is raised at the
    end of the block.
    """
    found: list[T] = []
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            found.append(once(len(found)))

    with ThreadPoolExecutor(1) as thread:
        going = thread.submit(go_on)
        try:
            yield found
        finally:
            over.set()
        going.result()
