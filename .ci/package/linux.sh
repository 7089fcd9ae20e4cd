#!/bin/bash
# Builds the packages for Linux into target/package: tomoscope_VERSION_ARCH.deb, tomoscope-VERSION.ARCH.rpm and a tar.gz.
# Usage: .ci/package/linux.sh [--install]
# With --install it first installs its tools: cargo-deb, cargo-generate-rpm and cargo-about, and Debian's lintian, appstream and
# desktop-file-utils, which check the packages.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "${1:-}" = --install ]; then
    apt-get install -y --no-install-recommends lintian appstream desktop-file-utils dpkg-dev gzip >/dev/null
    cargo install --locked cargo-deb cargo-generate-rpm
    cargo install --locked --features cli cargo-about
fi

out=target/package
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"

# The scripts of the packages read target/, wherever cargo builds.
cargo build --locked --release
built="${CARGO_TARGET_DIR:-target}/release/tomoscope"
program=target/release/tomoscope
[ "$built" -ef "$program" ] || install -D -m 755 "$built" "$program"

"$program" man -o "$out/man"
"$program" completions bash >"$out/completions/tomoscope.bash"
"$program" completions zsh >"$out/completions/_tomoscope"
"$program" completions fish >"$out/completions/tomoscope.fish"
cargo about generate --config .ci/package/about.toml --locked .ci/package/about.hbs -o "$out/THIRD-PARTY-LICENSES.txt"
python3 .ci/package/debian_texts.py "$version" "$out"

desktop-file-validate assets/linux/tomoscope.desktop
# The project owns no domain that the component's name could begin with.
appstreamcli validate --no-net --override=cid-desktopapp-is-not-rdns=info assets/linux/tomoscope.metainfo.xml

cargo deb --locked --no-build --output "$out/"
cargo generate-rpm --output "$out/"

folder="tomoscope-$version-$(uname -m)-linux"
mkdir -p "$out/$folder/completions"
install -s -m 755 "$program" "$out/$folder/tomoscope"
cp -r README.md CHANGELOG.md CITATION.cff LICENSE-APACHE LICENSE-MIT "$out/THIRD-PARTY-LICENSES.txt" "$out/man" assets/linux "$out/$folder"
cp "$out"/completions/* "$out/$folder/completions"
tar -C "$out" -czf "$out/$folder.tar.gz" "$folder"
rm -r "${out:?}/$folder"

lintian --fail-on error,warning --suppress-tags-from-file .ci/package/lintian-suppressed.txt "$out"/*.deb
ls -l "$out"/*.deb "$out"/*.rpm "$out"/*.tar.gz
