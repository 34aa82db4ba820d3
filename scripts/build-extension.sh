#!/usr/bin/env bash
# Builds vscode-client/promptls.vsix, including the server's wheel; installs Node.js if necessary.
#
# Prints the path of the extension on standard output; reports progress on standard error.
# Environment: PYTHON, a Python with pip, which builds the wheel, by default python3; REPOSITORY_URL, the
# base of the README's pictures and links on the Marketplace.
source "$(dirname "$0")/steps.sh"

use_node
npm_packages >&2
links=(--no-rewrite-relative-links)
if [[ -n "${REPOSITORY_URL:-}" ]]; then
  links=(--baseContentUrl "$REPOSITORY_URL/blob/HEAD/vscode-client" --baseImagesUrl "$REPOSITORY_URL/raw/HEAD/vscode-client")
fi
step "extension for VS Code" "20 seconds" npm --prefix vscode-client run package -- "${links[@]}" >&2
printf '%s\n' "$root/vscode-client/promptls.vsix"
