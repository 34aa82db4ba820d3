#!/usr/bin/env bash
# Runs ESLint and Prettier on the TypeScript files; with `format`, lets them change the files.
source "$(dirname "$0")/steps.sh"

use_node
npm_packages
npm --prefix vscode-client run --silent "${1:-lint}"
