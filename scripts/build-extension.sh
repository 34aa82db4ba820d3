#!/usr/bin/env bash
# Builds vscode-client/promptls.vsix, with the server's wheel inside; installs Node.js for it when there is none.
#
# Prints the path of the extension on standard output; says on standard error what it does.
# Environment: PYTHON, a Python with pip, which builds the wheel, by default python3.
source "$(dirname "$0")/steps.sh"

use_node
npm_packages >&2
step "extension for VS Code" "20 seconds" npm --prefix vscode-client run package >&2
printf '%s\n' "$root/vscode-client/promptls.vsix"
