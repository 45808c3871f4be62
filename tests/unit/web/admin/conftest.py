"""A listener with something behind it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.web.admin.rig import Rig, a_rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with a_rig(tmp_path) as made:
        yield made
