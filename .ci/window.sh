#!/usr/bin/env bash
# Opens the window on $DISPLAY, waits until iterates are on the screen, and looks at the screen.
set -euo pipefail
program="$1" scratch="$2"
trace="$scratch/trace.jsonl" picture="$scratch/window.png"

"$program" --trace "$trace" &
window=$!
trap 'kill $window 2>/dev/null || true' EXIT

shown() { grep -c '"what":"iterate_shown"' "$trace" 2>/dev/null || true; }
for _ in $(seq 300); do
    kill -0 $window 2>/dev/null || { echo "the window closed by itself" >&2; exit 1; }
    [ "$(shown)" -ge 3 ] && break
    sleep 0.5
done
[ "$(shown)" -ge 3 ] || { echo "no iterates reached the screen in 150 s" >&2; exit 1; }
sleep 1
import -window root "$picture"

read -r colours deviation <<<"$(identify -format '%k %[fx:standard_deviation]' "$picture")"
echo "$(shown) iterates shown; the screen has $colours colours, standard deviation $deviation"
# An empty window has a handful of colours; grey slices, palettes and text have hundreds.
[ "$colours" -gt 200 ]
awk "BEGIN { exit !($deviation > 0.02) }"
