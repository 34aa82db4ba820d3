#!/usr/bin/env bash
# Installs what the tests in a real VS Code need, once, into the cache outside the repository:
# code-server (VS Code in the browser), the Node.js that it runs on, and Chromium.
#
# Prints the path of the code-server command on standard output; says on standard error what it does.
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

readonly VERSION=4.139.1
readonly CODE_SERVER="$cache/code-server-$VERSION"
readonly LAUNCHER="$CODE_SERVER/bin/code-server"
# The marker is written last: without it a folder is an interrupted installation, and is begun anew.
readonly MARKER="$CODE_SERVER/.complete"
# A compiler, and the headers that the native modules of VS Code are compiled against.
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
  # node-gyp takes the headers from nodedir, so that nothing else has to be downloaded.
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

# Two runs at once: the second waits for the first, and then finds everything there.
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
