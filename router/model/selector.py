"""The one selector: which stored deliveries or jobs a question or a verb is about."""

from typing import Annotated, Any

import msgspec

_TIME = "2h (ago), 12:30 (UTC) or an RFC 3339 time."


class Criteria(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    What deliveries and jobs are selected by; a field left out excludes nothing.

    Options, query parameters, forms and the audit take their fields and words from here. Times are
    Unix milliseconds, `since` is included, `until` is not. `state` is a job's, or for deliveries a
    delivery's. `event` and `rule` are exact. `where` is a condition on the delivery, which no
    store evaluates: see router/operator/search.py. `var` are JSON values that it reads as
    `var.NAME`, before those of the rules file: what came from outside is never part of its text.
    """

    endpoint: Annotated[str | None, msgspec.Meta(description="Only of this endpoint.")] = None
    rule: Annotated[str | None, msgspec.Meta(description="Only of this rule.")] = None
    event: Annotated[str | None, msgspec.Meta(description="Only events of this name.")] = None
    state: Annotated[str | None, msgspec.Meta(description="Only in this state.")] = None
    since: Annotated[int | None, msgspec.Meta(description=f"Not before: {_TIME}")] = None
    until: Annotated[int | None, msgspec.Meta(description=f"Before: {_TIME}")] = None
    where: Annotated[
        str | None,
        msgspec.Meta(
            description="Only deliveries for which this holds: payload.total_price == '10.00'."
        ),
    ] = None
    var: Annotated[
        dict[str, Any] | None,
        msgspec.Meta(
            description="A value that --where reads as var.NAME; NAME:=JSON if it is no text."
        ),
    ] = None
    replay: Annotated[str | None, msgspec.Meta(description="Only jobs that this replay made.")] = (
        None
    )
    cause: Annotated[
        str | None,
        msgspec.Meta(description="Only jobs that died of this; `router dead` lists the keys."),
    ] = None
    limit: Annotated[int | None, msgspec.Meta(description="At most so many, the newest.")] = None

    def as_json(self) -> dict[str, Any]:
        """The fields that are given."""
        given: dict[str, Any] = msgspec.to_builtins(self)
        return given


FIELDS: tuple[str, ...] = Criteria.__struct_fields__

ABOUT = {
    field.name: str(field.type.__metadata__[0].description)
    for field in msgspec.structs.fields(Criteria)
}
"""What each field says of itself, to options and parameters; in the order of the fields."""

SPAN = ("since", "until")
"""The fields that are times."""
