#!/usr/bin/env bash
# Runs the examples of README.md and docs/: every line that begins with "tomoscope " in a block that opens with ```sh.
# Each page has a folder of its own; its examples run in order, and the first failure ends the script.
# Blocks that open with ```text or ```console are not run.
#
#   .ci/examples.sh PROGRAM SCRATCH [PAGE...]
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 PROGRAM SCRATCH [PAGE...]" >&2; exit 2; }
program="$(realpath "$1")"
mkdir -p "$2"
scratch="$(realpath "$2")"
shift 2
cd "$(dirname "$0")/.."

# The program under its own name, without settings or caches of the user.
mkdir -p "$scratch/bin" "$scratch/home"
ln -sf "$program" "$scratch/bin/tomoscope"
export PATH="$scratch/bin:$PATH" HOME="$scratch/home"
export XDG_CACHE_HOME="$HOME/cache" XDG_DATA_HOME="$HOME/data" XDG_RUNTIME_DIR="$HOME/run"
mkdir -p -m 700 "$XDG_RUNTIME_DIR"

# Prints the examples of a page. A line that ends with a backslash is joined with the next one.
examples_of() {
    awk '
        /^```/ { runs = !inside && $0 == "```sh"; inside = !inside; next }
        inside && runs {
            line = line $0
            if (sub(/\\$/, "", line)) next
            if (line ~ /^tomoscope /) print line
            line = ""
        }' "$1"
}

total=0
while read -r page; do
    examples="$(examples_of "$page")"
    [ -n "$examples" ] || continue
    folder="$scratch/${page//\//_}"
    rm -rf "$folder"
    mkdir "$folder"
    while read -r example; do
        echo "+ $page: $example"
        start=$SECONDS
        if ! (cd "$folder" && bash -euo pipefail -c "$example" </dev/null >output.log 2>&1); then
            cat "$folder/output.log"
            echo "FAILED: $page: $example" >&2
            exit 1
        fi
        [ $((SECONDS - start)) -lt 5 ] || echo "  $((SECONDS - start)) s"
        total=$((total + 1))
    done <<<"$examples"
done < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else find README.md docs -name '*.md' | LC_ALL=C sort; fi)

[ "$total" -gt 0 ] || [ $# -gt 0 ] || { echo "no examples found" >&2; exit 1; }
echo "$total examples passed"
