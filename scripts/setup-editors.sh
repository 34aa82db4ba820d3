#!/usr/bin/env bash
# Makes ready what the tests in real editors need: code-server, Chromium, and the extension.
source "$(dirname "$0")/steps.sh"

step "code-server, its Node.js and Chromium" "3 to 6 minutes" scripts/install-code-server.sh
step "VS Code extension" "40 seconds" scripts/build-extension.sh
