#!/usr/bin/env bash
# Builds the pages that `promptls preview` serves into server/promptls/pages, together with the extension
# in vscode-client/out; installs Node.js if necessary.
source "$(dirname "$0")/steps.sh"

pages=server/promptls/pages
if [[ -f "$pages/preview.js" ]] &&
  [[ -z "$(find vscode-client/{src,build.mjs,package-lock.json,web/src,web/build.mjs} -newer "$pages/preview.js" -print -quit)" ]]; then
  exit 0
fi
use_node
npm_packages
step "pages of the preview" "3 seconds" npm --prefix vscode-client run build
