#!/usr/bin/env bash
# Builds the pages that `promptls preview` serves into server/promptls/pages, together with the extension
# in vscode-client/out; installs Node.js for it when there is none.
source "$(dirname "$0")/steps.sh"

pages=server/promptls/pages
new_enough() {
  command -v npm >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)'
}

if [[ -f "$pages/preview.js" ]] &&
  [[ -z "$(find vscode-client/src vscode-client/build.mjs vscode-client/package-lock.json -newer "$pages/preview.js" -print -quit)" ]]; then
  exit 0
fi
new_enough || PATH="$(scripts/install-node.sh):$PATH"
cd vscode-client
# Two builds at once would write the same files: the second waits. The lock is on the folder itself.
exec 9<.
flock 9
# npm writes this file at the end of an installation; a change of versions makes it older than the lock file.
installed=node_modules/.package-lock.json
if [[ ! "$installed" -nt package-lock.json ]]; then
  step "npm packages of vscode-client" "30 seconds" npm ci --no-audit --no-fund
  touch "$installed"
fi
step "pages of the preview" "3 seconds" npm run build
