#!/usr/bin/env bash
# Builds vscode-client/promptls.vsix, with the server's wheel inside; installs Node.js for it when there is none.
#
# Prints the path of the extension on standard output; says on standard error what it does.
# Environment: PYTHON, a Python with pip, which builds the wheel, by default python3; REPOSITORY_URL, where the
# pictures and links of the README lead to on the Marketplace.
source "$(dirname "$0")/steps.sh"

use_node
npm_packages >&2
links=(--no-rewrite-relative-links)
if [[ -n "${REPOSITORY_URL:-}" ]]; then
  links=(--baseContentUrl "$REPOSITORY_URL/blob/HEAD/vscode-client" --baseImagesUrl "$REPOSITORY_URL/raw/HEAD/vscode-client")
fi
step "extension for VS Code" "20 seconds" npm --prefix vscode-client run package -- "${links[@]}" >&2
printf '%s\n' "$root/vscode-client/promptls.vsix"
