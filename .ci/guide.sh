#!/usr/bin/env bash
# Makes assets/guide.md and its pictures anew with a program that is built: .ci/guide.sh [PROGRAM]. Takes the packages that
# .ci/named_window.py names, xvfb, xauth and poppler-utils.
set -euo pipefail
cd "$(dirname "$0")/.."
program="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/tomoscope}")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# Nobody's own settings, so that the pictures are those of a first start.
export HOME="$scratch" XDG_CACHE_HOME="$scratch/cache" XDG_DATA_HOME="$scratch/data" XDG_RUNTIME_DIR="$scratch/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
xvfb-run -a -s "-screen 0 1280x900x24" dbus-run-session -- /usr/bin/python3 .ci/guide.py "$program" "$scratch"
