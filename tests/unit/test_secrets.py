"""References become values; missing ones are named, values never shown."""

from collections.abc import Mapping

import pytest

from router.errors import SecretMissing
from router.secrets import resolve, weak

FILES = {
    "/keys/a": b"value\n",
    "/keys/crlf": b"value\r\n",
    "/keys/two": b"value\n\n",
    "/keys/empty": b"\n",
    "/run/c/tok": b"credential",
}


def read_file(path: str) -> bytes:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


def value(
    environ: Mapping[str, str] | None = None, directory: str | None = None, **reference: str
) -> bytes:
    return resolve(
        environ=environ or {},
        read_file=read_file,
        credentials_directory=directory,
        env=reference.get("env"),
        file=reference.get("file"),
        credential=reference.get("credential"),
    )


def test_a_variable_is_taken_as_it_is() -> None:
    assert value({"TOKEN": "value\n"}, env="TOKEN") == b"value\n"
    assert value({"TOKEN": "\udcff"}, env="TOKEN") == b"\xff"


@pytest.mark.parametrize("path", ["/keys/a", "/keys/crlf"])
def test_one_line_break_of_a_file_is_dropped(path: str) -> None:
    assert value(file=path) == b"value"


def test_a_second_line_break_stays() -> None:
    assert value(file="/keys/two") == b"value\n"


@pytest.mark.parametrize("directory", ["/run/c", "/run/c/"])
def test_a_credential_is_a_file_of_its_directory(directory: str) -> None:
    assert value(credential="tok", directory=directory) == b"credential"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"env": "TOKEN"}, "variable TOKEN is not set"),
        ({"env": "EMPTY"}, "variable EMPTY is empty"),
        ({"file": "/keys/none"}, "file /keys/none cannot be read: No such file"),
        ({"file": "/keys/empty"}, "file /keys/empty is empty"),
        ({"credential": "tok"}, "CREDENTIALS_DIRECTORY is not set"),
        ({}, "neither"),
    ],
)
def test_what_is_missing_is_named(reference: dict[str, str], words: str) -> None:
    with pytest.raises(SecretMissing, match=words):
        value({"EMPTY": ""}, **reference)


@pytest.mark.parametrize("name", ["../etc/shadow", "a/b", "..", "."])
def test_a_credential_is_a_plain_name(name: str) -> None:
    with pytest.raises(SecretMissing, match="plain name"):
        value(credential=name, directory="/run/c")


def test_short_values_are_weak() -> None:
    assert weak(b"x" * 15)
    assert not weak(b"x" * 16)
