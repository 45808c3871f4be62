"""What senders could not deliver, as their APIs list it: for `tests.api_server`."""

from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

PAGE = 3
"""Items on a page, whatever is asked for: the pages of a test are many."""


class Attempt(NamedTuple):
    """One attempt of a delivery, as the code host keeps it; `at` in Unix seconds."""

    id: int
    guid: str
    at: int
    status: str = "OK"
    event: str = "push"

    def as_json(self) -> dict[str, Any]:
        """As it is listed."""
        return {
            "id": self.id,
            "guid": self.guid,
            "delivered_at": datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "redelivery": False,
            "duration": 0.27,
            "status": self.status,
            "status_code": 200 if self.status == "OK" else 0,
            "event": self.event,
            "action": None,
            "installation_id": None,
            "repository_id": 42,
            "throttled_at": None,
        }


class MissedApi:
    """
    `attempts` and `events` are newest first. An attempt that is asked for becomes a new one, with
    the status `again`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.hooks = [{"id": 7, "config": {"url": "https://hooks.example.com/wh_x"}}]
        self.attempts: list[Attempt] = []
        self.events: list[dict[str, Any]] = []
        self.again = "OK"
        self.redelivered: list[int] = []

    def list_hooks(self) -> Any:
        """Of a repository or an organization."""
        return self.hooks

    def list_attempts(self, path: str) -> tuple[Any, dict[str, str]]:
        """A page, and its headers."""
        query = parse_qs(urlsplit(path).query)
        assert query["per_page"] == ["100"]
        ids, begin = [one.id for one in self.attempts], 0
        if place := query.get("cursor"):
            begin = ids.index(int(place[0].removeprefix("v1_")))
        page, after = self.attempts[begin : begin + PAGE], ids[begin + PAGE :]
        link = {}
        if after:
            at = f"{self.url}{urlsplit(path).path}?per_page=100&cursor=v1_{after[0]}"
            link = {"Link": f'<{at}&prev>; rel="prev", <{at}>; rel="next"'}
        return [one.as_json() for one in page], link

    def redeliver(self, number: int) -> bool:
        """Make one attempt again; whether there is such a one."""
        found = [one for one in self.attempts if one.id == number]
        if found:
            self.redelivered.append(number)
            new = found[0]._replace(id=len(self.attempts) + 1_000, status=self.again)
            self.attempts.insert(0, new)
        return bool(found)

    def list_events(self, path: str) -> Any:
        """A page of events that were not delivered."""
        query = parse_qs(urlsplit(path).query)
        assert query["delivery_success"] == ["false"]
        assert query["limit"] == ["100"]
        since = int(query["created[gte]"][0])
        listed = [one for one in self.events if one["created"] >= since]
        if after := query.get("starting_after"):
            listed = listed[1 + [one["id"] for one in listed].index(after[0]) :]
        return {"object": "list", "data": listed[:PAGE], "has_more": len(listed) > PAGE}
