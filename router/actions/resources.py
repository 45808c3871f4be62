"""What actions are made with."""

from collections.abc import Callable
from dataclasses import dataclass, field

from router.actions.live_output import Watching
from router.log import Redactor
from router.model.job import Job

WriteLine = Callable[[str, str, Job], None]
"""Writes one line: level, message, the job it comes from. Escaping is the writer's."""


@dataclass(frozen=True, slots=True)
class Resources:
    """
    What the process offers to its actions; of each the default is for tests.

    `private` gives the private ranges that may be called now. `version` marks the generation,
    compared by equality. `output` follows the commands that run. What `redactor` knows is masked in
    what is kept.
    """

    write: WriteLine
    private: Callable[[], tuple[str, ...]] = tuple
    version: Callable[[], object] = lambda: None
    output: Watching = field(default_factory=Watching)
    redactor: Redactor = field(default_factory=Redactor)
