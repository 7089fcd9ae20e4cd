#!/usr/bin/env bash
# Several processes under MPI: the same image for any number of them, pieces of work divided among them, an end that all take together.
# Usage: mpi.sh PROGRAM FOLDER
set -euo pipefail
program="$1"
cd "$2"
# Open MPI: as root, on fewer cores than processes, in a container without ssh and without leave to read another process's memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated
export OMPI_MCA_btl_vader_single_copy_mechanism=none CUDA_VISIBLE_DEVICES=""

"$program" simulate nema-iq-2001 --scanner small --counts 1e6 --attenuation --background 0.2 -o scan.hs
corrections="--multiplicative scan_mult.hs --additive scan_add.hs"
settings="--subsets 4 --iterations 3 --device cpu"
"$program" reconstruct scan.hs $corrections $settings -o one.npy
for count in 2 3; do
    mpirun -n "$count" "$program" reconstruct scan.hs $corrections $settings --csv "$count.csv" -o "$count.npy" | tee said.txt
    cmp one.npy "$count.npy"
    # One speaks, and tells of the others.
    [ "$(grep -c '^device' said.txt)" = 1 ]
    grep -q "^device.*$count processes" said.txt
done

# The events of a list, and tubes of response.
"$program" simulate cylinder --scanner small --list-mode --counts 3e5 -o many.petsird
list="many.petsird --subsets 2 --iterations 2 --device cpu"
"$program" reconstruct $list -o list.npy
"$program" tubes --scanner vrpet --events 20000 --device cpu -o vrpet.tubes
"$program" simulate rat-like --scanner vrpet --counts 1e5 -o vrpet.hs
tubes="vrpet.hs --tubes vrpet.tubes --projector tubes --image 52,52,59 --subsets 4 --iterations 1 --device cpu"
"$program" reconstruct $tubes -o tubes.npy
for count in 2 3; do
    mpirun -n "$count" "$program" reconstruct $list -o "list$count.npy"
    mpirun -n "$count" "$program" reconstruct $tubes -o "tubes$count.npy"
    cmp list.npy "list$count.npy"
    cmp tubes.npy "tubes$count.npy"
done

# An image of many pieces.
fine="scan.hs $corrections --image 200,200,48 --voxel-mm 0.7,0.7,1 --algorithm mlem --iterations 1 --device cpu"
"$program" reconstruct $fine -o fine.npy
mpirun -n 3 "$program" reconstruct $fine -o fine3.npy
cmp fine.npy fine3.npy

# Frames of a list, and several inputs, are divided.
"$program" simulate cylinder --scanner small --list-mode --counts 2e4 --duration-secs 8 -o events.petsird
frames="--frames 4x2 --subsets 2 --iterations 2 --device cpu --threads 1"
"$program" reconstruct events.petsird $frames -o whole.nii
mpirun -n 2 "$program" reconstruct events.petsird $frames -o divided.nii
cmp whole.nii divided.nii
mkdir out
mpirun -n 2 "$program" reconstruct scan.hs events.petsird --iterations 1 --device cpu -o 'out/{}.npy'
[ -s out/scan.npy ] && [ -s out/events.npy ]

# What cannot be shared is refused by all.
status=0
"$program" simulate disc --epri 2d:60 -o disc.sweep
mpirun -n 2 "$program" reconstruct disc.sweep -o refused.npy 2>refused.txt || status=$?
cat refused.txt
[ "$status" != 0 ] && grep -q 'processes can share projection data and lists' refused.txt && [ ! -e refused.npy ]

# A process that is lost, and a signal to all: the last image is kept, and nobody is left.
await_steps() {
    for _ in $(seq 600); do
        [ "$(cat "$1" 2>/dev/null | wc -l)" -gt 30 ] && return
        sleep 0.1
    done
    echo "no step in a minute" >&2
    return 1
}
for how in second first asked; do
    rm -f end.npy end.csv
    # (mpirun takes up nothing that is said while it ends the others: whoever says much waits for it then.)
    mpirun -n 2 "$program" reconstruct scan.hs $corrections --subsets 4 --iterations 4000000 --device cpu --csv end.csv -o end.npy \
        --quiet >end.txt 2>&1 &
    launcher=$!
    await_steps end.csv
    members="$(pgrep -P "$launcher" | sort -n)"
    [ "$(wc -w <<<"$members")" = 2 ]
    case $how in
        first) kill -KILL "$(head -1 <<<"$members")" ;;
        second) kill -KILL "$(tail -1 <<<"$members")" ;;
        asked) kill -TERM "$launcher" ;;
    esac
    status=0
    wait "$launcher" || status=$?
    grep -v '^iteration' end.txt
    [ "$status" != 0 ] && [ -s end.npy ]
    grep -Eq 'the image holds [0-9]+ of|the image after iteration .* was written' end.txt
    for member in $members; do
        if [ -e "/proc/$member" ] && ! grep -q '^State:.Z' "/proc/$member/status"; then echo "process $member is left" >&2; exit 1; fi
    done
done
if ls | grep unfinished; then exit 1; fi
echo "all is well"
