// sums += Aᵀ q for `count` bins from the first on.

@group(0) @binding(2) var<storage, read> q: array<f32>;

var<private> value: f32;

fn visit(place: u32, length: f32) {
    add(place, value * length);
}

@compute @workgroup_size(THREADS)
fn back(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = (group.x + group.y * groups.x) * THREADS + thread;
    if i < p.count {
        value = q[p.data_at + i];
        if value != 0.0 {
            walk_bin(p.first + i);
        }
    }
}
