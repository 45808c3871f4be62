"""READING ROOM: text in; a ruleset or diagnostics out."""

from router.config.diagnostics import render_json, render_text
from router.config.loading import Loaded, decode_text, generation, load

__all__ = ["Loaded", "decode_text", "generation", "load", "render_json", "render_text"]
