// sums += Aᵀ q for some events (walk.wgsl).

@group(0) @binding(4) var<storage, read> q: array<f32>;

const IN_STEP: bool = true;

// Of the event, and of a walk.
var<private> factor: f32;
var<private> value: f32;

fn weigh(by: f32) {
    factor *= by;
}

fn begin(share: f32) {
    value = factor * share;
}

fn visit(place: u32, length: f32) {
    if place < p.image_len {
        add(place, value * length);
    }
}

fn finish() {
}

@compute @workgroup_size(THREADS)
fn backproject(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = (group.x + group.y * groups.x) * THREADS + thread;
    if i < p.count {
        factor = q[p.values_at + i];
        if factor != 0.0 {
            walk_event(p.first + i);
        }
    }
}
