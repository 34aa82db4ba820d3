#!/usr/bin/env bash
# Checks, renders and runs the prompts of an example project with the embedded model, and compares
# their scores. Usage: demo.sh FOLDER
source "$(dirname "$0")/steps.sh"

cd "$1"
worst=0

# show COMMAND…: prints the command as a user would type it, and its output.
show() {
  printf '\n'
  if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then printf '\033[36m$ %s\033[0m\n' "$*"; else printf '$ %s\n' "$*"; fi
  # Exit code 1 means findings; the demonstration of a modified example continues.
  "$@" || { worst=$?; ((worst == 1)); }
}

heading "1. The prompts of $1 are checked, as your editor does it while you type."
show promptls check

heading "2. This is what the model gets for the first sample, part by part, with exact token counts."
show promptls render --trust triage_v2.yml.j2
show promptls tokens --trust triage_v1.yml.j2 triage_v2.yml.j2

heading "3. Both versions of the prompt are run over the tickets, on a small model on this machine."
show promptls run --trust triage_v1.yml.j2
show promptls run --trust triage_v2.yml.j2

heading "4. The two runs are compared, row by row: is version 2 really better, or was it chance?"
show promptls compare triage_v1.yml.j2 triage_v2.yml.j2

heading "The same in VS Code: make vscode"
echo "Open triage_v2.yml.j2 there: mistakes show while you type, token counts follow each part,"
echo "and links above the file preview the prompt and run its experiment."
echo "The results of the runs above are in $1/experiments."
exit "$worst"
