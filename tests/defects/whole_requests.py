"""Defects of proof by more than headers and the body's bytes: fields, forms, addresses, hashes."""

from tests.defects.defect import Edit, defect

EVIDENCE = "router/providers/evidence.py"
COMPOSED = "router/providers/composed.py"
PROOFS = "conformance/test_proofs.py::"

WHOLE_REQUESTS = (
    defect(
        177,
        "the hash that is signed is not compared with the body's",
        Edit(COMPOSED, "        if self._hash is None:\n", "        if evidence is not None:\n"),
        f"{PROOFS}test_whatever_is_signed_is_proved",
    ),
    defect(
        178,
        "of the items of a batch the first proves all",
        Edit(
            EVIDENCE,
            "        for one in evidence.items(scheme.rule.each):\n",
            "        for one in evidence.items(scheme.rule.each)[:1]:\n",
        ),
        f"{PROOFS}test_every_item_of_a_batch_is_proved",
    ),
    defect(
        179,
        "a body of any size is decoded for a signature in it",
        Edit(EVIDENCE, "> most and not self.proved:\n", "> most and self.proved:\n"),
        f"{PROOFS}test_a_large_body_is_not_read_for_a_proof",
        f"{PROOFS}test_a_large_form_is_split_and_a_larger_one_refused",
    ),
    defect(
        180,
        "a body that is no form is signed as an empty one",
        Edit(
            EVIDENCE,
            "        if not self.is_form:\n            return None\n",
            "        if not self.is_form:\n            return b''\n",
        ),
        "unit/providers/test_evidence.py::test_what_is_no_form_is_not_signed_as_one",
    ),
    defect(
        181,
        "a body that may be left out of what is signed passes for covered",
        Edit(
            "router/providers/proof_validation.py",
            "for optional, piece in pieces(rule.message) if not optional for word in piece",
            "for optional, piece in pieces(rule.message) for word in piece",
        ),
        "unit/providers/test_definition.py::test_contradictions_are_named",
    ),
    defect(
        182,
        "of two signatures in the query the first counts",
        Edit(EVIDENCE, "    if len(values) > 1:\n", "    if len(values) > 9:\n"),
        "unit/providers/test_evidence.py::test_what_came_twice_and_differs_is_ambiguous",
    ),
    defect(
        183,
        "a token in the body is kept with it",
        Edit(
            "router/providers/provider.py",
            "        for rule in self._shown_fields:\n",
            "        for rule in self._shown_fields[1:]:\n",
        ),
        "unit/providers/test_hiding.py::test_a_token_in_json",
        "unit/providers/test_hiding.py::test_a_token_in_a_form",
    ),
    defect(
        184,
        "an RSA key of any size verifies",
        Edit(
            "router/providers/rsa.py",
            '    key = _from_json(stripped) if stripped.startswith(b"{") else '
            "any_public(mend(stripped).der)\n"
            '    if algorithm_of(key) != "RS256":\n',
            '    key = _from_json(stripped) if stripped.startswith(b"{") else '
            "any_public(mend(stripped).der)\n"
            '    if not hasattr(key, "key_size"):\n',
        ),
        "unit/providers/test_public_keys.py::test_other_keys_are_refused",
    ),
    defect(
        185,
        "a time that is no header's may be of any age",
        Edit(
            COMPOSED,
            "        if self._stamp is None or allowed is None:\n",
            "        if not self._stamp_part or allowed is None:\n",
        ),
        f"{PROOFS}test_a_stale_request_is_refused_as_such",
    ),
    defect(
        186,
        "the first secret that fits a signature in the query ends the search",
        Edit(
            COMPOSED,
            "        fitting = [s.name for s in secrets if self._fits(",
            "        fitting = [s.name for s in secrets[:1] if self._fits(",
        ),
        "unit/providers/test_constant_time.py::"
        "test_a_signature_that_stands_elsewhere_is_compared_with_every_secret",
        f"{PROOFS}test_of_several_secrets_the_right_one_is_named",
    ),
)
