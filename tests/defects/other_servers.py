"""Defects of the router behind another ASGI server, and of the admin listener's bridge."""

from tests.defects.defect import Edit, defect

OTHER_SERVERS = (
    defect(
        378,
        "behind a proxy on the same machine everybody reads the metrics without a token",
        Edit("router/asgi.py", '[*scope["headers"], _FORWARDED]', 'scope["headers"]'),
        "acceptance/test_asgi.py::test_paths_are_divided_and_operators_always_need_a_token",
    ),
    defect(
        379,
        "an application that mounts the router finds none of its endpoints",
        Edit("router/asgi.py", '{**scope, "raw_path": below,', "{**scope,"),
        "docs/test_asgi_page.py::test_an_application_takes_deliveries",
    ),
    defect(
        380,
        "an endless answer gathers in memory while its client does not read",
        Edit("router/web/admin/asgi.py", "        await request.connection.drain()\n", ""),
        "unit/web/admin/test_asgi.py::test_who_does_not_read_holds_little_and_delays_nobody",
    ),
)
