"""Defects of our own choice: proof, egress, what leaves us, the listeners, what targets may do."""

from tests.defects.defect import Edit, defect

PROOF = (
    defect(
        52,
        "the first secret that fits ends the search",
        Edit(
            "router/providers/signed.py",
            "            if check(secret.value, signatures, message):\n",
            "            if not fitting and check(secret.value, signatures, message):\n",
        ),
        "unit/providers/test_constant_time.py::"
        "test_a_single_signature_is_compared_with_every_secret",
    ),
    defect(
        53,
        "the first signature that fits ends the search",
        Edit(
            "router/providers/signatures.py",
            "        return True in [equal(right, signature) for signature in signatures]\n",
            "        return any(equal(right, signature) for signature in signatures)\n",
        ),
        "unit/providers/test_constant_time.py::test_every_signature_is_compared_with_every_secret",
    ),
    defect(
        54,
        "tokens compared with ==",
        Edit(
            "router/providers/credentials.py",
            "    return hmac.compare_digest(digest, expected) and usable\n",
            "    return digest == expected and usable\n",
        ),
        "unit/providers/test_constant_time.py::"
        "test_a_token_is_compared_with_every_secret_whatever_their_lengths",
        "unit/providers/test_constant_time.py::test_a_password_is_compared_with_every_secret",
    ),
    defect(
        55,
        "an empty key signs",
        Edit(
            "router/providers/keys.py",
            '    if is_empty(secret):\n        raise UnusableKeyError("the secret is empty")\n',
            "",
        ),
        "unit/providers/test_signatures.py::"
        "test_nothing_and_halves_of_key_pairs_are_no_shared_secret",
    ),
    defect(
        56,
        "base64 with junk in it is a signature",
        Edit(
            "router/providers/signatures.py",
            "        raw = binascii.a2b_base64(text, strict_mode=True)\n"
            "    except binascii.Error:\n        return None\n"
            "    return raw if raw and binascii.b2a_base64(raw, newline=False) == text else None\n",
            "        return binascii.a2b_base64(text) or None\n"
            "    except binascii.Error:\n        return None\n",
        ),
        "unit/providers/test_signatures.py::test_no_base64",
    ),
    defect(
        57,
        "a time that is far ahead is fresh",
        Edit(
            "router/providers/scheme.py",
            "    return abs(now_ms - timestamp_ms) > tolerance_s * 1000\n",
            "    return now_ms - timestamp_ms > tolerance_s * 1000\n",
        ),
        "unit/providers/test_verify.py::test_the_tolerance_holds_both_ways",
    ),
    defect(
        58,
        "a timestamp of any digits",
        Edit(
            "router/providers/times.py",
            "    fits = len(text) <= SECONDS_DIGITS_MAX and text.isdigit()\n",
            "    fits = text.strip().lstrip(b'+-').isdigit()\n",
        ),
        "unit/providers/test_verify.py::test_only_plain_digits_are_a_timestamp",
    ),
    defect(
        59,
        "of two headers the last one counts",
        Edit(
            "router/providers/headers.py",
            "            if name in part and found.setdefault(part[name], value) != value:\n"
            '                return Ambiguous(part[name].decode("ascii"))\n',
            "            if name in part:\n                found[part[name]] = value\n",
        ),
        "conformance/test_providers.py::test_doubled_headers_that_differ_are_ambiguous",
    ),
    defect(
        60,
        "a secret verifies after its end",
        Edit(
            "router/rules/live.py",
            "            if n in self._live and (n not in ended or now_ms < ended[n])\n",
            "            if n in self._live or n in ended\n",
        ),
        "unit/intake/test_intake.py::test_an_ended_secret_verifies_nothing",
    ),
    defect(
        61,
        "a token for somebody else opens the door",
        Edit(
            "router/providers/bearer.py",
            "        elsewhere = (audience is not None or meant) and audience not in meant\n",
            "        elsewhere = audience is not None and audience not in meant\n",
        ),
        "unit/providers/test_bearer.py::test_a_token_for_somebody_is_not_for_whoever_names_nobody",
    ),
    defect(
        62,
        "credentials are stored with the headers",
        Edit(
            "router/model/headers.py",
            '_SENSITIVE = frozenset({b"authorization", b"cookie", b"proxy-authorization"})',
            '_SENSITIVE = frozenset({b"cookie", b"proxy-authorization"})',
        ),
        "unit/intake/test_intake.py::test_credentials_are_removed_before_anything_stores_them",
    ),
)

