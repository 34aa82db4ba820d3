#!/usr/bin/env bash
# Looks up known vulnerabilities of the packages that the VS Code extension installs, in the versions for this
# Python and system, and of the packages built into it. Exits with 1 if there are some, and with 2 if an
# advisory service cannot be reached.
# Environment: PYTHON, a Python with venv and pip, by default python3.
source "$(dirname "$0")/steps.sh"

readonly VERSION=2.10.1
python="${PYTHON:-python3}"
tools="$cache/pip-audit-$VERSION-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
worst=0

install_pip_audit() {
  "$python" -m venv --clear "$tools"
  "$tools/bin/python" -m pip install --quiet "pip-audit==$VERSION"
}

# audit TITLE VERDICT COMMAND…: runs the command; its output matches VERDICT only if the service answered.
audit() {
  local title="$1" verdict="$2" output ended=0
  shift 2
  heading "$title"
  output="$("$@" 2>&1)" || ended=$?
  if grep -Eq "$verdict" <<<"$output"; then
    printf '%s\n' "$output"
    ((ended == 0 || worst == 2)) || worst=1
  else
    worst=2
    echo "Not audited: the advisory service cannot be asked. It said last:"
    grep -v "complete log of this run" <<<"$output" | tail -n 1
  fi
}

if [[ ! -x "$tools/bin/pip-audit" ]]; then
  # `step` tests the result, which would disable `set -e` inside a function, but not inside a separate script.
  export -f install_pip_audit
  export python tools VERSION
  step "pip-audit $VERSION" "20 seconds" bash -euo pipefail -c install_pip_audit
fi
command -v npm >/dev/null || PATH="$(scripts/install-node.sh):$PATH"

audit "Python packages of the extension and of the embedded model" "[Nn]o known vulnerabilities|Found [0-9]+ known" \
  "$tools/bin/pip-audit" --strict --vulnerability-service osv --require-hashes --disable-pip \
  --progress-spinner off --requirement vscode-client/requirements.txt \
  --requirement server/promptls/models/smollm2.txt
audit "npm packages in the extension" "[0-9]+ .*vulnerabilit(y|ies)" \
  npm --prefix vscode-client audit --omit=dev
exit "$worst"
