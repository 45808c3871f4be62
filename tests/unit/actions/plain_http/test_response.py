"""An answer from bytes, however they come; what is none; and whether another one may follow."""

from random import Random

import pytest

from router.actions.plain_http.response import (
    ANSWER_MAX,
    FIELD_MAX,
    FIELDS_MAX,
    PIECE,
    HttpAnswer,
    ResponseReader,
    TransferError,
)
from tests.hostile.targets import CHUNKED, CONTINUE, HINT, OK, SHORT, SWITCH
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


@pytest.mark.parametrize("cut", range(1, len(SHORT)))
def test_it_does_not_matter_where_the_bytes_are_cut(cut: int) -> None:
    assert _read(SHORT[:cut], SHORT[cut:]) == _read(SHORT)
    assert _read(*(bytes([byte]) for byte in HINT + SHORT)) == _read(SHORT)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (SHORT, b"ok"),
        (OK + b"Content-Length: 0\r\n\r\n", b""),
        (CHUNKED + b"2;a=b\r\nok\r\n1 \r\n!\r\n0\r\nX-T: 1\r\n\r\n", b"ok!"),
        (CHUNKED + b"0\r\n\r\n", b""),
        (HINT * 16 + SHORT, b"ok"),
        (CONTINUE + SHORT, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", b""),
    ],
)
def test_an_answer_that_ends_by_itself_leaves_the_connection_for_the_next(
    data: bytes, body: bytes
) -> None:
    answer, reusable = _read(data)
    assert isinstance(answer, HttpAnswer)
    assert (answer.body, answer.cut, reusable) == (body, False, True)


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        SHORT + SHORT,
        SHORT + HINT,
        SHORT + b"HT",
        SHORT + b"\r\n\r\n" + SHORT,
        SHORT + SHORT * 1000,
    ],
)
def test_after_these_the_connection_is_not_used_again(data: bytes) -> None:
    answer, reusable = _read(data)
    assert isinstance(answer, HttpAnswer)
    assert (answer.body, reusable) == (b"ok", False)


@pytest.mark.parametrize("switch", [SWITCH, b"HTTP/1.1 101 Switching\r\n\r\n"])
def test_another_protocol_is_an_answer_and_the_end(switch: bytes) -> None:
    answer, reusable = _read(switch + b"whatever it is" * 1000)
    assert isinstance(answer, HttpAnswer)
    assert (answer.status, answer.body, reusable) == (101, b"", False)


@pytest.mark.parametrize(
    "head", [b"", b"Transfer-Encoding: gzip\r\n", b"Transfer-Encoding: chunked, gzip\r\n"]
)
def test_an_answer_may_end_with_its_connection(head: bytes) -> None:
    data = OK + head + b"\r\nuntil the end"
    assert _read(data) == ("more is needed", False)
    assert _body(data, end=True) == b"until the end"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the connection was closed without an answer"),
        (OK[:9], "the connection was closed without an answer"),
        (OK + b"X-A: 1\r\n", "the connection was closed without an answer"),
        (HINT, "the connection was closed without an answer"),
        (OK + b"Content-Length: 3\r\n\r\nok", BROKE_OFF),
        (CHUNKED + b"2\r\nok\r\n", BROKE_OFF),
        (CHUNKED + b"2\r\nok\r\n0\r\n", BROKE_OFF),
        (OK + b"Transfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n", BROKE_OFF),
        (OK + b"transfer-ENCODING: gzip,\tCHUNKED \r\n\r\n2\r\nok\r\n", BROKE_OFF),
        (OK + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok", BROKE_OFF),
        (OK + b"content-LENGTH: 3\r\n\r\nok", BROKE_OFF),
    ],
)
def test_an_answer_that_is_not_whole_is_none(data: bytes, words: str) -> None:
    assert _read(data, end=True) == (words, False)


def test_a_connection_that_broke_says_why() -> None:
    with pytest.raises(TransferError, match=r"^the connection broke: connection reset by peer$"):
        ResponseReader().end(ConnectionResetError(104, "s3cr3t"))


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\nok",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 0x2\r\n\r\nok",
        OK + b"Content-Length: 99999999999999999999\r\n\r\nok",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        CHUNKED + b"zz\r\nok\r\n",
        CHUNKED + b"2\r\nokay\r\n0\r\n\r\n",
        CHUNKED + b"-2\r\nok\r\n0\r\n\r\n",
        SHORT + b"garbage",
        OK + b"X-A: a\0b\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"X A: 1\r\n\r\n",
        b"HTTP/3.0 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"\0" * 100,
        b"HTTP/1.1 200 " + b"O" * (FIELD_MAX + 1) + b"\r\n\r\n",
        OK + b"X-A: " + b"a" * (FIELD_MAX - 2) + b"\r\n\r\n",
        OK + b"X-A: 1\r\n" * (FIELDS_MAX + 1) + b"\r\n",
    ],
)
def test_what_is_no_answer(data: bytes) -> None:
    assert _read(data) == (NOT_HTTP, False)


def test_what_is_just_short_enough() -> None:
    reason = b"HTTP/1.1 200 " + b"O" * FIELD_MAX + b"\r\nContent-Length: 2\r\n\r\nok"
    assert _body(reason) == b"ok"
    field = OK + b"X-A: " + b"a" * (FIELD_MAX - 3) + b"\r\nContent-Length: 2\r\n\r\nok"
    assert _body(field) == b"ok"
    many = OK + b"X-A: 1\r\n" * (FIELDS_MAX - 1) + b"Content-Length: 2\r\n\r\nok"
    assert _body(many) == b"ok"


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_more_than_is_kept_ends_the_reading(pieces: int) -> None:
    size = ANSWER_MAX // pieces + 1
    answer, reusable = _read(OK + b"\r\n", *[b"x" * size] * pieces)
    assert isinstance(answer, HttpAnswer)
    assert (len(answer.body), answer.cut, reusable) == (ANSWER_MAX, True, False)
    exact, _ = _read(OK + b"\r\n", b"x" * ANSWER_MAX)
    assert exact == "more is needed"


def test_content_of_interim_answers_and_trailers_are_not_the_answer_s() -> None:
    interim = b"HTTP/1.1 103 Hints\r\nX-Hint: 1\r\n\r\n"
    answer, _ = _read(interim + CHUNKED + b"2\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n")
    assert answer == HttpAnswer(200, [("transfer-encoding", "chunked")], b"ok", False)


def test_no_more_than_a_piece_behind_too_much_is_parsed() -> None:
    """The rest is not looked at: no count of answers in one write takes the loop's time."""
    reader = ResponseReader()
    with pytest.raises(TransferError, match="interim"):
        reader.feed(HINT * 100_000)
    assert reader._received == PIECE


@pytest.mark.long
def test_no_bytes_do_more_than_be_refused() -> None:
    """20,000 random answers, good and spoilt: an answer, or an error of our own."""
    kinds = set()
    for seed in range(20_000):
        found, _ = _read(random_answer(Random(seed)), end=True)
        kinds.add(found if isinstance(found, str) else "answer")
    assert kinds >= {"answer", NOT_HTTP, BROKE_OFF}