EGRESS = (
    defect(
        63,
        "what an address carries is not looked at",
        Edit(
            "router/egress.py",
            "        faces = (found, *_carried(found))\n",
            "        faces = (found,)\n",
        ),
        "unit/test_egress.py::test_metadata_is_never_called",
    ),
    defect(
        64,
        "a literal address may be a metadata service",
        Edit(
            "router/egress.py",
            "        if any(face in _METADATA for face in faces):\n",
            "        if not literal and any(face in _METADATA for face in faces):\n",
        ),
        "unit/test_egress.py::test_metadata_is_never_called",
        "wire/test_calls_addresses.py::test_metadata_as_a_host_whatever_is_allowed",
    ),
    defect(
        65,
        "short and octal forms count as addresses",
        Edit(
            "router/egress.py",
            "    try:\n"
            '        return ip_address(host.strip("[]").partition("%")[0])\n'
            "    except ValueError:\n        return None\n",
            "    import socket\n\n"
            "    try:\n"
            '        return ip_address(host.strip("[]").partition("%")[0])\n'
            "    except ValueError:\n"
            "        try:\n"
            "            return IPv4Address(socket.inet_aton(host))\n"
            "        except (OSError, ValueError):\n"
            "            return None\n",
        ),
        "unit/test_egress.py::test_odd_spellings_are_no_literals_and_no_addresses",
    ),
    defect(
        66,
        "one allowed answer opens the others",
        Edit(
            "router/actions/http_client/dialling.py",
            "        self._egress.check(address, host, literal="
            "is_written(address, host, (host,)))\n",
            "        from contextlib import suppress\n\n"
            '        opened = self.__dict__.setdefault("opened", set())\n'
            "        with suppress(*[EgressRefused] * (host in opened)):\n"
            "            self._egress.check(address, host, literal="
            "is_written(address, host, (host,)))\n"
            "        opened.add(host)\n",
        ),
        "wire/test_calls_addresses.py::test_behind_an_allowed_answer_where_nobody_is",
    ),
    defect(
        67,
        "the environment names a proxy",
        Edit(
            "router/actions/http_client/dialling.py",
            "        addresses = await self._addresses_of(host)\n",
            "        from os import environ\n"
            "        from urllib.parse import urlsplit\n\n"
            '        if proxy := environ.get("http_proxy"):\n'
            "            port = urlsplit(proxy).port or 80\n"
            '            host = urlsplit(proxy).hostname or ""\n'
            "        addresses = await self._addresses_of(host)\n",
        ),
        "wire/test_calls_addresses.py::test_the_environment_names_no_proxy",
    ),
    defect(
        68,
        "what was not written counts as written",
        Edit(
            "router/egress.py",
            "return found == literal_address(host) or (is_local_name(host) and found.is_loopback)",
            "return found == literal_address(host) or found.is_loopback",
        ),
        "wire/test_calls_addresses.py::test_as_a_host",
    ),
    defect(
        69,
        "an answer of any length is kept",
        Edit(
            "router/actions/http_client/response.py",
            "ANSWER_MAX = 64 * 1024\n",
            "ANSWER_MAX = 1 << 40\n",
        ),
        "wire/test_calls.py::test_an_answer",
    ),
    defect(
        70,
        "a payload becomes an option",
        Edit(
            "router/kinds/shell.py",
            'text.startswith("-") and not options_ended:',
            'text.startswith("--") and not options_ended:',
        ),
        "unit/rules/test_render.py::test_payload_never_becomes_an_option",
    ),
    defect(
        71,
        "a dotted path segment goes out",
        Edit(
            "router/kinds/templates.py",
            '        if _MARK in segment and segment.replace(_MARK, "") in _DOTTED:\n',
            '        if _MARK in segment and segment.replace(_MARK, "") == "":\n',
        ),
        "unit/rules/test_render.py::test_an_empty_or_dotted_segment_is_refused",
    ),
)

