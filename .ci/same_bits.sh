#!/usr/bin/env bash
# Prints the hashes of the files that commands write: every kind of data, algorithm and projector, on the CPU. A change that only moves code
# leaves all of them as they are: compare the output of the program before it with that after it.
#
#   .ci/same_bits.sh PROGRAM >hashes.txt
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
program="$(realpath "$1")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export HOME="$scratch" XDG_CACHE_HOME="$scratch/cache"
run() { # exit code 3: an image that is not converged, or explains little
    "$program" "$@" >log.txt 2>&1 || [ $? = 3 ] || { echo "FAILED: $*" >&2; cat log.txt >&2; exit 1; }
}
image() { run reconstruct "${@:2}" --device cpu --accumulation deterministic -o "$1.npy"; }
epri() { run reconstruct "${@:2}" --device cpu -o "$1.npy"; }

run simulate nema-iq-2018 --scanner small --counts 1e6 --attenuation --background 0.2 -o scan.hs
run simulate nema-iq-2018 --scanner small --counts 5e5 --tof-ps 400 -o tof.hs
run simulate cylinder --scanner small --list-mode --tof-ps 300 --counts 5e4 --attenuation --background 0.1 -o events.petsird
run simulate cylinder --scanner small --list-mode --counts 5e4 -o castor.Cdh
run simulate rods --scanner madpet2-reduced --counts 1e5 -o rods.pairs
run simulate balls --epri 62 --points 48 --extent-mm 40 --noise-fraction 0.01 -o balls.sweep
run simulate vials --epri 2d:24 --points 64 --extent-mm 60 --linewidths-mt 0.1,0.15,0.2,0.12,0.18,0.25 --sweep-mt 3.2 -o lines.sweep
run simulate derenzo --scanner vrpet --model montecarlo --counts 3e4 -o heads.hs
corrected=(scan.hs --multiplicative scan_mult.hs --additive scan_add.hs)
run reconstruct "${corrected[@]}" --iterations 1 --subsets 8 --device cpu --accumulation deterministic -o start.nii
image osem "${corrected[@]}"
image mlem "${corrected[@]}" --algorithm mlem --iterations 5 --projector per-lor
image svrg "${corrected[@]}" --algorithm svrg --beta auto --iterations 6 --init start.nii
image bsrem "${corrected[@]}" --algorithm bsrem --beta auto --prior log-cosh --iterations 4 --init start.nii
image psf "${corrected[@]}" --psf-fwhm-mm 5 --post-filter-mm 4 --iterations 2
image tof tof.hs --iterations 2
image list events.petsird --iterations 2
image castor castor.Cdh --iterations 2
epri fbp balls.sweep
epri stages balls.sweep --algorithm fbp-multistage
epri tv balls.sweep --algorithm tv --iterations 20
run reconstruct lines.sweep --algorithm tv --spectral-samples 48 --iterations 10 --device cpu -o lines.nii
run matrix --scanner madpet2-reduced --events 1e6 --device cpu -o small.matrix
image pairs rods.pairs --matrix small.matrix --iterations 3
run tubes --scanner vrpet --events 1e5 --device cpu -o vrpet.tubes
image tubes heads.hs --projector tubes --tubes vrpet.tubes --iterations 1
run project start.nii --like scan.hs --device cpu -o projected.hs
run histogram events.petsird -o counted.hs
find . -name log.txt -delete
find . -type f ! -path './cache/*' ! -name '*.json' ! -name '*.hs' ! -name '*.toml' ! -name '*.sweep' ! -name '*.Cdh' ! -name '*.matrix' \
    ! -name '*.pairs' ! -name '*.tubes' -print0 \
    | LC_ALL=C sort -z | xargs -0 sha256sum
