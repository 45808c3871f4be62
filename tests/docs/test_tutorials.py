"""The tutorials, read as their readers do: each line is run, each file is used, in order."""

import re
import secrets
from functools import cache
from pathlib import Path

import pytest
import yaml

from router.config import load
from router.providers import builtin
from router.web.phases import PHASES
from tests.acceptance.process import ROOT
from tests.docs.pages import Reader, lines, reading, steps

pytestmark = pytest.mark.long

Script = list[tuple[str, str | None]]
"""Every shell line of a page and what its answer holds; None: it answers nothing."""

OUR_URL = "https://hooks.example.com/wh_"
FORGED = "refused, as expected"
DOCS = ROOT / "docs"

SHOPIFY: Script = [
    ("router new rules --provider shopify", "is written"),
    ("router check", "ok, 1 endpoint, 1 rule, 2 actions"),
    ("router serve --dev", None),
    ("router sink", None),
    ("router send shop orders/paid", "accepted"),
    ("router deliveries", "orders/paid"),
    ("router send shop orders/paid --set total_price=12.00", "accepted"),
    ("router send shop --again", "duplicate"),
    ("router send shop orders/paid --tamper body", FORGED),
    ("router deliveries --refused", "bad_signature"),
    ("router providers shopify", "answered with 200 within 5s"),
    ("router addresses", OUR_URL),
    ("export SHOP_WEBHOOK_SECRET=paste-the-webhook-secret-here", None),
    ("router serve", None),
    ("router deliveries", ""),
]
SENDGRID: Script = [
    ("router new rules --provider sendgrid", "is written"),
    ("router check", "ok, 1 endpoint, 1 rule, 2 actions"),
    ("router serve --dev", None),
    ("router sink", None),
    ("router send mail bounce", "accepted"),
    ("router deliveries", "bounce"),
    ("router send mail bounce --set type=blocked", "accepted"),
    ("router send mail click --set unique_args.order=1001 --set category[0]=receipts", "accepted"),
    ("router send mail --again", "duplicate"),
    ("router send mail bounce --tamper body", FORGED),
    ("router deliveries --refused", "bad_signature"),
    ("router providers sendgrid", "1000 events a delivery"),
    ("router addresses", OUR_URL),
    ("router check", "ok, "),
    ("router serve", None),
    ("router deliveries", ""),
]
GITHUB: Script = [
    ("router new rules --provider github", "is written"),
    ("router check", "ok, 1 endpoint, 1 rule, 2 actions"),
    ("router serve --dev", None),
    ("router sink", None),
    ("router send code push", "accepted"),
    ("router deliveries", "push"),
    ("router send code push --set ref=refs/heads/try", "accepted"),
    ("router send code --again", "duplicate"),
    ("router send code push --tamper body", FORGED),
    ("router deliveries --refused", "bad_signature"),
    ("router send code pull_request.closed", "accepted"),
    ("router send code repository_dispatch.deploy", "accepted"),
    ("router providers github", "25MiB"),
    ("router addresses code", OUR_URL),
    ("export CODE_WEBHOOK_SECRET=the-same-text-as-in-the-settings", None),
    ("router serve", None),
    ("router deliveries", ""),
]
PAGES = {
    "tutorial-shopify.md": SHOPIFY,
    "tutorial-sendgrid.md": SENDGRID,
    "tutorial-github.md": GITHUB,
}
INDEX: Script = [
    ("router --help", "serve"),
    ("router new rules --help", "--provider"),
    ("router providers", "sendgrid"),
    ("router completion bash", "_ROUTER_COMPLETE"),
]
ANSWERS: Script = [
    ("router send shop orders/paid --tamper signature", "401"),
    ("router deliveries --refused --json", '"bad_signature"'),
]


@pytest.mark.parametrize(
    ("page", "script"), [*PAGES.items(), ("index.md", INDEX), ("answers.md", ANSWERS)]
)
def test_every_line_of_a_page_is_tried(page: str, script: Script) -> None:
    assert lines(page) == [line for line, _ in script]


def data_of(text: str) -> object:
    """A rules file as plain data, its ids and the sink's port the same in all."""
    same = re.sub(r"127\.0\.0\.1:\d+", "SINK", re.sub(r"\b[0-9a-f]{32}\b", "ID", text))
    return yaml.safe_load(same)


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_goes_as_written(page: str, tmp_path: Path) -> None:
    says = iter(PAGES[page])
    place_verification_key(tmp_path)
    with reading(tmp_path) as reader:
        shown = 0
        for kind, text in steps(page):
            if kind == "yaml":
                shown += 1
                if shown == 1:
                    assert data_of(text) == data_of(reader.rules.read_text("utf-8"))
                else:
                    reader.write(text)
                continue
            _, answer = next(says)
            said = reader.do(text)
            assert answer is None or answer in said, (text, said)
            if answer == "accepted":
                wait_for_first_action(reader)
    assert next(says, None) is None


