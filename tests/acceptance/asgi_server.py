"""A router behind unmodified uvicorn, with an application made of its rules."""

import socket
from dataclasses import dataclass, field

from tests.acceptance.process import Rig, RouterProcess

APP = "from router.asgi import create_app\n\napp = create_app({rules!r}, admin=True)\n"
"""Endpoints and the operator's interface on one address."""


@dataclass
class AsgiProcess(RouterProcess):
    """uvicorn; `application` is a module beside the rules and what it names in it."""

    application: str = "app:app"
    options: list[str] = field(default_factory=list)

    def module(self) -> list[str]:
        """As its manual says."""
        where = ["--app-dir", str(self.rules.parent), "--port", str(self.listen)]
        ends = ["--timeout-graceful-shutdown", "5", "--no-access-log"]
        return ["uvicorn", self.application, *where, *ends, *self.options]

    def ready(self) -> bool:
        """It listens only when the router behind it runs."""
        try:
            socket.create_connection(("127.0.0.1", self.listen), timeout=2).close()
        except OSError:
            return False
        return True


def asgi_process(rig: Rig, source: str = APP, **more: object) -> AsgiProcess:
    """The rig's rules in an application of this source; its operator's interface is there, too."""
    (rig.folder / "app.py").write_text(source.format(rules=str(rig.path)), "utf-8")
    given = (rig.path, rig.listen, rig.listen, rig.environ)
    return AsgiProcess(*given, **more)  # type: ignore[arg-type]
