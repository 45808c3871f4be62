"""What somebody does first with an installed router: rules, a server, a delivery, its job."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.acceptance.process import RouterProcess, free_ports
from tests.release.environments import Environment, run


def faults(place: Environment, folder: Path, version: str) -> Iterator[str]:
    """What did not go as it should."""
    folder.mkdir()

    def router(*args: str) -> str:
        return run([place.bin / "router", *args], folder)

    told = json.loads(router("--version", "--json"))
    if told["version"] != version:
        yield f"--version says {told['version']}"
    router("new", "rules", "rules.yaml", "--provider", "github")
    listen, admin = free_ports(2)
    doors = ("--listen", f"127.0.0.1:{listen}", "--admin", f"127.0.0.1:{admin}")
    rules = folder / "rules.yaml"
    process = RouterProcess(
        rules, listen, admin, {}, ("--dev", *doors), code=folder, python=str(place.python)
    )

    def succeeded() -> bool:
        [delivery] = json.loads(router("deliveries", "--dev", "--json"))
        return delivery["jobs"].get("succeeded") == 1

    with process:
        router("send", "code", "push", *doors[:2])
        process.until(succeeded, "the job of the delivery")
        status = process.stop()
    if status != 0:
        yield f"the server ended with {status}"
