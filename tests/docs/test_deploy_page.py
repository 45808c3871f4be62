"""docs/deploy.md gives commands that are ours, on files that are there."""

import re

from tests.acceptance.process import ROOT
from tests.deploy.commands import parsed
from tests.deploy.dockerfile import stages

PAGE = (ROOT / "docs" / "deploy.md").read_text("utf-8")
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
LINES = [
    line.strip()
    for block in re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.replace("\\\n", "").splitlines()
]


def test_it_gives_the_commands_of_the_files_comments() -> None:
    """The one text is as good as the other, and tests hold those to the files."""
    comments = [
        " ".join(re.sub(r"^# ", "", comment, flags=re.MULTILINE).replace("\\\n", "").split())
        for file in (ROOT / "deploy").rglob("*")
        if file.is_file() and file.suffix != ".pyc"
        for comment in re.findall(r"(?:^#.*\n)+", file.read_text("utf-8"), re.MULTILINE)
    ]
    engines = ("docker", "kubectl exec", "kubectl apply", "echo")
    for line in LINES:
        if line.startswith(engines):
            assert any(" ".join(line.split()) in one for one in comments), line


def test_its_commands_are_ours() -> None:
    found = re.findall(r"(?:exec router|--) router (.*)$", "\n".join(LINES), re.MULTILINE)
    assert len(found) == 3
    for words in found:
        with parsed(words.split()):
            pass


def test_what_it_names_is_there() -> None:
    for name in re.findall(r"(?:deploy|-f|cp) ?(deploy/[\w./]+)", "\n".join(LINES)):
        assert (ROOT / name).exists(), name
    image = stages(DOCKERFILE)[-1]
    assert f"user {dict(image.steps)['USER'].partition(':')[0]}" in PAGE
    for port in image.ports:
        assert f"port {port} |" in PAGE
    for variable in ("ROUTER_RULES", "ROUTER_STORE"):
        assert f"`{image.environ[variable]}`" in PAGE
