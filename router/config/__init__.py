"""Text in; a ruleset or diagnostics out."""

from router.config.diagnostics import render_json, render_text
from router.config.files import KeptFiles, decode_text
from router.config.loading import Loaded, load

__all__ = [
    "KeptFiles",
    "Loaded",
    "decode_text",
    "load",
    "render_json",
    "render_text",
]
