// Penalties on the differences of neighbouring voxels; the definition is src/engine/recon/penalty, the formulas in f32 are those of
// src/engine/recon/penalty/host.rs. A voxel (x, y, z) lies at x_part[x] + y_part[y] + z_part[z]; the table has all parts of x, then of y, then of
// z. An array can be in several buffers: a dispatch is for the voxels of one and their neighbours of one.

struct Penalty {
    // At a + 2 b the weight of neighbours a and b voxels away along x and y, within a slice and in the next.
    in_slice: vec4f,
    in_next: vec4f,
    // Voxels along x, y and z.
    nx: u32,
    ny: u32,
    nz: u32,
    // 1 if neighbours along z lie next to each other, 0 if those along x do.
    z_is_fastest: u32,
    // 0 relative differences, 1 quadratic, 2 log-cosh.
    potential: u32,
    // 0 if kappa is 1 everywhere.
    has_kappa: u32,
    // Factor of the sums.
    scale: f32,
    // Gamma and epsilon of relative differences, delta and 1 / delta of log-cosh.
    first: f32,
    second: f32,
    // Places in the buffers of the voxels and of their neighbours: the first, and their number.
    own_first: u32,
    own_len: u32,
    other_first: u32,
    other_len: u32,
    padding_1: u32,
    padding_2: u32,
    padding_3: u32,
}

const THREADS: u32 = 256u;
// Voxels of a thread in sums.
const VALUES: u32 = 16u;

// Quantities: the potential, its derivative by the first value, and that over the difference (the curvature of a parabola above it).
const VALUE: u32 = 0u;
const SLOPE: u32 = 1u;
const CURVATURE: u32 = 2u;

@group(0) @binding(0) var<uniform> penalty: Penalty;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> own: array<f32>;
@group(0) @binding(3) var<storage, read> others: array<f32>;
@group(0) @binding(4) var<storage, read> own_kappa: array<f32>;
@group(0) @binding(5) var<storage, read> other_kappa: array<f32>;
@group(0) @binding(6) var<storage, read> places: array<u32>;
// For each row the x in the field of view.
@group(0) @binding(7) var<storage, read> fov_rows: array<vec2u>;

var<workgroup> shared_sums: array<f32, THREADS>;

// The voxel of a number.
fn voxel_of(number: u32) -> vec3u {
    let size = vec3u(penalty.nx, penalty.ny, penalty.nz);
    if penalty.z_is_fastest == 1u {
        return vec3u(number / size.z % size.x, number / size.z / size.x, number % size.z);
    }
    return vec3u(number % size.x, number / size.x % size.y, number / size.x / size.y);
}

fn place_of(at: vec3u) -> u32 {
    return places[at.x] + places[penalty.nx + at.y] + places[penalty.nx + penalty.ny + at.z];
}

// tanh t / t for t from 0 to 1
fn tanh_over_small(t: f32) -> f32 {
    let t2 = t * t;
    return (945.0 + t2 * (105.0 + t2)) / (945.0 + t2 * (420.0 + 15.0 * t2));
}

// tanh t for t from 0 to 1
fn tanh_of_small(t: f32) -> f32 {
    return t * tanh_over_small(t);
}

// artanh u for u from 0 to 0.22
fn artanh_of_small(u: f32) -> f32 {
    let u2 = u * u;
    return u * (1.0 + u2 * (1.0 / 3.0 + u2 * (1.0 / 5.0 + u2 * (1.0 / 7.0 + u2 * (1.0 / 9.0)))));
}

