"""The file beside a rules file that holds what its tests sent when somebody last looked."""

from pathlib import Path

import msgspec

from router.expressions import JSON, NotJson, decode_json, encode_json

SNAPSHOTS = ".snapshots.json"


def snapshots_path(rules: Path) -> Path:
    """`rules.snapshots.json` beside `rules.yaml`."""
    return rules.with_name(rules.stem + SNAPSHOTS)


def read_snapshots(path: Path) -> dict[str, JSON]:
    """By the names of tests; of a file that is not there, or is none, nothing."""
    try:
        found = decode_json(path.read_bytes())
    except (OSError, NotJson):
        return {}
    return found if isinstance(found, dict) else {}


def snapshots_text(snapshots: JSON) -> str:
    """As the file holds them: a line a value, numbers digit for digit."""
    return msgspec.json.format(encode_json(snapshots), indent=2).decode("utf-8") + "\n"