LISTENERS = (
    defect(
        72,
        "chunks without end are taken",
        Edit(
            "router/web/wire_request.py",
            "if self.size > self.body_max:",
            "if self.length and self.size > self.body_max:",
        ),
        "wire/test_rows.py::test_it_is_as_the_row_says[chunks without end]",
    ),
    defect(
        73,
        "a viewer may change",
        Edit(
            "router/web/admin/callers.py",
            'if not caller.may(access := row.get("access", "viewer")):',
            'if (access := row.get("access", "viewer")) and not caller.role:',
        ),
        "unit/web/admin/test_matrix.py::test_who_may_do_what",
    ),
    defect(
        74,
        "a page of another site may ask",
        Edit(
            "router/web/admin/api.py",
            '        check_origin(scope["headers"], scope["scheme"], state["host"])\n',
            "",
        ),
        "unit/web/admin/test_matrix.py::test_nobody_comes_from_another_site_or_by_another_name",
    ),
    defect(
        75,
        "any Host is ours",
        Edit(
            "router/web/admin/browsers.py",
            "        if name in self._names or is_loopback(name) or numbered:\n",
            "        if name or numbered:\n",
        ),
        "unit/web/admin/test_matrix.py::test_nobody_comes_from_another_site_or_by_another_name",
        "unit/web/admin/test_callers.py::test_by_which_names_it_is_called",
    ),
    defect(
        76,
        "an empty token is a token",
        Edit(
            "router/web/admin/callers.py",
            " for one in self._held() if one.value]",
            " for one in self._held()]",
        ),
        "unit/web/admin/test_callers.py::test_a_token_without_a_value_is_nobody_s",
    ),
    defect(
        77,
        "the first token that fits ends the search",
        Edit(
            "router/web/admin/callers.py",
            "            found = caller\n",
            "            found = caller\n            break\n",
        ),
        "unit/web/admin/test_callers.py::test_a_token_is_compared_with_every_one_that_counts",
    ),
    defect(
        78,
        "a form of another session will do",
        Edit(
            "router/web/pages/sessions.py",
            '    return hmac.compare_digest(given.encode("utf-8"), form.encode("utf-8"))\n',
            "    return bool(given) and bool(form)\n",
        ),
        "unit/web/pages/test_sessions.py::"
        "test_forms_differ_from_session_to_session_and_are_not_the_id",
    ),
    defect(
        79,
        "of two equal keys the last one counts, silently",
        Edit(
            "router/yaml_source/reading.py",
            "        first = parent.entries.setdefault(key.value, (key, value))[0]\n",
            "        parent.entries[key.value] = (key, value)\n        first = key\n",
        ),
        "unit/yaml_source/test_reading.py::test_what_is_refused",
    ),
    defect(
        80,
        "a reload is in force before its tests have run",
        Edit(
            "router/serving/reload.py",
            "            await self._steps.prove(new)\n",
            "            self._live.swap(new)\n            await self._steps.prove(new)\n",
        ),
        "unit/serving/test_reload.py::test_a_file_whose_tests_fail_is_never_in_force_nor_kept",
    ),
)

TARGETS = (
    defect(
        81,
        "a redirect is followed for GET",
        Edit(
            "router/actions/http.py",
            "        try:\n            outcome: Outcome | Exception = self._classed",
            '        if call.method == "GET" and 300 <= getattr(found, "status", 0) < 400:\n'
            "            from urllib.parse import urljoin\n\n"
            "            import msgspec\n\n"
            '            url = urljoin(call.url, dict(found.headers)["location"])\n'
            "            self._begun(msgspec.structs.replace(call, url=url), None, ended)\n"
            "            return\n"
            "        try:\n            outcome: Outcome | Exception = self._classed",
        ),
        "wire/test_calls.py::test_an_answer[asyncio-http-a redirect of GET, 302]",
    ),
    defect(
        82,
        "a lone carriage return stays in a header",
        Edit(
            "router/kinds/http.py",
            r'FORBIDDEN_IN_HEADER = re.compile(r"[\r\n\0]")',
            r'FORBIDDEN_IN_HEADER = re.compile(r"[\n\0]")',
        ),
        "unit/rules/test_render.py::test_a_line_break_in_a_header_is_refused",
    ),
    defect(
        83,
        "a plugin's process inherits the router's environment",
        Edit(
            "router/actions/tethered.py",
            "Child(command, env, folder",
            "Child(command, {**os.environ, **env}, folder",
        ),
        "unit/actions/test_python.py::test_a_process_starts_with_the_given_environment_alone",
    ),
    defect(
        84,
        "answers are parsed without a bound on what comes beside their content",
        Edit(
            "router/actions/http_client/response.py",
            "if (excess := self._excess()) is not None:",
            "if (excess := None) is not None:",
        ),
        "wire/test_calls.py::test_an_answer",
    ),
    defect(
        85,
        "all that lies in a socket is parsed in one turn of the loop",
        Edit(
            "router/actions/http_client/response.py",
            "PIECE = 4 * 1024\n",
            "PIECE = 256 * 1024\n",
        ),
        "unit/actions/http_client/test_response.py::"
        "test_no_more_than_a_piece_behind_too_much_is_parsed",
    ),
    defect(
        86,
        "what a command left in its folder is removed by the loop itself",
        Edit(
            "router/actions/process_limits.py",
            "await asyncio.to_thread(_removed, folder, files)",
            "_removed(folder, files)",
        ),
        "unit/actions/test_hostile_commands.py::test_a_command_that_means_harm",
    ),
    defect(
        87,
        "a plugin may begin for ever",
        Edit(
            "router/actions/plugin_child.py",
            "            if self._begun:  # at most one",
            "            if False:  # at most one",
        ),
        "faults/test_hostile_plugins.py::test_words_on_every_descriptor",
    ),
)

BORDERS = (*PROOF, *EGRESS, *LISTENERS, *TARGETS)
