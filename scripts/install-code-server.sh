#!/usr/bin/env bash
# Installs what the tests in a real VS Code need, once, into a cache outside the repository:
# code-server (VS Code in the browser), the Node.js that it runs on, and Chromium.
#
# Prints the path of the code-server command on standard output; says on standard error what it does.
# Environment: PROMPTLS_CACHE   the cache folder, by default ${XDG_CACHE_HOME:-$HOME/.cache}/promptls
#              PYTHON           a Python with venv and pip, by default python3
set -euo pipefail

readonly VERSION=4.139.1
readonly SCRIPTS="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly CACHE="${PROMPTLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/promptls}"
readonly CODE_SERVER="$CACHE/code-server-$VERSION"
readonly LAUNCHER="$CODE_SERVER/bin/code-server"
# The marker is written last: without it a folder is an interrupted installation, and is begun anew.
readonly MARKER="$CODE_SERVER/.complete"
readonly LOG="$CACHE/code-server-$VERSION.log"
# A compiler, and the headers that the native modules of VS Code are compiled against.
readonly BUILD_PACKAGES=(build-essential pkg-config python3 libkrb5-dev libx11-dev libxkbfile-dev libsecret-1-dev)

say() { printf '%s\n' "$*" >&2; }
fail() { say "install-code-server: $*"; exit 1; }
quietly() {
  local what="$1"
  shift
  if ! "$@" >>"$LOG" 2>&1; then
    tail -n 25 "$LOG" >&2
    fail "$what failed; the whole output is in $LOG."
  fi
}

may_install_packages() {
  command -v apt-get >/dev/null 2>&1 || return 1
  [ "$(id -u)" -eq 0 ] && return 0
  command -v sudo >/dev/null 2>&1 || return 1
  # A password can be typed only at a terminal; the prompt would be lost in the log.
  sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  may_install_packages || fail "these system packages are missing: ${missing[*]}.
Install them as root (on Debian and Ubuntu: apt-get install ${missing[*]}), then run this again."
  say "Installing system packages: ${missing[*]} (about a minute)."
  quietly 'apt-get update' as_root apt-get update -q
  quietly 'apt-get install' as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}

has_chromium() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null 2>&1 && return 0
  done
  return 1
}

install_code_server() {
  local started=$SECONDS node
  rm -rf "$CODE_SERVER"
  install_packages "${BUILD_PACKAGES[@]}"
  node="$("$SCRIPTS/install-node.sh")"

  say "Installing code-server $VERSION and compiling its native modules (two to five minutes, 620 MB)."
  mkdir -p "$CODE_SERVER/bin" "$CODE_SERVER/app"
  printf '{"private": true}\n' >"$CODE_SERVER/app/package.json"
  # node-gyp takes the headers from nodedir, so that nothing else has to be downloaded.
  quietly 'npm install code-server' env PATH="$node:$PATH" npm_config_nodedir="$(dirname "$node")" \
    npm install --prefix "$CODE_SERVER/app" --no-audit --no-fund --loglevel=error "code-server@$VERSION"

  cat >"$LAUNCHER" <<LAUNCH
#!/bin/sh
exec "$node/node" "$CODE_SERVER/app/node_modules/code-server/out/node/entry.js" "\$@"
LAUNCH
  chmod +x "$LAUNCHER"
  quietly 'starting code-server' "$LAUNCHER" --version
  touch "$MARKER"
  say "code-server $VERSION is installed in $CODE_SERVER ($((SECONDS - started)) seconds)."
}

mkdir -p "$CACHE"
# Two runs at once: the second waits for the first, and then finds everything there.
exec 9>"$CACHE/code-server.lock"
if ! flock -n 9; then
  say "Another installation of code-server is running; waiting for it."
  flock 9
fi
has_chromium || install_packages chromium
[ -f "$MARKER" ] || install_code_server
printf '%s\n' "$LAUNCHER"
