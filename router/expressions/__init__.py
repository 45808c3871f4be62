"""The expression language: parse with positions, compile, functions, templates."""

from router.expressions.absent import JSON, Failed
from router.expressions.definitions import Definitions, key_of
from router.expressions.expression import Expression, compile  # noqa: A004 - as re.compile
from router.expressions.idioms import hint_of_field, hint_of_root
from router.expressions.json_text import NotJson, decode_json, encode_json, is_json
from router.expressions.needs import (
    FieldNeed,
    index_key,
    needs_of,
)
from router.expressions.signatures import FUNCTIONS
from router.expressions.similar import SimilarExpressions, compared_at
from router.expressions.template import Template, compile_template
from router.legible import exact as rfc3339

__all__ = [
    "FUNCTIONS",
    "JSON",
    "Definitions",
    "Expression",
    "Failed",
    "FieldNeed",
    "NotJson",
    "SimilarExpressions",
    "Template",
    "compared_at",
    "compile",
    "compile_template",
    "decode_json",
    "encode_json",
    "hint_of_field",
    "hint_of_root",
    "index_key",
    "is_json",
    "key_of",
    "needs_of",
    "rfc3339",
]
