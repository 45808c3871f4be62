"""Defects of packed bodies: read, kept or passed on as they came, or unpacked without an end."""

from tests.defects.defect import Edit, defect

_PACKED = "router/model/packed.py"
_LIKE_PLAIN = "properties/test_packed.py::test"
_HTTP = "acceptance/test_packed.py::test"

PACKED_BODIES = (
    defect(
        390,
        "a few bytes unpack to as much as they say",
        Edit(_PACKED, "        if size > most or members", "        if members"),
        f"{_LIKE_PLAIN}_no_more_is_unpacked_than_asked_for",
    ),
    defect(
        391,
        "of a body packed in parts only the first is read",
        Edit(_PACKED, "    while not engine.eof or at < len(view):", "    while not engine.eof:"),
        f"{_LIKE_PLAIN}_it_is_read_like_the_plain_one",
    ),
    defect(
        392,
        "an action that names no body gets it packed",
        Edit(
            "router/kinds/kind.py",
            "        return plain_body(self.delivery), sent",
            "        return self.delivery.body, sent",
        ),
        f"{_HTTP}_packed_bodies_are_read_as_plain_ones_and_passed_on_plain",
    ),
    defect(
        393,
        "of a packed body that is redacted everything goes",
        Edit(
            "router/rules/redacting.py",
            "    delivery = unpacked(delivery)\n",
            "",
        ),
        f"{_LIKE_PLAIN}_redacted_it_is_stored_as_the_plain_one",
    ),
    defect(
        394,
        "a body that nobody signed is kept whatever it unpacks to",
        Edit(
            "router/intake/intake.py",
            ' and endpoint.settings.unsigned:\n            self.refuse(endpoint, "too_large"',
            ' and not endpoint.settings:\n            self.refuse(endpoint, "too_large"',
        ),
        f"{_HTTP}_what_cannot_be_unpacked_is_stored_as_sent",
    ),
    defect(
        395,
        "a body that unpacked to too much is read when it is replayed",
        Edit(
            "router/providers/provider.py",
            "        reading = self.read(request, weighed)",
            "        reading = self.read(request)",
        ),
        f"{_LIKE_PLAIN}_what_unpacked_to_too_much_when_it_came_is_not_read_later",
    ),
    defect(
        396,
        "every job of a packed body unpacks it to know its size",
        Edit(_PACKED, "(size := _sizes.get(key)) is None", "(size := None) is None"),
        f"{_LIKE_PLAIN}_a_stored_body_is_unpacked_once_to_know_its_size",
    ),
)
