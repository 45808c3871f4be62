"""
Tells people in a chat: Slack, Mattermost, Teams, or whatever takes `{"text": …}` at a secret URL.

    python: {call: "desk:notify", args: {text: "Order {{ payload.name }}"}, secrets: [chat_url]}

The action names one secret: the chat's webhook URL.
"""

from router.plugin import Context, Event, Fail, Retry

TEXT_MAX = 4_000
BUSY_S = 30.0


async def notify(event: Event, context: Context, *, text: str) -> dict[str, int]:
    """
    Post one message.

    A busy chat (429) is asked again when it says, else after half a minute. Any other refusal
    (4xx) is final: the same message would be refused again.
    """
    if len(context.secrets) != 1:
        raise Fail("name the chat's URL on the action: secrets: [chat_url]")
    (url,) = context.secrets.values()
    answer = await context.http.post(url, json={"text": text[:TEXT_MAX]})
    status = answer.status_code
    if status == 429:
        raise Retry(after=_seconds(answer.headers.get("retry-after")), reason="the chat is busy")
    if 400 <= status < 500:
        raise Fail(f"the chat refused the message: HTTP {status}")
    if status >= 300:
        raise Retry(reason=f"the chat answered HTTP {status}")
    context.logger.info("told the desk about %s", event.delivery)
    return {"status": status}


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isascii() and text.isdigit() else BUSY_S
