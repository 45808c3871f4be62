"""The bill of materials (SBOM), as CycloneDX writes it: what an installed router consists of."""

import json
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.release.environments import Environment, run
from tests.release.locks import IMAGE, pinned


def written(tools: Environment, place: Environment, file: Path) -> None:
    """Of all that is installed there; the same of the same."""
    cyclonedx = [tools.bin / "cyclonedx-py", "environment", "--output-reproducible"]
    run([*cyclonedx, "--output-format", "JSON", "-o", file, place.python], file.parent)


def missing(file: Path) -> Iterator[str]:
    """What of the image's lock it does not name, in that version; and the router itself."""
    text = file.read_text("utf-8")
    if "file:" in text:
        yield "the bill of materials names a path"
    components = json.loads(text)["components"]
    found = {canonicalize_name(one["name"]): one["version"] for one in components}
    if "webhook-rules-router" not in found:
        yield "the bill of materials lacks the router"
    for name, pin in pinned(IMAGE).items():
        here = pin.marker is None or pin.marker.evaluate()
        if here and (name not in found or not pin.specifier.contains(found[name])):
            yield f"the bill of materials lacks {pin}"
