"""Defects of proof that comes from elsewhere: published keys, certificates, issuers of tokens."""

from tests.defects.defect import Edit, defect

_BEARER, _CERTIFIED = "router/providers/bearer.py", "router/providers/certified.py"
_KEYS = "router/provider_calls/keys.py"
_INTAKE = "unit/intake/test_intake_keys.py"

PROVED_ELSEWHERE = (
    defect(
        192,
        "a key that is not known yet is refused for good",
        Edit(_BEARER, "return Refused(UNKNOWN_KEY, 503, ", "return Refused(UNKNOWN_KEY, 401, "),
        "unit/providers/test_bearer.py::test_an_unknown_key_is_worth_asking_again",
        f"{_INTAKE}::test_until_a_key_is_known_the_sender_tries_again",
    ),
    defect(
        193,
        "a token for others makes us fetch",
        Edit(
            _BEARER,
            "        if (refused := self._claimed(token, moment)) is not None:\n",
            "        if (refused := None) is not None:\n",
        ),
        f"{_INTAKE}::test_a_token_for_others_is_worth_no_fetch",
    ),
    defect(
        194,
        "a certificate is fetched from wherever a request says",
        Edit(_CERTIFIED, "if not is_allowed(text, rule.hosts):", "if not rule.hosts:"),
        "unit/providers/test_certified.py::test_only_hosts_of_the_list_are_asked",
    ),
    defect(
        195,
        "a certificate is believed that nobody vouches for",
        Edit(_KEYS, "            elif source.chained:\n", "            elif False:\n"),
        "unit/provider_calls/test_keys.py::test_a_certificate_that_nobody_vouches_for",
    ),
    defect(
        196,
        "every request with a made-up key makes a fetch",
        Edit(
            _KEYS,
            "if turn is not None and turn.not_before > now:",
            "if turn is not None and turn.not_before > now + 1e9:",
        ),
        "unit/provider_calls/test_keys.py::test_many_who_miss_a_key_make_one_fetch",
        "unit/provider_calls/test_keys.py::test_made_up_addresses_are_asked_one_a_second",
    ),
    defect(
        197,
        "a token that does not hold is taken",
        Edit(
            "router/providers/introspected.py",
            "if told.active is not True:",
            "if told.active is None:",
        ),
        "unit/providers/test_introspected.py::test_what_an_answer_means",
        f"{_INTAKE}::test_what_does_not_hold_is_refused",
    ),
    defect(
        198,
        "one sender's slow issuer takes every slot there is",
        Edit(
            "router/intake/awaiting.py",
            "in self._asking.items() if name == endpoint]",
            "in self._asking.items() if name]",
        ),
        f"{_INTAKE}::test_one_sender_s_proof_delays_nobody_else",
    ),
    defect(
        199,
        "a bad answer of an issuer is remembered",
        Edit(
            "router/provider_calls/introspection.py",
            "if told is None or told.active is not True:",
            "if told is None:",
        ),
        "unit/provider_calls/test_introspection.py::test_a_bad_answer_is_not_remembered",
    ),
    defect(
        295,
        "a token's time may be a number that no clock can be compared with",
        Edit("router/providers/bearer.py", "exp: float | None", "exp: int | float | None"),
        "acceptance/test_numbers.py::test_no_number_is_a_fault_of_the_router",
    ),
    defect(
        297,
        "a key set that is published is taken for a shared secret",
        Edit("router/providers/keys.py", "    if _is_jwk(text):\n", "    if not text:\n"),
        "unit/providers/test_keys.py::test_half_of_a_pair_is_no_secret_however_it_is_written",
    ),
    defect(
        298,
        "a secret that begins as a key does is refused",
        Edit(
            "router/providers/keys.py",
            "int.from_bytes(head[head.lastindex]) == len(der)",
            "int.from_bytes(head[head.lastindex]) > 0",
        ),
        "unit/providers/test_keys.py::test_a_random_secret_is_none_of_a_pair",
    ),
    defect(
        305,
        "a stranger with many connections takes all the questions there are",
        Edit(
            "router/intake/awaiting.py",
            "len(taken) >= SLOTS or taken.count(near) >= OF_ONE_ADDRESS:",
            "len(taken) >= SLOTS:",
        ),
        f"{_INTAKE}::test_of_the_slots_one_address_has_two",
        "acceptance/test_issuer.py::"
        "test_a_stranger_s_forged_tokens_keep_nobody_else_from_being_asked_about",
    ),
    defect(
        306,
        "a stranger's made-up certificates keep the genuine one from being fetched",
        Edit(
            _KEYS,
            "len(others) < WANTED_MAX and others.count(near) < OF_ONE_ADDRESS:",
            "len(others) < WANTED_MAX:",
        ),
        "unit/provider_calls/test_keys.py::"
        "test_a_stranger_s_made_up_addresses_keep_no_genuine_one_out",
    ),
    defect(
        319,
        "what was answered a moment ago is refused while strangers are asked about",
        Edit(
            "router/intake/awaiting.py",
            "elif (answer := self._asks.remembered(verdict.ask)) is None:",
            "elif (answer := None) is None:",
        ),
        f"{_INTAKE}::test_a_token_that_is_being_asked_about_is_not_asked_about_again",
    ),
)
