"""Names that lead to private addresses: refused, told, tried again."""

from tests.defects.defect import Edit, defect

_SSRF = "wire/test_calls_addresses.py"
PRIVATE_NAMES = (
    defect(
        320,
        "a name that leads to a private address is dead at once",
        Edit(
            "router/actions/http.py",
            'FailOutcome(reason) if error.lasting else RetryOutcome("network", reason)',
            "FailOutcome(reason)",
        ),
        f"{_SSRF}::test_as_the_answer_to_a_name",
    ),
    defect(
        321,
        "a refusal names the host of an address that is a secret",
        Edit(
            "router/actions/http.py",
            'host = "its host" if secret else error.host',
            "host = error.host",
        ),
        f"{_SSRF}::test_a_host_that_is_secret_is_not_named",
    ),
    defect(
        322,
        "check takes services of Kubernetes for public names",
        Edit("router/egress.py", '".lan", ".svc",', '".lan",'),
        "unit/test_egress.py::test_private_names",
    ),
    defect(
        323,
        "doctor takes every address for one that may be called",
        Edit(
            "router/cli/doctor_offline.py",
            "            policy.check(address, host)\n",
            "            policy.check(address, host, literal=True)\n",
        ),
        "unit/cli/test_doctor_targets.py::test_a_name_is_judged_by_its_addresses",
    ),
)
