#!/usr/bin/env bash
# Runs the tests of the VS Code client, of its pages and of the grammars.
source "$(dirname "$0")/steps.sh"

use_node
npm_packages
heading "Tests of the VS Code client, the pages and the grammars"
npm --prefix vscode-client run build --silent
npm --prefix vscode-client test --silent
