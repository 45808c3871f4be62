"""Defects of a store's address, which is a secret."""

from tests.defects.defect import Edit, defect

ADDRESSES = (
    defect(
        120,
        "the password of the store's database reaches logs and outputs",
        Edit(
            "router/wiring/stores.py",
            "    logs.keep_secret((address.url.url, *address.url.passwords))\n",
            "",
        ),
        "unit/wiring/test_stores.py::test_no_log_nor_error_shows_the_password_that_was_used",
    ),
    defect(
        121,
        "the address of the store is kept in the store, as a value of its generation",
        Edit("router/config/context.py", "        if kept:\n", "        if True:\n"),
        "unit/config/test_store_setting.py::"
        "test_what_is_this_machine_s_own_is_no_part_of_the_generation",
    ),
    defect(
        122,
        "a password with a slash in it is shown as part of the database's name",
        Edit(
            "router/model/store_address.py",
            '.rpartition("@")\n',
            '.partition("/")[0].rpartition("@")\n',
        ),
        "unit/model/test_store_address.py::test_of_a_database_host_and_name_are_shown",
    ),
    defect(
        123,
        "a router that makes only records of its calls joins others that call",
        Edit(
            "router/wiring/launch.py",
            " and not (store.shared and DRY in facts)",
            "",
        ),
        "unit/wiring/test_launch.py::test_of_a_shared_store_the_first_says_though_it_is_empty",
    ),
)
