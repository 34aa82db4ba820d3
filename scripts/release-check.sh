#!/usr/bin/env bash
# Builds the artifacts of a release, and installs each in its own environment: the wheel, the sdist, the
# extension's server with its locked packages, and the extension in an editor. The results are in dist/ and
# vscode-client/promptls.vsix. No Node.js is on the PATH while Python packages are installed. The requirements of
# each extra are resolved for each Python version, too.
#
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
version="$(sed -nE 's/^__version__ = "(.*)"/\1/p' server/promptls/__init__.py)"
python="$(command -v "${PYTHON:-python3}")"
without_node="$work/bin"
mkdir -p "$without_node"
for program in bash env git sed uname; do ln -s "$(command -v "$program")" "$without_node/$program"; done

# install NAME WORD…: creates an environment and runs `pip install` with the words.
install() {
  "$python" -m venv "$work/$1"
  PATH="$without_node" "$work/$1/bin/python" -m pip --disable-pip-version-check install --quiet "${@:2}"
}

# try_out NAME: runs each kind of command of an environment in an empty folder, like a new user.
try_out() {
  local promptls="$work/$1/bin/promptls" folder="$work/$1-project"
  mkdir "$folder"
  cd "$folder"
  test "$("$promptls" --version)" = "promptls $version"
  "$promptls" doctor
  "$promptls" new quiz --with experiment
  "$promptls" check
  "$promptls" render quiz.yml.j2
  "$promptls" explain unknown-role
  "$promptls" completions bash
  "$promptls" schema settings
  "$promptls" run quiz.yml.j2 --model echo --trust
  "$promptls" report --output report.html "$(basename experiments/*.json .json)"
  test -s report.html
  printf 'Content-Length: 2\r\n\r\n{}' | "$promptls" server || true
  cd "$root"
}

install_extension() {
  local editor
  editor="$(command -v code || scripts/install-code-server.sh)"
  "$editor" --user-data-dir "$work/user" --extensions-dir "$work/extensions" \
    --install-extension vscode-client/promptls.vsix --force
  "$editor" --user-data-dir "$work/user" --extensions-dir "$work/extensions" --list-extensions --show-versions |
    grep -qx "promptls.promptls@$version"
}

install_server_of_extension() {
  (cd "$work" && "$python" -m zipfile -e "$root/vscode-client/promptls.vsix" vsix)
  install extension --require-hashes --only-binary :all: -r "$work/vsix/extension/wheel/requirements.txt"
  PATH="$without_node" "$work/extension/bin/python" -m pip --disable-pip-version-check \
    install --quiet --no-deps "$work"/vsix/extension/wheel/promptls-*.whl
}

build() {
  rm -rf dist
  .venv/bin/python -m build
}

# Resolves the requirements of each extra for each Python version; nothing is installed.
resolve_extras() {
  local version extra extras
  extras="$(.venv/bin/python -c 'import importlib.metadata as m; print(*m.metadata("promptls").get_all("Provides-Extra"))')"
  for version in 3.10 3.11 3.12 3.13 3.14; do
    for extra in $extras; do
      echo "promptls[$extra] in Python $version"
      UV_PYTHON_DOWNLOADS=never uv pip compile --quiet --only-binary :all: --python-version "$version" \
        --extra "$extra" --output-file "$work/resolved.txt" pyproject.toml
    done
  done
}

export -f install try_out install_extension install_server_of_extension build resolve_extras
export work version python without_node root
in_bash() { bash -euo pipefail -c "$*"; }

use_uv
step "extras in each Python version" "1 to 4 minutes" in_bash resolve_extras
step "wheel and sdist" "a minute" in_bash build
step "VS Code extension" "a minute" scripts/build-extension.sh
step "installing the wheel" "30 seconds" in_bash install wheel "dist/promptls-$version-py3-none-any.whl"
step "using the wheel" "20 seconds" in_bash try_out wheel
step "installing the sdist" "40 seconds" in_bash install sdist "dist/promptls-$version.tar.gz"
step "using the sdist" "20 seconds" in_bash try_out sdist
step "installing the extension's server" "a minute" in_bash install_server_of_extension
step "using the extension's server" "20 seconds" in_bash try_out extension
step "installing the extension" "3 to 6 minutes" in_bash install_extension
printf '\npromptls %s can be released:\n' "$version"
du -h dist/* vscode-client/promptls.vsix
