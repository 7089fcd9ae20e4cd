#!/bin/bash
# Tries the Windows packages under Wine, in a Windows folder of their own: a reconstruction with the program of the zip, then the
# installer and the uninstaller.
# Usage: .ci/package/try_windows.sh ZIP SETUP
set -euo pipefail
zip="$(realpath "$1")" setup="$(realpath "$2")"

work="$(mktemp -d)"
export WINEPREFIX="$work/wine" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml="
trap 'wineserver -k || true; wineserver -w || true; rm -rf "$work"' EXIT
cd "$work"
wineboot -i >/dev/null 2>&1

# The standard library draws its random numbers from a library that Wine before 8.13 lacks.
random="$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll"
if [ ! -e "$random" ]; then
    cat >random.c <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T num_bytes) { return RtlGenRandom(bytes, num_bytes); }
C
    x86_64-w64-mingw32-gcc -shared -s -o "$random" random.c -ladvapi32
fi

fail() { echo "$1" >&2; exit 1; }
# What the registry holds below a key of the user's, or nothing.
registry() {
    local text
    if text="$(wine reg query "HKCU\\Software\\$1" /s 2>/dev/null)"; then echo "$text"; fi
}

unzip -q "$zip"
program="$(echo "$work"/tomoscope-*/tomoscope.exe)"
mkdir "a folder, größer"
cd "a folder, größer"
wine "$program" --version
wine "$program" simulate cylinder --scanner small --counts 1e6 -o "scan ü.hs"
# The second run replaces the first one's image.
for _ in 1 2; do
    wine "$program" reconstruct "scan ü.hs" --iterations 2 --device cpu -o "image ü.nii.gz"
done
wine "$program" info "image ü.nii.gz"
[ "$(find . -name '*.nii.gz' | wc -l)" = 1 ] || fail "unfinished files are left"

endings=(session sweep pairs tubes petsird Cdh hs)
wine "$setup" /S
installed="$(echo "$WINEPREFIX"/drive_c/users/*/AppData/Local/Programs/tomoscope)"
wine "$installed/tomoscope.exe" --version
[ -n "$(find "$WINEPREFIX" -name tomoscope.lnk)" ] || fail "the installer made no entry in the start menu"
for ending in "${endings[@]}"; do
    [[ "$(registry "Classes\\.$ending")" == *tomoscope* ]] || fail "the installer did not register .$ending"
done

wine "$installed/uninstall.exe" /S
# The uninstaller continues as a copy of itself: its own file could not be removed otherwise.
for _ in $(seq 100); do
    [ -e "$installed" ] || break
    sleep 0.2
done
[ ! -e "$installed" ] || fail "the uninstaller left files: $(ls "$installed")"
[ -z "$(find "$WINEPREFIX" -name tomoscope.lnk)" ] || fail "the uninstaller left the entry in the start menu"
for ending in "${endings[@]}"; do
    [ -z "$(registry "Classes\\.$ending")$(registry "Classes\\tomoscope.$ending")" ] || fail "the uninstaller left .$ending"
done
[ -z "$(registry 'Microsoft\Windows\CurrentVersion\Uninstall\tomoscope')" ] || fail "the uninstaller left its own entry"
echo "the Windows packages work under $(wine --version)"
