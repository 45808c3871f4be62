"""A Dockerfile as its steps, for those who have no container engine: what ours uses, no more."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

FORMS = {"CMD", "ENTRYPOINT"}


@dataclass
class Stage:
    """One `FROM`: the steps that change its files, in order, and how what it ends with is run."""

    base: str
    name: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        """What a container begins with."""
        return [*json.loads(self.said["ENTRYPOINT"]), *json.loads(self.said["CMD"])]

    @property
    def health(self) -> list[str]:
        """What an engine runs now and then; exit code 0: all is well."""
        return list(json.loads(self.said["HEALTHCHECK"].partition("CMD")[2]))

    @property
    def ports(self) -> list[int]:
        return [int(port) for port in self.said["EXPOSE"].split()]


def stages(text: str) -> list[Stage]:
    """
    All of a file.

    Raises:
        ValueError: it has an instruction that is not known here.
    """
    found: list[Stage] = []
    for word, rest in _instructions(text):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(base, name))
        elif word in ("RUN", "COPY", "USER", "WORKDIR"):
            found[-1].steps.append((word, rest))
        elif word == "ENV":
            found[-1].environ |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif word in FORMS | {"EXPOSE", "VOLUME", "STOPSIGNAL", "HEALTHCHECK"}:
            found[-1].said[word] = rest
        else:
            raise ValueError(f"{word} is not run here")
    return found


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()
