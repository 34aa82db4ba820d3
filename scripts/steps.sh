# Sourced by the other scripts: paths, and the display of setup steps.
# shellcheck shell=bash

set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="${PROMPTLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/promptls}"
cd "$root"
mkdir -p "$cache/logs"
export PATH="$root/.venv/bin:$PATH"

# step TITLE TIME COMMAND…: runs the command with its output in a log. Prints the title, the usual time of the
# first run, and the actual time; if the command fails, the end of the log.
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

# is_done STAMP FILE…: returns whether the stamp matches the current files.
is_done() {
  local stamp="$1"
  shift
  [[ -f "$stamp" ]] && [[ "$(<"$stamp")" == "$(cat "$@" | cksum)" ]]
}

# mark_done STAMP FILE…: records that the step was done with the current files.
mark_done() {
  local stamp="$1"
  shift
  cat "$@" | cksum >"$stamp"
}

# heading TEXT: prints a heading.
heading() {
  if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
    printf '\n\033[1m%s\033[0m\n' "$1"
  else
    printf '\n%s\n' "$1"
  fi
}

# use_node: puts npm on the PATH; installs Node.js if it is missing or too old.
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

# use_uv: puts uv on the PATH, in its own environment.
use_uv() {
  local version=0.13.9
  local folder="$cache/uv-$version"
  if [[ ! -x "$folder/bin/uv" ]]; then
    # `step` tests the result, which would disable `set -e` inside a function, but not inside a separate script.
    export -f install_uv
    step "uv $version" "10 seconds" bash -euo pipefail -c 'install_uv "$@"' - "$folder" "$version"
  fi
  PATH="$PATH:$folder/bin"
}

# npm_packages: installs the npm packages of vscode-client if they differ from the lock file. It holds a lock
# until the script ends, because two installations at once would write the same files.
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