// A quantity of a pair.
fn term(quantity: u32, x: f32, other: f32) -> f32 {
    let difference = x - other;
    if penalty.potential == 0u {
        let divisor = x + other + penalty.first * abs(difference) + penalty.second;
        var inverse = 0.0;
        if divisor > 0.0 {
            inverse = 1.0 / divisor;
        }
        if quantity == VALUE {
            return difference * (difference * inverse);
        }
        let ratio = (2.0 * other + penalty.second) * inverse;
        if quantity == SLOPE {
            return difference * inverse * (1.0 + ratio);
        }
        return inverse * (1.0 + ratio);
    }
    if penalty.potential == 1u {
        if quantity == VALUE {
            return 0.5 * difference * difference;
        }
        return select(1.0, difference, quantity == SLOPE);
    }
    let t = abs(difference) * penalty.second;
    let exponential = exp(-2.0 * t);
    if quantity == VALUE {
        var ln_cosh = t - 0.6931471805599453 + 2.0 * artanh_of_small(exponential / (2.0 + exponential));
        if t <= 1.0 {
            let half = tanh_of_small(0.5 * t);
            ln_cosh = 2.0 * artanh_of_small(half * half);
        }
        return penalty.first * (penalty.first * ln_cosh);
    }
    let above = 1.0 + exponential;
    if quantity == SLOPE {
        var tanh_t = (1.0 - exponential) / above;
        if t <= 1.0 {
            tanh_t = tanh_of_small(t);
        }
        return penalty.first * select(tanh_t, -tanh_t, x < other);
    }
    if t <= 1.0 {
        return tanh_over_small(t);
    }
    return (1.0 - exponential) / (t * above);
}

// The sum of w kappa kappa' term over the neighbours of a voxel in their buffer; 0 of a voxel in another buffer.
fn neighbour_sum(quantity: u32, at: vec3u) -> f32 {
    let own_at = place_of(at) - penalty.own_first;
    if own_at >= penalty.own_len {
        return 0.0;
    }
    let x = own[own_at];
    var sum = 0.0;
    for (var number = 0u; number < 27u; number++) {
        let step = vec3u(number % 3u, number / 3u % 3u, number / 9u);
        // (Before the first it is a large number.)
        let neighbour = at + step - 1u;
        if number == 13u || neighbour.x >= penalty.nx || neighbour.y >= penalty.ny || neighbour.z >= penalty.nz {
            continue;
        }
        let place = place_of(neighbour) - penalty.other_first;
        if place >= penalty.other_len {
            continue;
        }
        let of_weight = select(0u, 1u, step.x != 1u) + select(0u, 2u, step.y != 1u);
        let value = select(penalty.in_next[of_weight], penalty.in_slice[of_weight], step.z == 1u) * term(quantity, x, others[place]);
        if penalty.has_kappa == 1u {
            sum += other_kappa[place] * value;
        } else {
            sum += value;
        }
    }
    if penalty.has_kappa == 1u {
        return own_kappa[own_at] * sum;
    }
    return sum;
}

// out += scale * the sum of a quantity in the field of view; one thread for each voxel
fn add(quantity: u32, number: u32) {
    if number >= penalty.nx * penalty.ny * penalty.nz {
        return;
    }
    let at = voxel_of(number);
    let inside = fov_rows[at.y];
    let place = place_of(at) - penalty.own_first;
    if at.x >= inside.x && at.x < inside.y && place < penalty.own_len {
        out[place] += penalty.scale * neighbour_sum(quantity, at);
    }
}

@compute @workgroup_size(THREADS)
fn add_slopes(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    add(SLOPE, (group.x + group.y * groups.x) * THREADS + thread);
}

@compute @workgroup_size(THREADS)
fn add_curvatures(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    add(CURVATURE, (group.x + group.y * groups.x) * THREADS + thread);
}

// out[group] = the sum of the values over all neighbours of the group's voxels
@compute @workgroup_size(THREADS)
fn sum_values(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    let len = penalty.nx * penalty.ny * penalty.nz;
    var sum = 0.0;
    for (var k = 0u; k < VALUES; k++) {
        let i = (number * VALUES + k) * THREADS + thread;
        if i < len {
            sum += neighbour_sum(VALUE, voxel_of(i));
        }
    }
    shared_sums[thread] = sum;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            shared_sums[thread] += shared_sums[thread + half];
        }
        workgroupBarrier();
    }
    if thread == 0u && number * VALUES * THREADS < len {
        out[number] = shared_sums[0];
    }
}
