"""docs/fleet.md and README's fleet: the figures are the code's, the commands work as written."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from router.config import load, render_text
from router.model.settings import ServerSettings
from router.model.store_address import PostgresDatabase
from router.serving import failure_detector, nodes, store_time
from router.store.postgres.partitions import AHEAD
from tests.acceptance.process import ROOT, RouterProcess, free_ports
from tests.children import children
from tests.deploy.commands import parsed
from tests.docs.pages import block, lines
from tests.postgres.server import Server

PAGE = (ROOT / "docs" / "fleet.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
SECTION = README.partition("\n## Several routers\n")[2].partition("\n## ")[0]
BEGIN = re.findall(r"^```sh\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)[0].splitlines()
EXPORTED = {
    name: value
    for line in BEGIN
    if line.startswith("export ")
    for name, _, value in (word.partition("=") for word in shlex.split(line)[1:])
}
SERVES = [line for line in BEGIN if line.startswith("router serve ")]
SAYS = {
    "router sink": "",
    "router send shop orders/paid --to http://127.0.0.1:8010": '"accepted"',
    "router send shop --again --to http://127.0.0.1:8020": '"duplicate"',
    "router send shop --again --to http://127.0.0.1:8030": '"duplicate"',
    "router deliveries": "routed ×3  2 succeeded",
    "router targets --admin 127.0.0.1:8021": "healthy",
    "router send shop orders/updated --to http://127.0.0.1:8010": '"accepted"',
    "pkill -KILL -f 127.0.0.1:8010": "",
    "router store info": ": gone, beat",
}
"""Every line that the page shows, and what it says in the end."""
SLOW, QUICKER = "sleep 20", "sleep 4"


def test_the_file_shown_is_right() -> None:
    loaded = load(
        block("fleet.md", "yaml"), path="rules.yaml", env={"DATABASE_URL": "postgresql:///x"}
    )
    assert render_text(loaded.diagnostics) == ""


def test_every_line_shown_is_tried() -> None:
    assert list(dict.fromkeys(lines("fleet.md"))) == list(SAYS)
    assert len(SERVES) == 3
    for line in (*BEGIN, *SAYS):
        if line.startswith("router "):
            with parsed(line.split()[1:]):
                pass


def test_the_database_begun_is_the_one_that_routers_use() -> None:
    begun = dict(re.findall(r"--env POSTGRES_(\w+)=(\S+)", BEGIN[0]))
    url = urlsplit(EXPORTED["ROUTER_STORE"])
    assert (url.username, url.password, url.path) == (
        begun["USER"],
        begun["PASSWORD"],
        f"/{begun['USER']}",
    )
    assert f"--publish {url.hostname}:5432:5432" in BEGIN[0]


@pytest.mark.parametrize(
    "words",
    [
        (
            f"taken for gone after {failure_detector.CLOSED_S:.0f} s, one that is cut off "
            f"or stands still after {failure_detector.GONE_S:.0f};"
        ),
        f"| for {nodes.LATE_S:.0f} s this router could not say that it lives",
        f"| more than {store_time.SKEW_MS // 1000} s from the database's",
        f"connections of this router, {PostgresDatabase(None).pool}.",
        (
            f"its {ServerSettings().retention.max_size // 2**30} GiB are full after "
            f"{ServerSettings().retention.max_size / 4_400 / 1e6:.1f} million"
        ),
    ],
)
def test_a_figure_is_that_of_the_code(words: str) -> None:
    assert words in PAGE


def test_tables_are_made_ahead_for_as_many_days_as_told() -> None:
    assert "next seven days are made ahead" in " ".join(PAGE.split())
    assert AHEAD == 7


def test_what_is_said_is_said_somewhere() -> None:
    """The first column of the last table: sentences of ours, or of the system."""
    rows = re.findall(r"^\| (`.*?) \| ", PAGE.partition("## Troubleshooting")[2], re.MULTILINE)
    told = [words for row in rows for words in re.findall(r"`([^`]+)`", row)]
    assert len(told) > 10
    source = "".join(file.read_text("utf-8") for file in (ROOT / "router").rglob("*.py"))
    flat = re.sub(r'"\s*\n\s*f?"', "", source) + os.strerror(111)
    missing = [words for words in told if words.removeprefix("not ready: ") not in flat]
    assert missing == ["the router needs 14 or newer"]
    assert "the router needs {SERVER_MIN // 10_000} or newer" in flat


def test_its_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, anchor = link.partition("#")
        file = (ROOT / "docs" / path) if path else ROOT / "docs" / "fleet.md"
        assert file.exists(), link
        heads = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
        assert not anchor or anchor in anchors, link


@dataclass
class Site:
    """Three routers begun as README says, at ports of this machine, and a sink."""

    folder: Path
    database: str
    ports: dict[str, str] = field(default_factory=dict)
    routers: list[RouterProcess] = field(default_factory=list)
    sink: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        told = [f"{one}{end}" for one in ("801", "802", "803") for end in "01"]
        free = [str(port) for port in free_ports(len(told) + 1)]
        self.ports = dict(zip((*told, "9000"), free, strict=True))
        self.environ = {
            **EXPORTED,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "ROUTER_STORE": self.database,
            "ROUTER_RULES": str(self.folder / EXPORTED["ROUTER_RULES"]),
        }

    def here(self, text: str) -> str:
        """With this site's ports in place of those that are told."""
        return re.sub(r"127\.0\.0\.1:(\d+)", lambda m: f"127.0.0.1:{self.ports[m[1]]}", text)

    @property
    def rules(self) -> Path:
        return self.folder / EXPORTED["ROUTER_RULES"]

    def run(self, line: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", *shlex.split(self.here(line))],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
        return ran.stdout

    def says(self, line: str, words: str) -> None:
        """In the end; the lines that change something say it at once."""
        if "send" in line:
            assert words in self.run(line)
        else:
            self.routers[0].until(lambda: words in self.run(line), f"{line}: {words}")

    def write(self, text: str) -> None:
        fresh = self.rules.with_suffix(".new")
        fresh.write_text(text, "utf-8")
        fresh.replace(self.rules)

    def serve(self, line: str) -> None:
        arguments = tuple(self.here(line).split()[2:])
        listen, admin = (int(one.rpartition(":")[2]) for one in arguments[1::2])
        self.routers.append(
            RouterProcess(self.rules, listen, admin, self.environ, arguments).launch()
        )

    def begin_sink(self) -> None:
        command = [sys.executable, "-m", "router", "sink", self.ports["9000"]]
        with (self.folder / "sink.out").open("wb") as out:
            self.sink = subprocess.Popen(command, env=self.environ, stdout=out, stderr=out)

    def reloaded(self) -> bool:
        return self.routers[0].log.read_text("utf-8").count('"event":"reloaded"') == len(SERVES)

    def holder(self) -> RouterProcess | None:
        """Whose command runs: nothing else is a child of theirs."""
        pids = {one.process.pid: one for one in self.routers if one.process is not None}
        return next((one for pid, one in pids.items() if children(pid)), None)

    def kill(self, router: RouterProcess | None) -> None:
        assert router is not None
        self.routers.remove(router)
        router.kill()

    def close(self) -> None:
        for one in self.routers:
            if one.running:
                one.kill()
        if self.sink is not None:
            self.sink.kill()
            self.sink.wait()


@pytest.fixture
def site(tmp_path: Path, postgres_server: Server, new_database: str) -> Iterator[Site]:
    found = Site(tmp_path, postgres_server.address(new_database, tcp=True))
    yield found
    found.close()


@pytest.mark.long
def test_three_routers_by_readme_do_what_the_page_says(site: Site) -> None:
    [new] = [line for line in BEGIN if line.startswith("router new ")]
    site.run(new)
    site.write(site.here(site.rules.read_text("utf-8")))
    for line in SERVES:
        site.serve(line)
    for one in site.routers:
        one.until(one.ready, "ready")
    first = site.routers[0]
    [rule] = re.findall(r"^```text\n(  - id: report\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line, words in SAYS.items():
        if line == "router sink":
            site.begin_sink()
            continue
        if "orders/updated" in line:
            site.write(site.rules.read_text("utf-8") + rule.replace(SLOW, QUICKER))
            first.until(site.reloaded, "the rule, by all three")
        if line.startswith("pkill "):
            first.until(lambda: site.holder() is not None, "the job")
            site.kill(site.holder())
            continue
        site.says(line, words)
    site.says("router deliveries --rule report", "1 succeeded")
    [listed] = re.findall(r"(dlv_\w+)", site.run("router deliveries --rule report"))
    shown = site.run(f"router show {listed}")
    assert "interrupted: the router ended" in shown
    assert re.search(r"attempt 2 .* succeeded", shown)
    assert [one.stop() for one in site.routers] == [0, 0]
