"""Diagnostics in the words of the machines that show them: beside a line, in a report, as tests."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from router import __version__
from router.config.codes import CODES, Code, page
from router.config.diagnostics import indented_json, render_json, render_text
from router.errors import Diagnostic

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Found = Sequence[Diagnostic]


def render_github(found: Found) -> str:
    """A workflow command a line: the annotation stands beside the line in the change."""
    return "".join(
        f"::{d.severity} file={_value(d.file)},line={d.line},col={d.column},"
        f"endColumn={d.column + d.width},title={_value(d.code)}::{_data(_text(d))}\n"
        for d in found
    )


def render_gitlab(found: Found) -> str:
    """A code quality report."""
    return indented_json(
        [
            {
                "description": _text(d),
                "check_name": d.code,
                "fingerprint": hashlib.sha256(
                    f"{d.code}\0{d.file}\0{d.message}\0{d.source or ''}".encode("utf-8", "replace")
                ).hexdigest(),
                "severity": "major" if d.severity == "error" else "minor",
                "location": {"path": d.file, "lines": {"begin": d.line}},
            }
            for d in found
        ]
    )


def render_sarif(found: Found) -> str:
    """
    A SARIF 2.1.0 log with one run; columns count characters. Relative addresses are relative to
    where the command ran, nearly always the top of the repository.
    """
    rules = {code: index for index, code in enumerate(dict.fromkeys(d.code for d in found))}
    driver = {
        "name": "router check",
        "version": __version__,
        "rules": [_sarif_rule(code) for code in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"description": {"text": "where router check ran"}}},
        "results": [_sarif_result(d, rules[d.code]) for d in found],
    }
    return indented_json({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def render_junit(found: Found, files: Iterable[str] = ()) -> str:
    """
    A test for each diagnostic, of which the errors fail; one that passes for each of `files` of
    which nothing is said.
    """
    from xml.etree import ElementTree as Xml  # noqa: PLC0415 - 10 ms that few need

    quiet = [file for file in files if all(d.file != file for d in found)]
    errors = sum(d.severity == "error" for d in found)
    suite = Xml.Element(
        "testsuite", name="router check", tests=str(len(found) + len(quiet)), failures=str(errors)
    )
    for file in quiet:
        Xml.SubElement(suite, "testcase", classname=_for_xml(file), name="check", file=file)
    for d in found:
        name, file = f"{d.code} {d.line}:{d.column}", _for_xml(d.file)
        case = Xml.SubElement(
            suite, "testcase", classname=file, name=name, file=file, line=str(d.line)
        )
        failed = {"message": _for_xml(d.message)} if d.severity == "error" else None
        said = Xml.SubElement(case, "failure" if failed else "system-out", failed or {})
        said.text = _for_xml(render_text([d]))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode") + "\n"


_RENDERERS: Mapping[str, Callable[[Found], str]] = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "gitlab": render_gitlab,
    "sarif": render_sarif,
    "junit": render_junit,
}
FORMATS = tuple(_RENDERERS)


def render(format_: str, found: Found, files: Sequence[str]) -> str:
    """Everything found in these files, in one of `FORMATS`."""
    return render_junit(found, files) if format_ == "junit" else _RENDERERS[format_](found)


def _text(d: Diagnostic) -> str:
    return f"{d.message}: {d.hint}" if d.hint else d.message


def _for_xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


# -- workflow commands


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# -- SARIF


def _sarif_rule(code: str) -> dict[str, Any]:
    known = CODES.get(code, Code(code))
    return {
        "id": code,
        "shortDescription": {"text": known.about},
        "defaultConfiguration": {"level": known.severity},
        "help": {"text": f"router check --explain {code}", "markdown": page(code)},
    }


def _sarif_result(d: Diagnostic, rule: int) -> dict[str, Any]:
    region = _region(d.line, d.column, d.column + d.width)
    result = {
        "ruleId": d.code,
        "ruleIndex": rule,
        "level": d.severity,
        "message": {"text": _text(d)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(d), "region": region}}],
    }
    if (fix := d.fix) is not None:
        change = {
            "deletedRegion": _region(fix.line, fix.column, fix.end_column),
            "insertedContent": {"text": fix.text},
        }
        changes = [{"artifactLocation": _artifact(d), "replacements": [change]}]
        result["fixes"] = [{"description": {"text": d.hint}, "artifactChanges": changes}]
    return result


def _artifact(d: Diagnostic) -> dict[str, str]:
    path = PurePath(d.file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": _BASE}


def _region(line: int, column: int, end: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endColumn": end}
