#!/usr/bin/env bash
# Installs Vim with ALE if they are missing.
#
# Prints the path of vim on standard output; reports progress on standard error.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

has_ale() {
  command -v vim >/dev/null &&
    vim -e -s -u NONE -c 'try | packadd ale | qall! | catch | cquit | endtry' </dev/null >/dev/null 2>&1
}

# If two runs overlap, the second waits for the first, and then has nothing to do.
exec 9>"$cache/vim.lock"
flock 9
command -v vim >/dev/null || install_packages vim
has_ale || install_packages vim-ale
command -v vim
