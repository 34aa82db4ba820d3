#!/usr/bin/env bash
# Prepares the tests in real editors: installs code-server, Chromium, Neovim, Vim, Emacs and Kate,
# and builds the extension.
source "$(dirname "$0")/steps.sh"

step "code-server, its Node.js and Chromium" "3 to 6 minutes" scripts/install-code-server.sh
step "Neovim" "20 seconds" scripts/install-neovim.sh
step "Vim with ALE" "20 seconds" scripts/install-vim.sh
step "Emacs with Eglot and lsp-mode" "a minute" scripts/install-emacs.sh
step "Kate" "a minute" scripts/install-kate.sh
step "VS Code extension" "40 seconds" scripts/build-extension.sh
