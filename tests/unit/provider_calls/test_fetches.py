"""What is noted of fetches: the last good one, the last failure, and no more than is needed."""

from router.model.fetched import Fetched
from router.provider_calls.fetches import CHOSEN_MAX, Fetches

URL = "https://keys.example/jwks"


def test_a_failure_stands_until_a_good_answer() -> None:
    fetches = Fetches()
    fetches.needed("key set", [URL])
    assert fetches.states() == {URL: Fetched("key set")}
    fetches.good(URL, "key set", 1000)
    fetches.failed(URL, "key set", 2000, "HTTP 500")
    fetches.good(URL, "key set", 1000)  # another node's, or an earlier run's
    assert fetches.states() == {URL: Fetched("key set", 1000, 2000, "HTTP 500")}
    assert (fetches.known(), fetches.failures) == ({"key_set": 1, "certificate": 0}, {"key_set": 1})
    assert fetches.good_at("key set") == {URL: 1.0}
    fetches.good(URL, "key set", 3000)
    assert fetches.states() == {URL: Fetched("key set", 3000)}


def test_only_what_is_needed_is_told() -> None:
    fetches = Fetches()
    fetches.good(URL, "key set", 1)
    fetches.failed("https://issuer.example", "token issuer", 1, "no connection")
    fetches.needed("key set", [])
    assert list(fetches.states()) == ["https://issuer.example"]


def test_addresses_that_strangers_chose_push_out_no_other() -> None:
    fetches = Fetches()
    fetches.needed("key set", [URL])
    for n in range(CHOSEN_MAX + 2):
        fetches.failed(f"https://c.example/{n}", "certificate", n, "HTTP 404")
    assert len(fetches.states()) == CHOSEN_MAX + 1
    assert URL in fetches.states()
