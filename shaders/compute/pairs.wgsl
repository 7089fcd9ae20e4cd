// out[row][column] = table[row.x + column.x] table[row.y + column.y], for the values of a buffer from the first on.

struct Pairs {
    num_columns: u32,
    first: u32,
    len: u32,
}

const THREADS: u32 = 256u;

@group(0) @binding(0) var<uniform> pairs: Pairs;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<f32>;
@group(0) @binding(3) var<storage, read> rows: array<vec2u>;
@group(0) @binding(4) var<storage, read> columns: array<vec2u>;

@compute @workgroup_size(THREADS)
fn pair_products(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = (group.x + group.y * groups.x) * THREADS + thread;
    if i < pairs.len {
        let row = rows[(pairs.first + i) / pairs.num_columns];
        let column = columns[(pairs.first + i) % pairs.num_columns];
        out[i] = table[row.x + column.x] * table[row.y + column.y];
    }
}
