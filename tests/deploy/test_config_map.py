"""A ConfigMap that changed is a reload: Kubernetes swaps one link beside those to the files."""

from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import RouterProcess, free_ports

pytestmark = pytest.mark.long

HEAD = "version: 1\ninclude: [part.yaml]\nserver: {store: 'sqlite:%s'}\n"
PART = """version: 1
endpoints:
  any: {paths: /%s, provider: none, verify: none}
rules:
  - {id: all, from: any, actions: {log: hi}}
"""


def mounted(folder: Path, number: int, path: str) -> None:
    """As the kubelet writes it: files in a folder of their own, `..data` swapped in one step."""
    real = folder / f"..2026_01_01_00_00_0{number}.123456789"
    real.mkdir(parents=True)
    (real / "rules.yaml").write_text(HEAD % (folder.parent / "router.db"), "utf-8")
    (real / "part.yaml").write_text(PART % path, "utf-8")
    swapped = folder / "..data_tmp"
    swapped.symlink_to(real.name)
    swapped.rename(folder / "..data")
    for name in ("rules.yaml", "part.yaml"):
        if not (link := folder / name).is_symlink():
            link.symlink_to(f"..data/{name}")


def test_a_swapped_link_is_noticed_without_a_signal(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    mounted(folder, 1, "one")
    listen, admin = free_ports(2)
    places = {"ROUTER_LISTEN": f"127.0.0.1:{listen}", "ROUTER_ADMIN": f"127.0.0.1:{admin}"}

    def served(path: str) -> bool:
        return httpx.post(f"{router.url}/{path}", json={}).status_code == 200

    with RouterProcess(folder / "rules.yaml", listen, admin, places) as router:
        assert (served("one"), served("two")) == (True, False)
        mounted(folder, 2, "two")
        router.until(lambda: served("two"), "the new rules")
        assert not served("one")
        assert router.stop() == 0
