#!/usr/bin/env bash
# Installs Emacs with Eglot and lsp-mode if they are missing. Emacs 29 and later include Eglot.
#
# Prints the path of emacs on standard output; reports progress on standard error.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

has() {
  command -v emacs >/dev/null && emacs --batch --eval "(require '$1)" >/dev/null 2>&1
}

# If two runs overlap, the second waits for the first, and then has nothing to do.
exec 9>"$cache/emacs.lock"
flock 9
command -v emacs >/dev/null || install_packages emacs-nox
has eglot || install_packages elpa-eglot
has lsp-mode || install_packages elpa-lsp-mode
command -v emacs
