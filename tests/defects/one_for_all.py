"""Defects of what a stranger at our address gets, and of what one caller takes from all others."""

from tests.defects.defect import Edit, defect

_STRANGER = "acceptance/test_stranger.py::"

ONE_FOR_ALL = (
    defect(
        299,
        "a command sends its token to whatever listens at the admin address",
        Edit(
            "router/cli/shown_token.py",
            '            if wanted in answer.headers.get(PROOF, "").split():\n',
            "            if wanted:\n",
        ),
        f"{_STRANGER}test_no_command_sends_it_to_a_stranger",
    ),
    defect(
        300,
        "a proof that another address passes on is good there",
        Edit(
            "router/web/admin/proof.py",
            "{store}\\n{nonce}\\n{host}\\n{port}",
            "{store}\\n{nonce}",
        ),
        f"{_STRANGER}test_one_that_passes_the_question_on_gets_none",
    ),
    defect(
        370,
        "a proof is given to whoever comes through a proxy on this machine",
        Edit(
            "router/web/admin/browsers.py",
            "not forwarded and (is_loopback(client[0]) or client[0] == own)",
            "(client[0] == own or (not forwarded and is_loopback(client[0])))",
        ),
        "unit/web/admin/test_answers_whole.py::test_only_a_client_on_this_machine_is_given_a_proof",
    ),
    defect(
        301,
        "a router that was started with --admin is not found without it",
        Edit(
            "router/cli/admin.py",
            "place.admin or served_at(server.store) or server.admin",
            "place.admin or server.admin",
        ),
        f"{_STRANGER}test_one_that_passes_the_question_on_gets_none",
    ),
    defect(
        302,
        "a token that logs in again and again ends the sessions of others",
        Edit(
            "router/web/pages/sessions.py",
            "oldest_of_largest({d: one.token for d, one in self._held.items()})",
            "next(iter(self._held))",
        ),
        "unit/web/pages/test_sessions.py::"
        "test_one_more_than_are_kept_ends_the_oldest_of_whoever_has_the_most",
    ),
    defect(
        303,
        "a token that listens to the signal many times keeps others from it",
        Edit(
            "router/web/signal.py",
            "(taken >= LISTENERS_MAX and none_has_more)",
            "taken >= LISTENERS_MAX",
        ),
        "unit/web/test_signal.py::test_one_caller_that_takes_all_places_gives_one_to_another",
    ),
    defect(
        304,
        "a restore replaces the store without a question",
        Edit(
            "router/cli/store.py",
            "if store.exists() and not consent.yes:",
            "if False:",
        ),
        "unit/cli/test_store.py::test_a_restore_says_what_is_not_in_it",
    ),
)
