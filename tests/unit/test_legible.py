"""Text, times and sizes for reading."""

from router.legible import size_text


def test_sizes() -> None:
    assert [size_text(n) for n in (0, 1023, 1024, 5 << 20)] == [
        "0 B", "1023 B", "1.0 KiB", "5.0 MiB",
    ]  # fmt: skip
