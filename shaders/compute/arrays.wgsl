// Element by element: the arithmetic of the host (src/engine/algebra/host.rs, src/engine/recon/em_kernels.rs).

struct Span {
    // First places, and the number of values.
    x_at: u32,
    y_at: u32,
    len: u32,
    value: f32,
}

const THREADS: u32 = 256u;

@group(0) @binding(0) var<uniform> span: Span;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read> z: array<f32>;
@group(0) @binding(2) var<storage, read> fixed: array<vec2u>;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> fov_rows: array<vec2u>;

// The value of a thread; beyond the last one none.
fn index_of(thread: u32, group: vec3u, groups: vec3u) -> u32 {
    return (group.x + group.y * groups.x) * THREADS + thread;
}

// x = value
@compute @workgroup_size(THREADS)
fn fill(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        x[span.x_at + i] = span.value;
    }
}

// x *= y
@compute @workgroup_size(THREADS)
fn multiply(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        x[span.x_at + i] *= y[span.y_at + i];
    }
}

// x += value y
@compute @workgroup_size(THREADS)
fn add_scaled(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        x[span.x_at + i] += span.value * y[span.y_at + i];
    }
}

// A 64-bit integer in two's complement, low word first, as f32: its magnitude, of which f32 holds the first 24 bits, is exact to
// 2^-24.
fn f32_of(words: vec2u) -> f32 {
    let is_negative = words.y >= 0x80000000u;
    let low = select(words.x, ~words.x + 1u, is_negative);
    let high = select(words.y, ~words.y + u32(words.x == 0u), is_negative);
    let magnitude = f32(high) * 4294967296.0 + f32(low);
    return select(magnitude, -magnitude, is_negative);
}

// x = fixed value: what 64-bit fixed point has added up
@compute @workgroup_size(THREADS)
fn from_fixed(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        x[span.x_at + i] = f32_of(fixed[span.y_at + i]) * span.value;
    }
}

// x[i] = value y[places[i]] for the places of a buffer: x_at of them, from y_at on.
@compute @workgroup_size(THREADS)
fn gather(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        // (A place before the first wraps round to a large one.)
        let place = places[i] - span.y_at;
        if place < span.x_at {
            x[i] = span.value * y[place];
        }
    }
}

// x = x y / z where z is above 0, else x (Belzunce et al. 2012, eq. 4)
@compute @workgroup_size(THREADS)
fn em_update(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len && z[i] > 0.0 {
        let correction = select(y[i], 0.0, y[i] < 0.0);
        x[i] = x[i] * correction / z[i];
    }
}

// x = y where z is above 0, else 0
@compute @workgroup_size(THREADS)
fn masked(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        x[i] = select(0.0, y[i], z[i] > 0.0);
    }
}

// x = max(x, y)
@compute @workgroup_size(THREADS)
fn raise(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        x[i] = max(x[i], y[i]);
    }
}

// x = 0 outside the field of view, in a buffer of a [z, y, x] image from place x_at on: y_at is the length of a row, value the
// number of rows, and each row y has the x of its part inside, from and up to.
@compute @workgroup_size(THREADS)
fn zero_unseen(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = index_of(thread, group, groups);
    if i < span.len {
        let place = span.x_at + i;
        let inside = fov_rows[place / span.y_at % u32(span.value)];
        let at = place % span.y_at;
        if at < inside.x || at >= inside.y {
            x[i] = 0.0;
        }
    }
}
