#!/usr/bin/env bash
# Runs the npm tests of the folders named, with their packages installed first.
source "$(dirname "$0")/steps.sh"

command -v npm >/dev/null || PATH="$(scripts/install-node.sh):$PATH"

for folder in "$@"; do
  # npm writes this file at the end of an installation.
  installed="$folder/node_modules/.package-lock.json"
  if [[ ! "$installed" -nt "$folder/package-lock.json" ]]; then
    step "npm packages of $folder" "30 seconds" npm --prefix "$folder" ci --no-audit --no-fund
    touch "$installed"
  fi
  heading "Tests of $folder"
  # The tests of the grammars read what the build puts beside the extension.
  npm --prefix "$folder" run build --if-present --silent
  npm --prefix "$folder" test --silent
done
