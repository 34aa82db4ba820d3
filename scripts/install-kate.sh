#!/usr/bin/env bash
# Installs Kate where it is missing.
#
# Prints the path of kate on standard output; says on standard error what it does.
source "$(dirname "$0")/steps.sh"
source "$(dirname "$0")/system-packages.sh"

# Two runs at once: the second waits for the first, and then finds everything there.
exec 9>"$cache/kate.lock"
flock 9
command -v kate >/dev/null || install_packages kate
command -v dbus-run-session >/dev/null || install_packages dbus-daemon
command -v kate
