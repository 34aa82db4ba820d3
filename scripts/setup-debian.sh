#!/usr/bin/env bash
# Installs the Debian packages named that are missing; elsewhere, says which programs are needed.
source "$(dirname "$0")/steps.sh"

if ! command -v dpkg-query >/dev/null; then
  echo "• This is no Debian or Ubuntu: see that you have what these packages hold: $*"
  exit 0
fi

missing=()
for package in "$@"; do
  state="$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null || true)"
  [[ "$state" == ii* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@"
}

step "Debian packages ${missing[*]}" "1 to 2 minutes" install "${missing[@]}"
