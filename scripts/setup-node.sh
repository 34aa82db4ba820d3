#!/usr/bin/env bash
# Installs the npm packages of the folders named, each from its own package-lock.json.
source "$(dirname "$0")/steps.sh"

if ! command -v npm >/dev/null; then
  echo "The VS Code extension and the grammars need Node.js 20 or later with npm: https://nodejs.org" >&2
  exit 2
fi

for folder in "$@"; do
  stamp="$folder/node_modules/.promptls-ready"
  is_done "$stamp" "$folder/package.json" "$folder/package-lock.json" && continue
  step "npm packages of $folder" "30 seconds" npm --prefix "$folder" ci --no-audit --no-fund --prefer-offline
  mark_done "$stamp" "$folder/package.json" "$folder/package-lock.json"
done
