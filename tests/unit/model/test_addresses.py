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