def place_verification_key(folder: Path) -> None:
    """What the reader saves from SendGrid's settings screen."""
    pair = builtin()["email"].invent_secret(secrets.token_bytes)
    (folder / "keys").mkdir()
    (folder / "keys" / "mail.pem").write_bytes(pair.verify)


def wait_for_first_action(reader: Reader) -> None:
    """The page says that the sink shows it."""
    reader.until(lambda: "POST /" in reader.sink_output(), "the call")


@pytest.mark.parametrize("page", sorted(PAGES))
def test_files_shown_are_right_as_they_stand(page: str) -> None:
    for kind, text in steps(page):
        if kind == "yaml":
            assert load(text, path="rules.yaml", env={}).diagnostics == ()


def test_the_answers_are_as_written(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        reader.do("router new rules --provider shopify")
        reader.do("router serve --dev")
        for line, answer in ANSWERS:
            assert answer is not None
            assert answer in reader.do(line)


def test_the_index_works(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        for line, answer in INDEX:
            assert answer is not None
            assert answer in reader.do(line)


def test_the_index_leads_to_every_page() -> None:
    """Those of codes and of senders are led to by the pages that list them."""
    text = (DOCS / "index.md").read_text("utf-8")
    linked = set(re.findall(r"\]\(((?:dev/|concepts/)?[\w-]+\.md)\)", text))
    listed = [*DOCS.glob("codes/*"), *DOCS.glob("providers/*")]
    pages = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if p not in listed}
    assert linked == pages - {"index.md"}


TEXTS = sorted(
    (*DOCS.rglob("*.md"), *(ROOT / page for page in ("README.md", "CONTRIBUTING.md"))), key=str
)
TEXTS += [ROOT / "tests" / "README.md"]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", page.read_text("utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]*)(?:#([\w-]*))?\)", text)
    near = [link for link in links if not link[0].startswith(("http:", "https:", "mailto:"))]
    assert [link for link in near if not leads(page, *link)] == []


def leads(page: Path, link: str, anchor: str) -> bool:
    """Whether the file is there, and the heading, if one is named."""
    place = page.parent / link if link else page
    return place.exists() and (not anchor or anchor in anchors(place))


@cache
def anchors(page: Path) -> set[str]:
    """Those that the headings of a page have on code hosts and on the site."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"\]\(.*?\)", "", line)) for line in headings]
    return {line.lower().replace(" ", "-") for line in plain}


def test_a_link_without_a_heading_is_found() -> None:
    answers = DOCS / "answers.md"
    assert leads(answers, "rules.md", "server")
    assert leads(answers, "", "try-again-later")
    assert not leads(answers, "rules.md", "sever")
    assert not leads(answers, "ruls.md", "")


ROW = re.compile(r"^\| ([0-9][^|]*?) \| (.*?) \|", re.MULTILINE)


def answers_stated() -> set[tuple[int, str]]:
    """(status, word) of every row of the page."""
    text = (DOCS / "answers.md").read_text("utf-8")
    return {
        (int(status), word)
        for statuses, words in ROW.findall(text)
        for status in re.findall(r"\d+", statuses)
        for word in re.findall(r"`(\w+)`", words)
    }


def answers_given() -> set[tuple[int, str]]:
    """Every status with its word in the code of the listener."""
    found = set()
    for path in (ROOT / "router" / "web").glob("*.py"):
        text = path.read_text("utf-8")
        found |= set(
            re.findall(r'(?:IngestRefusal|_refuse|HeadRefused|_send_refusal)\((\d+), "(\w+)"', text)
        )
    found |= {(str(phase.status), phase.word) for phase in PHASES if phase.status}
    return {(int(status), word) for status, word in found}


def test_every_answer_of_the_listener_is_reported() -> None:
    given, reported = answers_given(), answers_stated()
    assert len(given) > 12
    assert given - reported == set()


def test_every_reason_of_a_refusal_is_reported() -> None:
    providers = (DOCS / "providers.md").read_text("utf-8")
    table = providers.partition("## Why a delivery was refused")[2].partition("\n## ")[0]
    reasons = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert reasons
    assert reasons <= {word for status, word in answers_stated() if status in (401, 503)}
