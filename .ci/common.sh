# What .ci/run and .ci/nightly share; both source it. Everything made lies in $work, which is removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
work=$(mktemp -d)
trap 'wait; rm -rf "$work"' EXIT
number=$((16#$(git rev-parse --short=7 HEAD))) # the commit's name chooses what is run of many

heading() { printf '\n==== %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
have() { PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null; }

# packages COMMAND=PACKAGE…: install the system packages whose command is missing.
packages() {
  heading "system packages"
  local one missing=()
  for one in "$@"; do have "${one%%=*}" || missing+=("${one#*=}"); done
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || have initdb || missing+=(postgresql)
  if [ ${#missing[@]} -eq 0 ]; then
    echo "all are here: PostgreSQL ${*%%=*}"
  elif [ "$(id -u)" = 0 ] && have apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null || echo "the lists of packages could not be renewed"
    for one in "${missing[@]}"; do
      apt-get install -y -qq "$one" </dev/null >"$work/apt.log" 2>&1 || { tail -n 3 "$work/apt.log"; echo "SKIPPED BELOW: could not install $one"; }
    done
  else
    echo "SKIPPED BELOW: ${missing[*]} (not root; what needs them says so)"
  fi
}

# One environment for all steps: locked versions of every extra, and this checkout.
environment() {
  heading "a fresh environment from the project's own files"
  local candidate
  python=
  for candidate in python3.13 python3.12 python3.11 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python=$candidate
      break
    fi
  done
  [ -n "$python" ] || { echo "Python 3.11 or newer is needed"; exit 1; }
  "$python" -m venv "$work/venv"
  export PATH="$work/venv/bin:$PATH"
  unset PYTHONPATH PYTHONHOME
  # uv takes a tenth of pip's time; where it cannot be had, pip does the same.
  local install="python -m pip install -qq --disable-pip-version-check"
  $install uv && install="uv pip install --quiet --python $work/venv/bin/python"
  $install --require-hashes -r .ci/requirements.lock \
    || echo "NOT LOCKED: not all of .ci/requirements.lock could be installed: the newest versions are taken"
  $install --editable '.[test,dev,browser,docs,manifests,clients]'
  python --version
}

style() {
  heading "ruff check, ruff format --check"
  ruff check .
  ruff format --check .
  heading "mypy (strict)"
  mypy
  heading "lint-imports"
  lint-imports
}

models() {
  heading "the models of several routers, and their mutants"
  if have spin && have cc; then python -m tests.models </dev/null; else echo "SKIPPED: spin or a C compiler is not installed"; fi
}

# beside NAME COMMAND…: run it in the background; `joined` waits for it, shows what it said, and fails if it did.
beside() {
  local name=$1
  shift
  "$@" </dev/null >"$work/$name.log" 2>&1 &
  eval "${name}_pid=$!"
}
joined() {
  local pid="${1}_pid" failed=0
  wait "${!pid}" || failed=$?
  cat "$work/$1.log"
  [ "$failed" = 0 ] || exit "$failed"
}

# README's own test command in a fresh clone, far from UTC, so that no date depends on the machine's zone.
readme() {
  heading "README's test command, in a fresh clone"
  local line
  line=$(awk '/^ *```/ {code = !code; next} code && /pytest/ {sub(/^ *(\$ )?/, ""); print; exit}' README.md)
  [ -n "$line" ] || { echo "README.md has no code line with pytest"; exit 1; }
  git clone --quiet --no-hardlinks "$root" "$work/clone/main"
  [ -d "$root/../shared" ] && ln -s "$(cd "$root/../shared" && pwd)" "$work/clone/shared"
  cd "$work/clone/main"
  echo "\$ $line"
  # The zone is spelt out, for a machine without a table of zones: as in Kathmandu.
  TZ=NPT-5:45 bash -euo pipefail -c "$line" </dev/null
  cd "$root"
}
