#!/usr/bin/env bash
# Installs Kate if it is missing.
#
# Prints the path of kate on standard output; reports progress on standard error.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

# If two runs overlap, the second waits for the first, and then has nothing to do.
exec 9>"$cache/kate.lock"
flock 9
command -v kate >/dev/null || install_packages kate
command -v dbus-run-session >/dev/null || install_packages dbus-daemon
command -v kate
