#!/usr/bin/env bash
# Installs Emacs with Eglot and lsp-mode where they are missing. Emacs 29 and later come with Eglot.
#
# Prints the path of emacs on standard output; says on standard error what it does.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

has() {
  command -v emacs >/dev/null && emacs --batch --eval "(require '$1)" >/dev/null 2>&1
}

# Two runs at once: the second waits for the first, and then finds everything there.
exec 9>"$cache/emacs.lock"
flock 9
command -v emacs >/dev/null || install_packages emacs-nox
has eglot || install_packages elpa-eglot
has lsp-mode || install_packages elpa-lsp-mode
command -v emacs
