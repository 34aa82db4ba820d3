#!/usr/bin/env bash
# Runs ESLint and Prettier over the TypeScript; with `format`, lets them lay out the files.
source "$(dirname "$0")/steps.sh"

use_node
npm_packages
npm --prefix vscode-client run --silent "${1:-lint}"
