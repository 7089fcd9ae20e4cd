// bins = A x for `count` bins from the first on.

@group(0) @binding(1) var<storage, read> image: array<f32>;
@group(0) @binding(2) var<storage, read_write> bins: array<f32>;

var<private> integral: f32;

fn visit(place: u32, length: f32) {
    integral += length * image[place];
}

@compute @workgroup_size(THREADS)
fn forward(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = (group.x + group.y * groups.x) * THREADS + thread;
    if i < p.count {
        let at = p.data_at + i;
        integral = 0.0;
        walk_bin(p.first + i);
        bins[at] = select(integral, bins[at] + integral, p.adds > 0u);
    }
}
