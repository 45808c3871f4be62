"""Plain scalars by the core schema of YAML 1.2."""

from decimal import Decimal

import pytest

from router.yaml_source import NumberError, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("on", "on"),
        ("No", "No"),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("-5", -5),
        ("12_000", "12_000"),
        ("1:30", "1:30"),
        ("12:30:00", "12:30:00"),
        ("2026-01-01", "2026-01-01"),
        ("1e3", Decimal("1e3")),
        ("1.10", Decimal("1.10")),
        (".5", Decimal("0.5")),
        ("1.", Decimal(1)),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("-", "-"),
        ("12345678901234567890123456789012", 12345678901234567890123456789012),
    ],
)
def test_values(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_decimals_keep_their_digits() -> None:
    assert str(resolve("1.10")) == "1.10"


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "9" * 401, "1e401", "1e99999999"])
def test_numbers_that_json_cannot_hold(text: str) -> None:
    with pytest.raises(NumberError):
        resolve(text)
