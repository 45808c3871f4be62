"""
What a scan for advisories found, told so that no silence passes for an all-clear.

    python .ci/advisories.py REPORT

REPORT is what `pip-audit --format json` wrote. Ends with 1 when an advisory is open; says which
packages could not be looked up, for the scanner itself takes those for clean.
"""

import json
import sys
from pathlib import Path
from typing import Any


def verdict(report: dict[str, Any]) -> tuple[list[str], int]:
    """Lines to print, and the exit status."""
    packages = [one for one in report["dependencies"] if one["name"] != "webhook-rules-router"]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    open_ones = [(one, fault) for one in packages for fault in one.get("vulns", [])]
    lines = [f"{len(packages) - len(unknown)} of {len(packages)} packages were looked up"]
    if unknown and len(unknown) == len(packages):
        lines.append("NOT SCANNED: the advisory service knows none of them: it was not reached")
    elif unknown:
        lines.append(f"NOT SCANNED: {', '.join(sorted(unknown))}")
    for one, fault in open_ones:
        mended = ", ".join(fault.get("fix_versions", [])) or "no release yet"
        lines.append(f"OPEN: {one['name']} {one['version']} {fault['id']}, mended in {mended}")
    return lines, 1 if open_ones else 0


def main() -> int:
    path = Path(sys.argv[1])
    if not path.is_file() or not path.stat().st_size:
        sys.stdout.write("NOT SCANNED: the advisory service could not be reached\n")
        return 0
    lines, status = verdict(json.loads(path.read_text(encoding="utf-8")))
    sys.stdout.write("\n".join(lines) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
