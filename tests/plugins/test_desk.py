"""plugins/desk.py: a message to a chat."""

from importlib import import_module

import pytest

from router.plugin import Context, Event, Fail, Retry
from tests.sink import running_sink


async def _notify(path: str, text: str = "hello") -> tuple[object, bytes]:
    desk = import_module("desk")
    async with running_sink() as sink:
        context = Context(secrets={"chat_url": sink.url + path})
        try:
            return await desk.notify(Event(delivery="dlv_1"), context, text=text), sink.seen[0].body
        finally:
            await context.close()


async def test_a_message_is_posted() -> None:
    assert await _notify("/status/204") == ({"status": 204}, b'{"text":"hello"}')


async def test_a_long_message_is_cut() -> None:
    _, body = await _notify("/status/200", "x" * 10_000)
    assert len(body) < 4_100


@pytest.mark.parametrize("status", [500, 302])
async def test_trouble_of_the_chat_is_tried_again(status: int) -> None:
    with pytest.raises(Retry, match=str(status)) as raised:
        await _notify(f"/status/{status}")
    assert raised.value.after is None


async def test_a_busy_chat_is_asked_again_later() -> None:
    with pytest.raises(Retry) as raised:
        await _notify("/status/429")
    assert raised.value.after == 30.0
    assert import_module("desk")._seconds("7") == 7.0


async def test_a_refusal_is_final() -> None:
    with pytest.raises(Fail, match="HTTP 404"):
        await _notify("/status/404")


async def test_the_secret_must_be_named() -> None:
    with pytest.raises(Fail, match=r"secrets: \[chat_url\]"):
        await import_module("desk").notify(Event(), Context(), text="hello")
