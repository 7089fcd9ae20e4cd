#!/bin/bash
# Builds tomoscope.app and a zip of it into target/package, on macOS. Untested: it has not run on macOS yet.
# Usage: .ci/package/macos.sh [TARGET]      (aarch64-apple-darwin, x86_64-apple-darwin; default: this machine's)
# The bundle is signed ad hoc. To sign it for others, set CODESIGN_IDENTITY to a Developer ID.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(uname)" = Darwin ] || { echo "$0 needs macOS"; exit 1; }

target="${1:-$(rustc -vV | sed -n 's/^host: //p')}"
out=target/package
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
app="$out/tomoscope.app/Contents"
rm -rf "$out/tomoscope.app"
mkdir -p "$app/MacOS" "$app/Resources"

# There is no CUDA on macOS.
cargo build --locked --release --no-default-features --target "$target"
install -m 755 "${CARGO_TARGET_DIR:-target}/$target/release/tomoscope" "$app/MacOS/tomoscope"
cp LICENSE-APACHE LICENSE-MIT "$app/Resources"

# The icon in the sizes that the Finder shows.
icons="$(mktemp -d)/tomoscope.iconset"
mkdir -p "$icons"
qlmanage -t -s 1024 -o "$icons" assets/linux/tomoscope.svg >/dev/null
for size in 16 32 128 256 512; do
    sips -z "$size" "$size" "$icons/tomoscope.svg.png" --out "$icons/icon_${size}x$size.png" >/dev/null
    sips -z $((2 * size)) $((2 * size)) "$icons/tomoscope.svg.png" --out "$icons/icon_${size}x$size@2x.png" >/dev/null
done
rm "$icons/tomoscope.svg.png"
iconutil -c icns "$icons" -o "$app/Resources/tomoscope.icns"

cat >"$app/Info.plist" <<PLIST
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>CFBundleExecutable</key><string>tomoscope</string>
    <key>CFBundleIconFile</key><string>tomoscope</string>
    <key>CFBundleIdentifier</key><string>tomoscope</string>
    <key>CFBundleName</key><string>tomoscope</string>
    <key>CFBundlePackageType</key><string>APPL</string>
    <key>CFBundleShortVersionString</key><string>$version</string>
    <key>CFBundleVersion</key><string>$version</string>
    <key>LSApplicationCategoryType</key><string>public.app-category.medical</string>
    <key>NSHighResolutionCapable</key><true/>
    <key>CFBundleDocumentTypes</key>
    <array>
        <dict>
            <key>CFBundleTypeName</key><string>tomoscope study</string>
            <key>CFBundleTypeRole</key><string>Viewer</string>
            <key>LSHandlerRank</key><string>Default</string>
            <key>CFBundleTypeExtensions</key>
            <array>
                <string>session</string>
                <string>sweep</string>
                <string>pairs</string>
                <string>petsird</string>
                <string>Cdh</string>
                <string>hs</string>
            </array>
        </dict>
    </array>
</dict>
</plist>
PLIST
plutil -lint "$app/Info.plist"
codesign --force --deep --sign "${CODESIGN_IDENTITY:--}" "$out/tomoscope.app"
"$app/MacOS/tomoscope" --version
ditto -c -k --keepParent "$out/tomoscope.app" "$out/tomoscope-$version-$target.zip"
