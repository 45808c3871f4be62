"""Forms with files (RFC 7578): fields by name; of a file its name, type and size."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from router.expressions import encode_json
from router.model.delivery import JSON
from router.model.odd_body import OddBodyError

PARTS_MAX = 100
HEAD_LINES_MAX, HEAD_LINE_BYTES = 8, 1024
BOUNDARY = "router-7f0c1e5b9ad24c6388"
"""What parts the bodies that are written here."""
_PIECE = 64 * 1024


def is_multipart(content_type: bytes) -> bool:
    """Is the body `multipart/form-data`, whatever its parameters?"""
    return content_type[:256].split(b";", 1)[0].strip().lower() == b"multipart/form-data"


class FormPart(NamedTuple):
    """
    A part of a form. A field is its text, a file is its `filename`, `content_type` and `size`.
    Its head is `body[head:start]`, with the blank line, its content `body[start:end]`.
    """

    name: str
    value: JSON
    head: int
    start: int
    end: int


def parts_of(body: bytes, content_type: bytes) -> list[FormPart]:
    """
    The parts of a form in their order.

    Raises:
        OddBodyError: it is no such form, or has too many parts.
    """
    from multipart import MultipartError, ParserLimitReached, parse_options_header  # noqa: PLC0415

    options = parse_options_header(content_type[:512].decode("latin-1"))[1]
    try:
        return list(_parts(body, options.get("boundary", "").encode("latin-1")))
    except ParserLimitReached:
        words = f"over {PARTS_MAX} parts, or the head of a part is over 8 KiB"
        raise OddBodyError("too_complex", words) from None
    except UnicodeDecodeError:
        raise OddBodyError("unparsed", "a form field is not UTF-8") from None
    except (MultipartError, ValueError) as error:
        raise OddBodyError("unparsed", f"the form with files is broken: {error}"[:200]) from None


def _parts(body: bytes, boundary: bytes) -> Iterator[FormPart]:
    from multipart import PushMultipartParser  # noqa: PLC0415 - who has no such sender needs it not

    segment: Any = None
    line = len(b"--" + boundary + b"\r\n")
    head, start, size = body.find(b"--" + boundary) + line, 0, 0
    with PushMultipartParser(
        boundary,
        max_header_count=HEAD_LINES_MAX,
        max_header_size=HEAD_LINE_BYTES,
        max_segment_count=PARTS_MAX,
    ) as parser:
        for at in range(0, len(body), _PIECE):
            for piece in parser.parse(body[at : at + _PIECE]):
                if piece is None:
                    end = start + size
                    value = _value(segment, body[start:end])
                    yield FormPart(segment.name or "", value, head, start, end)
                    head = end + len(b"\r\n") + line
                elif isinstance(piece, bytes | bytearray):
                    size += len(piece)
                else:
                    segment, size = piece, 0
                    start = body.index(b"\r\n\r\n", head) + 4


def _value(segment: Any, content: bytes) -> JSON:
    if segment.filename is None:
        return content.decode("utf-8")
    name, kind = segment.filename, segment.content_type
    return {"filename": name, "content_type": kind, "size": len(content)}


def rewritten(body: bytes, parts: Iterable[FormPart], values: Iterable[JSON]) -> bytes:
    """The body with these values, one a part; the parts that keep theirs stay byte for byte."""
    pieces, end = list[bytes](), 0
    for part, value in zip(parts, values, strict=True):
        if value != part.value:
            is_file, goes = isinstance(part.value, dict), isinstance(value, str)
            head = _head(part.name, value) if is_file else body[part.head : part.start - 4]
            content = _content(value) if goes else body[part.start : part.end]
            pieces += (body[end : part.head], head, b"\r\n\r\n", content)
            end = part.end
    return b"".join((*pieces, body[end:]))


def written(fields: dict[str, JSON]) -> bytes:
    """A body with these fields, as a sender of such forms writes it; files hold blanks."""
    lines = [
        b"--%b\r\n%b\r\n\r\n%b\r\n" % (BOUNDARY.encode("ascii"), _head(name, one), _content(one))
        for name, value in fields.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode("ascii")


def _head(name: str, value: JSON) -> bytes:
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if isinstance(value, dict) and "filename" in value:
        head += f'; filename="{_quoted(str(value["filename"]))}"'
        if kind := value.get("content_type"):
            head += f"\r\nContent-Type: {kind}"
    return head.encode("utf-8")


def _content(value: JSON) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, dict) and "filename" in value:
        return b" " * min(int(value.get("size") or 0), _PIECE)
    return encode_json(value)


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "").replace("\n", "")
