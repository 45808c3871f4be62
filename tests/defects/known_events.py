"""Defects of what is known of senders' events and payloads."""

from tests.defects.defect import Edit, defect

KNOWN_EVENTS = (
    defect(
        205,
        "what a definition says of a payload hides what its sender publishes",
        Edit(
            "router/typing/overlay.py",
            "return more if written.partial else {**published.fields, **more}",
            "return more",
        ),
        "unit/typing/test_overlay.py::test_the_fields_of_both_are_known",
        "shapes/test_real_paths.py::test_a_condition_on_a_real_path_is_no_mistake",
    ),
    defect(
        206,
        "events that are published are in no catalogue",
        Edit("router/providers/catalogue.py", "events=(*extended, *more)", "events=(*extended,)"),
        "shapes/test_real_paths.py::test_every_published_event_is_in_the_catalogue",
    ),
    defect(
        207,
        "an event without a shape keeps a name quiet that no other event has",
        Edit(
            "router/typing/scenes.py",
            "guessed=shaped and kind.payload is None",
            "guessed=False",
        ),
        "golden/test_planted.py::test_every_planted_fault_is_found_in_its_place_and_nothing_else",
    ),
    defect(
        208,
        "a field that a sample lacks is called unknown",
        Edit("router/typing/fields.py", "elif base.partial:", "elif base.partial and not name:"),
        "unit/typing/test_outline.py::test_only_a_name_that_is_nearly_known_is_doubtful",
    ),
    defect(
        209,
        "actions that are published are not added to an event that a definition has itself",
        Edit(
            "router/providers/catalogue.py",
            "actions=(*group.actions, *new)",
            "actions=group.actions",
        ),
        "shapes/test_real_paths.py::test_every_published_action_is_in_the_catalogue",
        "unit/providers/test_published.py::"
        "test_its_own_events_stay_first_as_they_are_and_gain_actions",
    ),
)
