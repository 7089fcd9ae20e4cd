#!/bin/bash
# Builds the program for Windows on Debian 12 into target/package: tomoscope-VERSION-x86_64-windows.zip and an installer,
# tomoscope-VERSION-x86_64-setup.exe. Tries both under Wine.
# Usage: .ci/package/windows.sh [--install]
# With --install it first installs its tools: from Debian Rust with the source of its library, the MinGW compiler, NSIS, Wine and what
# draws the icon, then cargo-about.
#
# Debian has no compiled library of a recent Rust for Windows, so cargo compiles it too (-Zbuild-std, which stable releases allow
# with RUSTC_BOOTSTRAP only).
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "${1:-}" = --install ]; then
    apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src gcc-mingw-w64-x86-64 \
        nsis zip unzip librsvg2-bin icoutils wine wine64 >/dev/null
    cargo install --locked --features cli cargo-about
fi

target=x86_64-pc-windows-gnu
out=target/package
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
folder="$out/tomoscope-$version-x86_64-windows"
zip="$folder.zip"
setup="$out/tomoscope-$version-x86_64-setup.exe"
rm -rf "$folder" "$zip" "$setup"
mkdir -p "$folder"

# Debian's compiler and library source are of the same version; another Rust may come first in PATH.
# The C runtime is linked in: the program needs no other file of MinGW.
env PATH="/usr/bin:$PATH" RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 \
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS="-C target-feature=+crt-static" \
    /usr/bin/cargo build --locked --release -Zbuild-std=std,panic_unwind --target "$target"
x86_64-w64-mingw32-strip -o "$folder/tomoscope.exe" "${CARGO_TARGET_DIR:-target}/$target/release/tomoscope.exe"

icons="$(mktemp -d)"
trap 'rm -rf "$icons"' EXIT
for size in 16 24 32 48 64 256; do
    rsvg-convert -w "$size" -h "$size" assets/linux/tomoscope.svg -o "$icons/$size.png"
done
icotool -c -o "$folder/tomoscope.ico" --raw="$icons/256.png" "$icons"/[1-6]?.png

cp README.md CHANGELOG.md CITATION.cff LICENSE-APACHE LICENSE-MIT "$folder"
cargo about generate --config .ci/package/about.toml --target "$target" --locked .ci/package/about.hbs -o "$folder/THIRD-PARTY-LICENSES.txt"
# The C runtime's.
cat /usr/share/doc/mingw-w64-common/copyright >>"$folder/THIRD-PARTY-LICENSES.txt"

(cd "$out" && zip -qr "$(basename "$zip")" "$(basename "$folder")")
# The same program without a console, for the start menu and double clicks.
x86_64-w64-mingw32-objcopy --subsystem windows "$folder/tomoscope.exe" "$folder/tomoscopew.exe"
makensis -V2 -WX "-DVERSION=$version" "-DFILES=$PWD/$folder" "-DSETUP=$PWD/$setup" .ci/package/tomoscope.nsi

.ci/package/try_windows.sh "$zip" "$setup"
rm -r "${folder:?}"
ls -l "$zip" "$setup"
