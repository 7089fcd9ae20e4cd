// Looks at the bins of axial runs, of an image without negative values: none stays below 0; where counts were measured and the bin
// may be rounding alone, its number joins a list.

struct Check {
    // Number of the first bin, and of how many; in `scatter` those of the buffer.
    first: u32,
    len: u32,
    // Where they begin in the buffers; of `scatter` the number of places.
    bins_at: u32,
    measured_at: u32,
    num_planes: u32,
}

const THREADS: u32 = 256u;
// Bins of a thread.
const BINS: u32 = 16u;

@group(0) @binding(0) var<uniform> check: Check;
@group(0) @binding(1) var<storage, read_write> bins: array<f32>;
@group(0) @binding(2) var<storage, read> measured: array<f32>;
@group(0) @binding(3) var<storage, read> bounds: array<f32>;
// The number of doubtful bins, then their numbers as far as there is room.
@group(0) @binding(4) var<storage, read_write> doubtful: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read> sums: array<f32>;

@compute @workgroup_size(THREADS)
fn check_bins(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let first = (group.x + group.y * groups.x) * BINS * THREADS + thread;
    for (var k = 0u; k < BINS; k++) {
        let i = first + k * THREADS;
        let at_bin = check.bins_at + i;
        let bin = check.first + i;
        if i >= check.len || bins[at_bin] >= bounds[bin / check.num_planes] {
            continue;
        }
        if measured[check.measured_at + i] > 0.0 {
            let at = 1u + atomicAdd(&doubtful[0], 1u);
            if at < arrayLength(&doubtful) {
                atomicStore(&doubtful[at], bin);
            }
        } else if bins[at_bin] < 0.0 {
            bins[at_bin] = 0.0;
        }
    }
}

// bins[places[i]] = sums[i] for the places of the buffer
@compute @workgroup_size(THREADS)
fn scatter(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = (group.x + group.y * groups.x) * THREADS + thread;
    if i < check.bins_at {
        let place = places[i] - check.first;
        if place < check.len {
            bins[place] = sums[i];
        }
    }
}
