#!/usr/bin/env bash
# Installs the requirements of the tests in a real VS Code, once, into the cache outside of the repository:
# code-server (VS Code in the browser), its Node.js, and Chromium.
#
# Prints the path of the code-server command on standard output; reports progress on standard error.
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

readonly VERSION=4.139.1
readonly CODE_SERVER="$cache/code-server-$VERSION"
readonly LAUNCHER="$CODE_SERVER/bin/code-server"
# The marker is written last: a folder without it is an interrupted installation, which is repeated.
readonly MARKER="$CODE_SERVER/.complete"
# A compiler, and the headers for VS Code's native modules.
readonly BUILD_PACKAGES=(build-essential pkg-config python3 libkrb5-dev libx11-dev libxkbfile-dev libsecret-1-dev)

has_chromium() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && return 0
  done
  return 1
}

install_code_server() {
  local node
  rm -rf "$CODE_SERVER"
  install_packages "${BUILD_PACKAGES[@]}"
  node="$(scripts/install-node.sh)"
  mkdir -p "$CODE_SERVER/bin" "$CODE_SERVER/app"
  printf '{"private": true}\n' >"$CODE_SERVER/app/package.json"
  # node-gyp reads the headers from nodedir, so nothing else has to be downloaded.
  step "code-server $VERSION, 620 MB, with its native modules compiled" "two to five minutes" \
    env PATH="$node:$PATH" npm_config_nodedir="$(dirname "$node")" \
    npm install --prefix "$CODE_SERVER/app" --no-audit --no-fund --loglevel=error "code-server@$VERSION" >&2
  cat >"$LAUNCHER" <<LAUNCH
#!/bin/sh
exec "$node/node" "$CODE_SERVER/app/node_modules/code-server/out/node/entry.js" "\$@"
LAUNCH
  chmod +x "$LAUNCHER"
  "$LAUNCHER" --version >/dev/null
  touch "$MARKER"
}

# If two runs overlap, the second waits for the first, and then has nothing to do.
exec 9>"$cache/code-server.lock"
if ! flock -n 9; then
  echo "Another installation of code-server is running; waiting for it." >&2
  flock 9
fi
has_chromium || install_packages chromium
if [[ ! -f "$MARKER" ]]; then
  install_code_server
fi
printf '%s\n' "$LAUNCHER"
