#!/usr/bin/env bash
# Builds vscode-client/promptls.vsix, with the server's wheel inside; installs Node.js for it when there is none.
#
# Prints the path of the extension on standard output; says on standard error what it does.
# Environment: PYTHON, a Python with pip, which builds the wheel, by default python3.
source "$(dirname "$0")/steps.sh"

new_enough() {
  command -v npm >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)'
}

if ! new_enough; then
  PATH="$(scripts/install-node.sh):$PATH"
fi
cd vscode-client
# Two builds at once would write the same files: the second waits. The lock is on the folder itself.
exec 9<.
flock 9
# npm writes this file at the end of an installation; a change of versions makes it older than the lock file.
installed=node_modules/.package-lock.json
if [[ ! "$installed" -nt package-lock.json ]]; then
  step "npm packages of vscode-client" "30 seconds" npm ci --no-audit --no-fund >&2
  touch "$installed"
fi
step "extension for VS Code" "20 seconds" npm run package >&2
printf '%s\n' "$PWD/promptls.vsix"
