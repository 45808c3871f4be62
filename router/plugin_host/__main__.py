"""`python -m router.plugin_host`, the child process of a `python` action."""

import sys

from router.plugin_host.process import main

main(sys.argv[1:])
