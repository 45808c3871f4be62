"""
Signed examples that a sender, or its library, publishes: `vectors/NAME.json`, each with its source.

A definition whose `oracle` is `vector` has one here or among those of test_vectors.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Verified
from router.providers import builtin
from router.providers.waiting import Waiting
from tests.clients.libraries import LIBRARIES
from tests.conformance.test_vectors import BUILT_IN
from tests.unit.providers.makers import SENDERS, a_provider, a_request, a_secret, changed

FILES = sorted((Path(__file__).parent / "vectors").glob("*.json"))
VECTORS = [
    pytest.param(file.stem, vector, id=f"{file.stem}-{index}")
    for file in FILES
    for index, vector in enumerate(json.loads(file.read_bytes()))
]


def request_of(vector: dict[str, Any]) -> InboundRequest:
    """`url` is the address that the sender was told, where it signs that."""
    request = a_request(vector["headers"].items(), vector["body"].encode())
    query, url = vector.get("query", "").encode(), vector.get("url", "")
    return changed(request, query_string=query, public_url=url)


def is_verified(name: str, vector: dict[str, Any], request: InboundRequest) -> bool:
    secrets = [a_secret(vector["secret"].encode())]
    found = a_provider(name).judge(request, secrets, now_ms=vector.get("now", 0) * 1000)
    while isinstance(found, Waiting):  # each way of proof asks for itself
        found = found.then(vector["certificate"].encode())
    return isinstance(found, Verified)


@pytest.mark.parametrize(("name", "vector"), VECTORS)
def test_what_the_sender_publishes_is_genuine_and_nothing_near_it(
    name: str, vector: dict[str, Any]
) -> None:
    assert vector["source"]
    request = request_of(vector)
    assert is_verified(name, vector, request)
    partial = a_provider(name).definition.verify.partial  # not all of the body is signed
    near = request.body.replace(b"5", b"6") if partial else request.body + b" "
    assert not is_verified(name, vector, changed(request, body=near))
    other = vector | {"secret": vector["secret"][:-1] + "~"}
    assert not is_verified(name, other, request)


@pytest.mark.parametrize(("name", "vector"), VECTORS)
def test_a_handshake_gets_the_answer_that_is_published(name: str, vector: dict[str, Any]) -> None:
    secrets = [a_secret(vector["secret"].encode())]
    answer = a_provider(name).answer(request_of(vector), secrets, Verified(secrets[0].name))
    assert (answer and json.loads(answer.body or b"null")) == vector.get("answer")


@pytest.mark.parametrize("name", SENDERS)
def test_the_oracle_is_as_the_definition_says(name: str) -> None:
    provider = builtin()[name]
    names = {provider.name, *provider.aliases}
    vectors = {file.stem for file in FILES} | {*BUILT_IN.values()}
    has = {
        "library": bool(names & {library.provider for library in LIBRARIES}),
        "vector": bool(names & vectors),
    }
    assert has.get(provider.definition.oracle, not has["library"])
