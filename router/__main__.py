"""`python -m router` is `router`."""

from router.cli.main import main

main()
