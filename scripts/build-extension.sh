#!/usr/bin/env bash
# Builds vscode-client/promptls.vsix, with the server's wheel inside; installs Node.js for it when there is none.
#
# Prints the path of the extension on standard output; says on standard error what it does.
# Environment: PYTHON           a Python with pip, for the wheel, by default python3
#              PROMPTLS_CACHE   see install-node.sh
set -euo pipefail

readonly SCRIPTS="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly CLIENT="$SCRIPTS/../vscode-client"

new_enough() {
  command -v npm >/dev/null 2>&1 && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null
}

new_enough || PATH="$("$SCRIPTS/install-node.sh"):$PATH"
cd "$CLIENT"
# Two builds at once would write the same files: the second waits. The lock is on the folder itself.
exec 9<.
flock 9
# npm writes this file at the end of an installation; it is older than the lock file after a change of versions.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
  echo "Installing what the extension is built with (about 15 seconds)." >&2
  npm ci --loglevel=error >&2
  touch node_modules/.package-lock.json
fi
echo "Building the extension (about 20 seconds)." >&2
npm run --silent package >&2
printf '%s\n' "$PWD/promptls.vsix"
