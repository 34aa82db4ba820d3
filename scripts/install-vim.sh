#!/usr/bin/env bash
# Installs Vim with ALE where they are missing.
#
# Prints the path of vim on standard output; says on standard error what it does.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

has_ale() {
  command -v vim >/dev/null &&
    vim -e -s -u NONE -c 'try | packadd ale | qall! | catch | cquit | endtry' </dev/null >/dev/null 2>&1
}

# Two runs at once: the second waits for the first, and then finds everything there.
exec 9>"$cache/vim.lock"
flock 9
command -v vim >/dev/null || install_packages vim
has_ale || install_packages vim-ale
command -v vim
