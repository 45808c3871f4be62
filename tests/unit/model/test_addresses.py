"""Which addresses lie in which ranges."""

import pytest

from router.model.addresses import in_ranges


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("10.1.1.1", True),
        ("::ffff:10.1.1.1", True),
        ("2001:db8::1", True),
        ("11.0.0.1", False),
        ("x", False),
    ],
)
def test_ranges(address: str, inside: bool) -> None:
    """Both families, v4 mapped into v6, and text that is no address."""
    assert in_ranges(address, ("10.0.0.0/8", "2001:db8::/32")) is inside


@pytest.mark.parametrize(("address", "inside"), [("10.9.9.9", True), ("11.1.2.3", False)])
def test_a_range_may_be_written_with_an_address_of_it(address: str, inside: bool) -> None:
    assert in_ranges(address, ("10.1.2.3/8", "2001:db8::7/32")) is inside


def test_a_range_of_one_family_holds_nothing_of_the_other() -> None:
    assert not in_ranges("::1", ("0.0.0.0/0",))
    assert not in_ranges("10.0.0.1", ("::/0",))
    assert not in_ranges("10.0.0.1", ())
