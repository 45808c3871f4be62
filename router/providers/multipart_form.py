"""Forms with files (RFC 7578): fields by name; of a file its name, type and size."""

from collections.abc import Iterator
from typing import Any

from router.expressions import encode_json
from router.model.delivery import JSON
from router.providers.odd_body import OddBodyError

PARTS_MAX = 100
HEAD_LINES_MAX, HEAD_LINE_BYTES = 8, 1024
BOUNDARY = "router-7f0c1e5b9ad24c6388"
"""What parts the bodies that are written here."""
_PIECE = 64 * 1024


def is_multipart(content_type: bytes) -> bool:
    """Is the body `multipart/form-data`, whatever its parameters?"""
    return content_type[:256].split(b";", 1)[0].strip().lower() == b"multipart/form-data"


def parts_of(body: bytes, content_type: bytes) -> dict[str, JSON]:
    """
    The form by name; what is there several times is a list. A field is its text, a file is its
    `filename`, `content_type` and `size`: of its content nothing is kept.

    Raises:
        OddBodyError: it is no such form, or has too many parts.
    """
    from multipart import MultipartError, ParserLimitReached, parse_options_header  # noqa: PLC0415

    options = parse_options_header(content_type[:512].decode("latin-1"))[1]
    found: dict[str, list[JSON]] = {}
    try:
        for name, value in _parts(body, options.get("boundary", "")):
            found.setdefault(name, []).append(value)
    except ParserLimitReached:
        words = f"over {PARTS_MAX} parts, or the head of a part is over 8 KiB"
        raise OddBodyError("too_complex", words) from None
    except UnicodeDecodeError:
        raise OddBodyError("unparsed", "a form field is not UTF-8") from None
    except (MultipartError, ValueError) as error:
        raise OddBodyError("unparsed", f"the form with files is broken: {error}"[:200]) from None
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _parts(body: bytes, boundary: str) -> Iterator[tuple[str, JSON]]:
    """Name and value of each part."""
    from multipart import PushMultipartParser  # noqa: PLC0415 - who has no such sender needs it not

    segment: Any = None
    size, texts = 0, list[bytes]()
    with PushMultipartParser(
        boundary.encode("latin-1"),
        max_header_count=HEAD_LINES_MAX,
        max_header_size=HEAD_LINE_BYTES,
        max_segment_count=PARTS_MAX,
    ) as parser:
        for start in range(0, len(body), _PIECE):
            for piece in parser.parse(body[start : start + _PIECE]):
                if piece is None:
                    yield segment.name or "", _value(segment, size, texts)
                elif isinstance(piece, bytes | bytearray):
                    size += len(piece)
                    if segment.filename is None:
                        texts.append(bytes(piece))
                else:
                    segment, size, texts = piece, 0, []


def _value(segment: Any, size: int, texts: list[bytes]) -> JSON:
    if segment.filename is None:
        return b"".join(texts).decode("utf-8")
    return {"filename": segment.filename, "content_type": segment.content_type, "size": size}


def written(fields: dict[str, JSON]) -> bytes:
    """A body with these fields, as a sender of such forms writes it; files hold blanks."""
    lines = [
        b"--%b\r\n%b\r\n\r\n%b\r\n" % (BOUNDARY.encode("ascii"), *_part(name, one))
        for name, value in fields.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode("ascii")


def _part(name: str, value: JSON) -> tuple[bytes, bytes]:
    """Its head and content."""
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if isinstance(value, str):
        return head.encode("utf-8"), value.encode("utf-8")
    if not isinstance(value, dict) or "filename" not in value:
        return head.encode("utf-8"), encode_json(value)
    head += f'; filename="{_quoted(str(value["filename"]))}"'
    head += f"\r\nContent-Type: {value.get('content_type') or 'application/octet-stream'}"
    return head.encode("utf-8"), b" " * min(int(value.get("size") or 0), _PIECE)


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "").replace("\n", "")
