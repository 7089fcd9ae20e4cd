// values = A x, or += A x, for some events (walk.wgsl).

@group(0) @binding(4) var<storage, read> image: array<f32>;
@group(0) @binding(5) var<storage, read_write> values: array<f32>;

const IN_STEP: bool = false;

// Of the event, and of a walk.
var<private> factor: f32;
var<private> total: f32;
var<private> share: f32;
var<private> sum: f32;

fn weigh(by: f32) {
    factor = by;
    total = 0.0;
}

fn begin(part: f32) {
    share = part;
    sum = 0.0;
}

fn visit(place: u32, length: f32) {
    if place < p.image_len {
        sum = fma(length, image[place], sum);
    }
}

fn finish() {
    total = fma(share, sum, total);
}

@compute @workgroup_size(THREADS)
fn forward(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = (group.x + group.y * groups.x) * THREADS + thread;
    if i >= p.count {
        return;
    }
    walk_event(p.first + i);
    let before = select(values[p.values_at + i], 0.0, p.replaces != 0u);
    values[p.values_at + i] = fma(factor, total, before);
}
