# Sourced after steps.sh by scripts that need system packages.
# shellcheck shell=bash

may_install_packages() {
  command -v apt-get >/dev/null || return 1
  [[ "$(id -u)" -eq 0 ]] && return 0
  command -v sudo >/dev/null || return 1
  # A password can be typed only at a terminal; the question would be lost in the log of the step.
  sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }
}

as_root() {
  if [[ "$(id -u)" -eq 0 ]]; then "$@"; else sudo -n "$@"; fi
}

# install_packages PACKAGE…: installs those that are missing; ends the script where it may not.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [[ "${#missing[@]}" -gt 0 ]] || return 0
  may_install_packages || {
    echo "These system packages are missing: ${missing[*]}." >&2
    echo "Install them as root (on Debian and Ubuntu: apt-get install ${missing[*]}), then run this again." >&2
    exit 1
  }
  step "list of system packages" "10 seconds" as_root apt-get update -q >&2
  step "system packages ${missing[*]}" "a minute" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}
