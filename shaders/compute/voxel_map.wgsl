// Sparse linear maps between voxels; the definition is src/engine/algebra/voxel_map. A voxel (x, y, z) lies at x_part[x] + y_part[y] +
// z_part[z]; the tables have all parts of x, then of y, then of z. An array can be in several buffers: a dispatch is for the
// outputs of one and the inputs of one.

struct Shape {
    // Outputs along x, y and z.
    nx: u32,
    ny: u32,
    nz: u32,
    // 1 if neighbours along z lie next to each other, 0 if those along x do.
    z_is_fastest: u32,
    // Places in the buffers: the first, and their number.
    x_first: u32,
    x_len: u32,
    out_first: u32,
    out_len: u32,
    // 1 if inputs of an earlier dispatch are in the outputs.
    adds: u32,
    // Of maps along an axis: the axis, its inputs, weights of a row, weights from output to output and from column to
    // column, and 1 if outputs outside the field of view are 0.
    axis: u32,
    num_inputs: u32,
    width: u32,
    row_step: u32,
    column_step: u32,
    is_masked: u32,
    padding: u32,
}

const THREADS: u32 = 256u;
// Outputs of a thread, next to each other along the axis.
const OUTPUTS: u32 = 4u;

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
// The parts of the outputs' places, then those of the inputs'.
@group(0) @binding(3) var<storage, read> places: array<u32>;
// First input of each output; of maps in a plane the first term of each column.
@group(0) @binding(4) var<storage, read> first: array<i32>;
@group(0) @binding(5) var<storage, read> weights: array<f32>;
// For each row the x in the field of view; of maps in a plane the input columns.
@group(0) @binding(6) var<storage, read> fov_rows: array<vec2u>;
@group(0) @binding(6) var<storage, read> columns: array<u32>;

// The voxel of a number, in a space of this size.
fn voxel_of(number: u32, size: vec3u) -> vec3u {
    if shape.z_is_fastest == 1u {
        return vec3u(number / size.z % size.x, number / size.z / size.x, number % size.z);
    }
    return vec3u(number % size.x, number / size.x % size.y, number / size.x / size.y);
}

// The value of an input; 0 in another buffer.
fn input_at(place: u32) -> f32 {
    let at = place - shape.x_first;
    if at < shape.x_len {
        return x[at];
    }
    return 0.0;
}

fn put(place: u32, value: f32) {
    let at = place - shape.out_first;
    if at < shape.out_len {
        if shape.adds == 1u {
            out[at] += value;
        } else {
            out[at] = value;
        }
    }
}

// out[..., i, ...] = sum over k of w[i][k] x[..., first[i] + k, ...]; one thread for OUTPUTS of them
@compute @workgroup_size(THREADS)
fn along_axis(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let size = vec3u(shape.nx, shape.ny, shape.nz);
    let axis = shape.axis;
    var threads = size;
    threads[axis] = (size[axis] + OUTPUTS - 1u) / OUTPUTS;
    if number >= threads.x * threads.y * threads.z {
        return;
    }
    let at = voxel_of(number, threads);
    var from_size = size;
    from_size[axis] = shape.num_inputs;
    // Where the tables of the axes begin.
    let to_table = vec3u(0u, size.x, size.x + size.y);
    let from_table = to_table.z + size.z + vec3u(0u, from_size.x, from_size.x + from_size.y);
    var from_place = 0u;
    var to_place = 0u;
    for (var other = 0u; other < 3u; other++) {
        if other != axis {
            from_place += places[from_table[other] + at[other]];
            to_place += places[to_table[other] + at[other]];
        }
    }
    let output = at[axis] * OUTPUTS;
    var sums = vec4f(0.0);
    if shape.row_step == 0u {
        // Outputs share their weights: each input is read once, and w[k] goes from output to output.
        let row = (at.y * size.x + at.x) * shape.column_step;
        var w = vec4f(0.0);
        let start = first[output];
        for (var k = 0u; k < shape.width + OUTPUTS - 1u; k++) {
            var next = 0.0;
            if k < shape.width {
                next = weights[row + k];
            }
            w = vec4f(next, w.xyz);
            let input = start + i32(k);
            if input >= 0 && input < i32(shape.num_inputs) {
                sums += w * input_at(from_place + places[from_table[axis] + u32(input)]);
            }
        }
    } else {
        for (var other = 0u; other < min(OUTPUTS, size[axis] - output); other++) {
            let row = (output + other) * shape.row_step;
            for (var k = 0u; k < shape.width; k++) {
                let input = first[output + other] + i32(k);
                if input >= 0 && input < i32(shape.num_inputs) {
                    sums[other] += weights[row + k] * input_at(from_place + places[from_table[axis] + u32(input)]);
                }
            }
        }
    }
    for (var other = 0u; other < min(OUTPUTS, size[axis] - output); other++) {
        var voxel = at;
        voxel[axis] = output + other;
        let inside = fov_rows[voxel.y];
        let is_seen = shape.is_masked == 0u || (voxel.x >= inside.x && voxel.x < inside.y);
        put(to_place + places[to_table[axis] + output + other], select(0.0, sums[other], is_seen));
    }
}

// out[c][z] = sum of w x[c'][z] over the terms of column c; one thread for each voxel
@compute @workgroup_size(THREADS)
fn in_plane(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let size = vec3u(shape.nx, shape.ny, shape.nz);
    if number >= size.x * size.y * size.z {
        return;
    }
    let at = voxel_of(number, size);
    let column = at.y * size.x + at.x;
    let z_place = places[size.x + size.y + at.z];
    var sum = 0.0;
    for (var term = u32(first[column]); term < u32(first[column + 1u]); term++) {
        let input = columns[term];
        sum += weights[term] * input_at(places[input % size.x] + places[size.x + input / size.x] + z_place);
    }
    put(places[at.x] + places[size.x + at.y] + z_place, sum);
}
