"""Why a command finds no router to ask at the admin address."""

import click


class NoServer(click.ClickException):
    """Nothing listens at the admin address: verbs may take the store's lock themselves."""


class NotThisRouter(NoServer):
    """Something else than the router of our store listens at the admin address."""

    def __init__(self, url: str, store: str) -> None:
        super().__init__(
            f"what listens at {url} is not the router of {store}: it does not prove that it has "
            "the token beside the store, and was not sent it; stop that process, or name the right "
            "router: -f RULES, --store, --admin HOST:PORT, or --server URL with ROUTER_TOKEN"
        )
