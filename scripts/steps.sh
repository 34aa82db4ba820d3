# Sourced by the other scripts: where things are, and how a step of the set-up shows itself.
# shellcheck shell=bash

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="${PROMPTLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/promptls}"
cd "$root"
mkdir -p "$cache/logs"
export PATH="$root/.venv/bin:$PATH"

# step TITLE TIME COMMAND…: runs the command with its output in a log, and says what it does,
# how long it takes the first time, and how long it took; shows the end of the log when it fails.
step() {
  local title="$1" time="$2" log started=$SECONDS
  shift 2
  log="$cache/logs/$(tr -cs '[:alnum:]' '-' <<<"$title").log"
  printf '• %s (%s the first time) … ' "$title" "$time"
  if "$@" >"$log" 2>&1 </dev/null; then
    printf 'done in %d s\n' $((SECONDS - started))
  else
    printf 'failed\n\n' >&2
    tail -n 30 "$log" >&2
    printf '\nThe whole output is in %s\n' "$log" >&2
    return 1
  fi
}

# is_done STAMP FILE…: whether the stamp was made from the files as they are now.
is_done() {
  local stamp="$1"
  shift
  [[ -f "$stamp" ]] && [[ "$(<"$stamp")" == "$(cat "$@" | cksum)" ]]
}

# mark_done STAMP FILE…: remembers that the step was done with the files as they are now.
mark_done() {
  local stamp="$1"
  shift
  cat "$@" | cksum >"$stamp"
}

# heading TEXT: a line that tells the reader what comes next.
heading() {
  if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
    printf '\n\033[1m%s\033[0m\n' "$1"
  else
    printf '\n%s\n' "$1"
  fi
}

# use_node: puts npm on the PATH, with a Node.js of its own when there is none or it is too old.
use_node() {
  if ! command -v npm >/dev/null ||
    ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)'; then
    PATH="$(scripts/install-node.sh):$PATH"
  fi
}

install_uv() {
  "${PYTHON:-python3}" -m venv --clear "$1"
  "$1/bin/python" -m pip install --quiet "uv==$2"
}

# use_uv: puts uv on the PATH, in an environment of its own.
use_uv() {
  local version=0.13.9
  local folder="$cache/uv-$version"
  if [[ ! -x "$folder/bin/uv" ]]; then
    # `step` tests the result, which would switch `set -e` off inside a function: a script of its own keeps it.
    export -f install_uv
    step "uv $version" "10 seconds" bash -euo pipefail -c 'install_uv "$@"' - "$folder" "$version"
  fi
  PATH="$PATH:$folder/bin"
}

# npm_packages: installs the npm packages of vscode-client, unless they are those of the lock file.
# It holds a lock until the script ends: two at once would write the same files.
npm_packages() {
  # npm writes this file at the end of an installation; a change of versions makes it older than the lock file.
  local installed=vscode-client/node_modules/.package-lock.json
  # The lock is on the folder itself.
  exec 9<vscode-client
  flock 9
  if [[ ! "$installed" -nt vscode-client/package-lock.json ]]; then
    step "npm packages of vscode-client" "30 seconds" npm --prefix vscode-client ci --no-audit --no-fund
    touch "$installed"
  fi
}
