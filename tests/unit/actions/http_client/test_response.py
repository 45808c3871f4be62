"""An answer from bytes, however they come; what is none; and whether another one may follow."""

from random import Random

import pytest

from router.actions.http_client.response import (
    HttpAnswer,
    ResponseReader,
    TransferError,
)
from tests.hostile.targets import CHUNKED, HINT, OK
from tests.http_answers import random_answer

NOT_HTTP = "the answer is not acceptable HTTP"
BROKE_OFF = "the answer broke off"


def _read(*pieces: bytes, end: bool = False) -> tuple[HttpAnswer | str, bool]:
    """The answer or what was wrong, and whether the connection may be used again."""
    reader = ResponseReader()
    try:
        for piece in pieces:
            if (answer := reader.feed(piece)) is not None:
                return answer, reader.reusable
        return (reader.end(None) if end else "more is needed"), reader.reusable
    except TransferError as error:
        return str(error), False


def _body(*pieces: bytes, end: bool = False) -> bytes:
    answer, _ = _read(*pieces, end=end)
    assert isinstance(answer, HttpAnswer), answer
    return answer.body


def test_an_answer_and_the_next_one_over_the_same_connection() -> None:
    reader = ResponseReader()
    for body in (b"one", b"two"):
        reader.expect()
        head = OK + b"Content-Type: Text/Plain\r\nX-A:  b c \t\r\nContent-Length: 3\r\n\r\n"
        headers = [("content-type", "Text/Plain"), ("x-a", "b c"), ("content-length", "3")]
        assert reader.feed(head + body) == HttpAnswer(200, headers, body, False)
        assert reader.reusable


def test_a_connection_that_broke_says_why() -> None:
    with pytest.raises(TransferError, match=r"^the connection broke: connection reset by peer$"):
        ResponseReader().end(ConnectionResetError(104, "s3cr3t"))


def test_content_of_interim_answers_and_trailers_are_not_the_answer_s() -> None:
    interim = b"HTTP/1.1 103 Hints\r\nX-Hint: 1\r\n\r\n"
    answer, _ = _read(interim + CHUNKED + b"2\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n")
    assert answer == HttpAnswer(200, [("transfer-encoding", "chunked")], b"ok", False)


def test_no_more_than_a_piece_behind_too_much_is_parsed() -> None:
    """The rest is not looked at: no count of answers in one write takes the loop's time."""
    reader = ResponseReader()
    with pytest.raises(TransferError, match="interim"):
        reader.feed(HINT * 100_000)
    assert reader._received == 4 * 1024


@pytest.mark.long
def test_no_bytes_do_more_than_be_refused() -> None:
    """20,000 random answers, good and spoilt: an answer, or an error of our own."""
    kinds = set()
    for seed in range(20_000):
        found, _ = _read(random_answer(Random(seed)), end=True)
        kinds.add(found if isinstance(found, str) else "answer")
    assert kinds >= {"answer", NOT_HTTP, BROKE_OFF}
