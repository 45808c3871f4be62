"""Defects of what is kept of people, for how long, and what is handed over of it."""

from tests.defects.defect import Edit, defect

PEOPLES_DATA = (
    defect(
        259,
        "an endpoint's own retention counts for nothing in a file",
        Edit(
            "router/store/sqlite/pruning.py",
            '_OF.format(name) if of else f":{name}"',
            'f":{name}"',
        ),
        "conformance/test_retention.py::test_an_endpoint_has_times_of_its_own",
    ),
    defect(
        260,
        "in a database what an endpoint keeps for less waits until its day is over",
        Edit(
            "router/store/postgres/finished.py",
            "return max(latest // DAY_MS * DAY_MS, self.finished, *own)",
            "return max(latest // DAY_MS * DAY_MS, self.finished)",
        ),
        "conformance/test_retention.py::test_an_endpoint_has_times_of_its_own",
    ),
    defect(
        261,
        "with an event of a batch all others are handed over",
        Edit("router/operator/subject.py", "if one.index in data.events", "if one"),
        "unit/operator/test_exporting.py::test_of_a_batch_the_others_are_left_out",
    ),
    defect(
        262,
        "what a job for a whole batch put out is handed over to one of many",
        Edit(
            "router/operator/subject.py",
            "if not data.whole and not indexes(job) <= data.events:",
            "if not indexes(job) & data.events:",
        ),
        "unit/operator/test_exporting.py::test_what_came_of_a_job_for_others_too_is_left_out",
    ),
    defect(
        263,
        "what the router told of a person's jobs is not found",
        Edit("router/operator/subject.py", 'return (payload["delivery"],)', "return ()"),
        "conformance/test_subject.py::test_a_batch_in_part_and_what_the_router_told",
    ),
)
