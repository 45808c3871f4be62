"""
A container's files and processes without a container engine: for root on Linux.

A root folder has the system's programs and this Python where an image of Python has them, both
read-only, a copy of /etc, and nothing else; what runs in it sees no other folder.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.deploy.dockerfile import Stage

TOOLS = ("unshare", "chroot", "mount", "nsenter", "ip")
PYTHON = Path(sys.base_prefix)
_ENTER = """
set -e
root=$1; shift
for name in bin lib lib64 sbin; do
    if [ -L "/$name" ]; then [ -L "$root/$name" ] || cp -P "/$name" "$root/$name"
    elif [ -d "/$name" ]; then mkdir -p "$root/$name"; mount --bind -o ro "/$name" "$root/$name"; fi
done
mount --bind "$root" "$root"
mount --rbind /usr "$root/usr"; mount -o remount,bind,ro "$root/usr"
mount --rbind "$PYTHON" "$root/usr/local"; mount -o remount,bind,ro "$root/usr/local"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
"""
_READ_ONLY = """
mount -o remount,bind,ro "$root"
mount --bind "$DATA" "$root/data"
mount --bind "$RULES" "$root/rules"; mount -o remount,bind,ro "$root/rules"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
ip link set lo up
"""


def missing() -> str | None:
    """Why nothing can be run here; None: it can."""
    if os.geteuid() != 0:
        return "only root can make a root folder of its own"
    if lacking := [name for name in TOOLS if shutil.which(name) is None]:
        return f"{', '.join(lacking)} is not on this machine"
    if not (PYTHON / "bin" / "python").exists() or Path("/usr") == PYTHON:
        return "this Python cannot be mounted where an image has its own"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "true"], capture_output=True, check=False
    )
    return tried.stderr.decode() or None


class CleanRoot:
    """What one stage makes of its base."""

    def __init__(self, folder: Path, stage: Stage, context: Path) -> None:
        self.folder = folder
        self.stage = stage
        self._context = context
        self.environ = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        self.user, self.place = "0:0", "/"
        for name in ("usr", "dev", "proc", "root", "opt", "var", "run", "tmp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "tmp").chmod(0o1777)
        shutil.copytree("/etc", folder / "etc", symlinks=True)
        self.run(["ldconfig"], environ={}).check_returncode()  # Python's own library lies elsewhere

    def build(self, before: Mapping[str, "CleanRoot"], environ: Mapping[str, str]) -> None:
        """
        Take every step in its order; `environ`: what this machine's pip needs to find packages.

        Raises:
            subprocess.CalledProcessError: a step failed; what it said is on our stderr.
        """
        for word, rest in self.stage.steps:
            if word == "RUN":
                self.run(["sh", "-c", rest], environ=environ).check_returncode()
            elif word == "COPY":
                self._copy(rest.split(), before)
            elif word == "USER":
                self.user = rest
            else:
                self.place = rest
                (self.folder / rest.strip("/")).mkdir(parents=True, exist_ok=True)
        path = self.stage.environ.get("PATH", "$PATH").replace("$PATH", self.environ["PATH"])
        self.environ |= self.stage.environ | {"PATH": path}

    def _copy(self, words: list[str], before: Mapping[str, "CleanRoot"]) -> None:
        source = self._context
        if words[0].startswith("--from="):
            source = before[words.pop(0).removeprefix("--from=")].folder
        *names, target = words
        place = self.folder / target.strip("/")
        for name in names:
            one = source / name.strip("/")
            if one.is_dir():
                shutil.copytree(one, place, symlinks=True, dirs_exist_ok=True)
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(one, place)

    def _entering(self, more: str, command: Sequence[str], *flags: str) -> list[str]:
        user = f"--userspec={self.user}"
        leave = f'exec chroot {user} "$root" sh -c \'cd "$0" && exec "$@"\' {self.place} "$@"'
        script = f"{_ENTER}{more}{leave}"
        return ["unshare", "--mount", *flags, "sh", "-c", script, "sh", str(self.folder), *command]

    def run(
        self, command: Sequence[str], *, environ: Mapping[str, str]
    ) -> "subprocess.CompletedProcess[bytes]":
        """One step, as the stage's user of that moment."""
        return subprocess.run(
            self._entering("", command),
            env={**self.environ, **environ, "PYTHON": str(PYTHON)},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )

    def begin(
        self, data: Path, rules: Path, environ: Mapping[str, str], log: Path
    ) -> "subprocess.Popen[bytes]":
        """
        A container, with a network of its own: a read-only root, `data` at /data, `rules` read-only
        at /rules, and /tmp in memory. Its process is the stage's command itself.
        """
        extra = {"PYTHON": str(PYTHON), "DATA": str(data), "RULES": str(rules)}
        with log.open("wb") as out:
            return subprocess.Popen(
                self._entering(_READ_ONLY, self.stage.command, "--net", "--uts"),
                env={**self.environ, **extra, **environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def exec(
        self,
        process: "subprocess.Popen[bytes]",
        command: Sequence[str],
        environ: Mapping[str, str],
    ) -> tuple[int, str]:
        """One more command in a running container, as its user: `docker exec`; what it printed."""
        target = ["nsenter", "--target", str(process.pid), "--mount", "--net", "--root", "--wd"]
        uid, _, gid = self.user.partition(":")
        ran = subprocess.run(
            [*target, "--setuid", uid, "--setgid", gid, "--", *command],
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr
