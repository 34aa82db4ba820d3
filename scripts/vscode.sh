#!/usr/bin/env bash
# Opens a folder in VS Code with the extension installed: in the user's own where there is a
# `code`, else in code-server, which is VS Code in the browser. A prompt of the folder is shown, with its
# preview where the folder's settings say so.
# Usage: vscode.sh FOLDER PROMPT
#
# Who opens code-server can run any command as you, and every user of this machine reaches its port: so it asks
# for a password, which is made once and kept where nobody else may read it.
source "$(dirname "$0")/steps.sh"

folder="$root/$1"
prompt="$folder/$2"
extension="$root/vscode-client/promptls.vsix"
step "VS Code extension" "40 seconds" scripts/build-extension.sh

if command -v code >/dev/null; then
  step "extension into your VS Code" "10 seconds" code --install-extension "$extension" --force
  echo "Opening $1 in VS Code."
  exec code "$folder" "$prompt"
fi

echo "There is no \`code\` here, so this uses code-server, VS Code in the browser."
code_server="$(scripts/install-code-server.sh)"
own=(--user-data-dir "$cache/vscode/user" --extensions-dir "$cache/vscode/extensions")
mkdir -p "$cache/vscode/user/Machine"
# The server of this checkout, so that the extension need not make an environment of its own. Where
# the server lies is a setting of the machine, which VS Code keeps apart from the user's.
printf '{"promptls.server.path": "%s/.venv/bin/promptls"}\n' "$root" >"$cache/vscode/user/Machine/settings.json"
step "extension into code-server" "10 seconds" "$code_server" "${own[@]}" --install-extension "$extension" --force

config="$cache/vscode/config.yaml"
if [[ ! -s "$config" ]]; then
  password="$(.venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(18))')"
  (umask 077 && printf 'auth: password\npassword: %s\ncert: false\n' "$password" >"$config")
fi

port="${PORT:-$(.venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}"
opened="%5B%5B%22openFile%22,%22vscode-remote://127.0.0.1:$port$prompt%22%5D%5D"
address="http://127.0.0.1:$port/?folder=$folder&payload=$opened"
echo "VS Code is at $address (Ctrl+C ends it)."
echo "Its password is $(sed -n 's/^password: //p' "$config"), kept in $config."
open="$(command -v xdg-open || command -v open || true)"
if [[ -n "$open" ]]; then
  (
    until curl --silent --output /dev/null "http://127.0.0.1:$port/"; do sleep 0.3; done
    "$open" "$address"
  ) >/dev/null 2>&1 &
  trap "kill $! 2>/dev/null || true" EXIT # a server that fails to start would be waited for in vain
fi
log="$cache/logs/code-server.log"
"$code_server" "${own[@]}" --config "$config" --auth password --bind-addr "127.0.0.1:$port" \
  --disable-telemetry --disable-update-check "$folder" >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  exit 1
}
