#!/bin/bash
# Packs the crate as `cargo publish` would, unpacks it in an empty folder, and installs the program from there.
# Usage: .ci/package/crate.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

out=target/package
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
mkdir -p "$out"
cargo package --locked --no-verify
crate="${CARGO_TARGET_DIR:-target}/package/tomoscope-$version.crate"
size="$(stat -c %s "$crate")"
echo "$crate: $size bytes"
[ "$size" -le 10485760 ] || { echo "the crate is larger than the registry takes (10 MiB)"; exit 1; }

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
tar -xzf "$crate" -C "$folder"
cargo install --locked --path "$folder/tomoscope-$version" --root "$folder/root"
cd "$folder"
root/bin/tomoscope --version
root/bin/tomoscope simulate cylinder --scanner small --counts 1e6 -o scan.hs
root/bin/tomoscope reconstruct scan.hs --device cpu -o image.nii.gz
