"""Routers elsewhere, kept in a file of the user's: which of them a command speaks to."""

from pathlib import Path

import pytest

from router.cli.contexts import (
    KnownRouter,
    KnownRouters,
    name_for,
    path_of,
    read_contexts,
    router_asked,
    write_contexts,
)
from router.errors import UsageError

PROD = KnownRouter("https://ops.example.net", "t-prod")
BOTH = KnownRouters("prod", {"prod": PROD, "test": KnownRouter("http://127.0.0.1:8001")})


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    write_contexts(path_of(environ), BOTH)
    return environ


def test_what_is_written_is_read_and_is_the_owners_alone(environ: dict[str, str]) -> None:
    path = path_of(environ)
    assert read_contexts(path) == BOTH
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_no_file_means_the_router_here(tmp_path: Path) -> None:
    assert router_asked(None, {"HOME": str(tmp_path)}) == (None, None, None)


def test_a_damaged_file_is_an_error_that_names_it(environ: dict[str, str]) -> None:
    path_of(environ).write_text('{"routers": {"prod": 7}}', "utf-8")
    with pytest.raises(UsageError, match=r"contexts.json is damaged .* log in again"):
        router_asked(None, environ)


def test_the_one_in_use_is_asked_with_its_own_token(environ: dict[str, str]) -> None:
    """A token in the environment may be another router's: it is not shown to this one."""
    asked = router_asked(None, {**environ, "ROUTER_TOKEN": "another's"})
    assert asked == ("prod", PROD.server, "t-prod")


@pytest.mark.parametrize(
    ("server", "more", "asked"),
    [
        ("test", {}, ("test", "http://127.0.0.1:8001", None)),
        ("local", {}, (None, None, None)),
        (None, {"ROUTER_CONTEXT": "local"}, (None, None, None)),
        (None, {"ROUTER_CONTEXT": "test"}, ("test", "http://127.0.0.1:8001", None)),
        ("https://ops.example.net/", {}, ("prod", PROD.server, "t-prod")),
        (PROD.server, {"ROUTER_TOKEN": "x"}, (None, PROD.server, "x")),
        ("https://new.example.net", {}, (None, "https://new.example.net", None)),
    ],
)
def test_which_router_is_meant(
    environ: dict[str, str], server: str | None, more: dict[str, str], asked: tuple[str | None, ...]
) -> None:
    assert router_asked(server, environ | more) == asked


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("prot", r"no router is known as 'prot'; did you mean 'prod'\?"),
        ("elsewhere", "known are: local, prod, test; `router login URL` adds one"),
        ("ops.example.net:8001", "--server takes a URL like https://"),
    ],
)
def test_a_router_that_nobody_knows(environ: dict[str, str], server: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        router_asked(server, environ)


def test_use_and_forget() -> None:
    assert BOTH.using(None).chosen({}) is None
    assert BOTH.using("test").chosen({}) == "test"
    assert BOTH.without("prod") == KnownRouters(None, {"test": BOTH.routers["test"]})
    assert BOTH.without("test").in_use == "prod"
    with pytest.raises(UsageError, match="no router is known as 'x'"):
        BOTH.using("x")


def test_no_token_is_printed() -> None:
    assert "t-prod" not in repr(BOTH)


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("https://ops.example.net", "ops.example.net"),
        ("http://127.0.0.1:8001", "127.0.0.1-8001"),
        ("https://OPS.example.net:8443/", "ops.example.net-8443"),
        ("http://[::1]:8001", "1-8001"),
    ],
)
def test_a_router_without_a_name_has_that_of_its_host(server: str, name: str) -> None:
    assert name_for(server) == name
