// Convolutions of an image with a kernel as large as it is, by transforms of twice its size (the definition is
// src/operator/fourier/convolution.rs). Complex values lie as [z][y][x] of the transforms' lengths; a pass reads one buffer and writes the
// other. Lines that are 0, and lines that have no voxel, are left out.

struct Convolution {
    // Voxels along x, y and z, and lengths of the transforms.
    nx: u32,
    ny: u32,
    nz: u32,
    len_x: u32,
    len_y: u32,
    len_z: u32,
    // Of a pass: butterflies, length of the lines, product of the radices before, and values of a line that are read, the others being 0.
    num: u32,
    len: u32,
    done: u32,
    num_read: u32,
    // Distance of the values of a line; the lines between them are transformed as well.
    value_step: u32,
    // Rows of a slice that are lines; 1 along y and z.
    rows: u32,
    // -1 of a forward transform, 1 of an inverse one.
    sign: f32,
}

const THREADS: u32 = 256u;

@group(0) @binding(0) var<uniform> shape: Convolution;
@group(0) @binding(1) var<storage, read_write> output: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;
@group(0) @binding(2) var<storage, read> input: array<vec2f>;
@group(0) @binding(2) var<storage, read> image: array<f32>;
// Half the spectrum, [z][y][x], divided by the number of frequencies.
@group(0) @binding(2) var<storage, read> spectrum: array<f32>;
// exp(-2 pi i k / len).
@group(0) @binding(3) var<storage, read> roots: array<vec2f>;

// Where a voxel lies among the complex values.
fn place_of(voxel: u32) -> u32 {
    let row = voxel / shape.nx;
    return (row / shape.ny * shape.len_y + row % shape.ny) * shape.len_x + voxel % shape.nx;
}

// output = image; one thread for each voxel
@compute @workgroup_size(THREADS)
fn load_image(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    if voxel < shape.nx * shape.ny * shape.nz {
        output[place_of(voxel)] = vec2f(image[voxel], 0.0);
    }
}

// result = input; one thread for each voxel
@compute @workgroup_size(THREADS)
fn take_image(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    if voxel < shape.nx * shape.ny * shape.nz {
        result[voxel] = input[place_of(voxel)].x;
    }
}

// output = output spectrum; one thread for each frequency
@compute @workgroup_size(THREADS)
fn multiply_by_spectrum(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number >= shape.len_x * shape.len_y * shape.len_z {
        return;
    }
    let lens = vec3u(shape.len_x, shape.len_y, shape.len_z);
    var at = vec3u(number % lens.x, number / lens.x % lens.y, number / lens.x / lens.y);
    let half = lens.x / 2u + 1u;
    if at.x >= half {
        // The opposite frequency has the same value.
        at = (lens - at) % lens;
    }
    output[number] *= spectrum[(at.z * lens.y + at.y) * half + at.x];
}

fn product(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// i factor a
fn turned(factor: f32, a: vec2f) -> vec2f {
    return factor * vec2f(-a.y, a.x);
}

// The values of a thread in a pass.
struct Butterfly {
    // Place of the first value of the line.
    first: u32,
    // Number in the line, of this many; and within the product of the radices before.
    j: u32,
    each: u32,
    k: u32,
}

fn butterfly_of(number: u32, radix: u32) -> Butterfly {
    let each = shape.len / radix;
    let line = number / shape.value_step / each;
    let first = (line / shape.rows * shape.len_y + line % shape.rows) * shape.len_x + number % shape.value_step;
    let j = number / shape.value_step % each;
    return Butterfly(first, j, each, j % shape.done);
}

// Value r of a butterfly, with its root.
fn value(own: Butterfly, r: u32) -> vec2f {
    let at = own.j + r * own.each;
    if at >= shape.num_read {
        return vec2f(0.0);
    }
    let root = roots[r * own.k * (own.each / shape.done)];
    return product(input[own.first + at * shape.value_step], vec2f(root.x, -shape.sign * root.y));
}

// Writes value r of the transform of a butterfly.
fn write(own: Butterfly, radix: u32, r: u32, value: vec2f) {
    let at = (own.j - own.k) * radix + own.k + r * shape.done;
    output[own.first + at * shape.value_step] = value;
}

// Passes of the transform (Stockham: the order of the values needs no pass of its own), with exp(sign 2 pi i / radix); one thread for
// each butterfly.
@compute @workgroup_size(THREADS)
fn pass_of_2(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number >= shape.num {
        return;
    }
    let own = butterfly_of(number, 2u);
    let a = value(own, 0u);
    let b = value(own, 1u);
    write(own, 2u, 0u, a + b);
    write(own, 2u, 1u, a - b);
}

@compute @workgroup_size(THREADS)
fn pass_of_3(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number >= shape.num {
        return;
    }
    let own = butterfly_of(number, 3u);
    let a = value(own, 0u);
    let b = value(own, 1u);
    let c = value(own, 2u);
    let side = turned(shape.sign * 0.866025404, b - c);
    let middle = a - 0.5 * (b + c);
    write(own, 3u, 0u, a + (b + c));
    write(own, 3u, 1u, middle + side);
    write(own, 3u, 2u, middle - side);
}

@compute @workgroup_size(THREADS)
fn pass_of_4(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number >= shape.num {
        return;
    }
    let own = butterfly_of(number, 4u);
    let a = value(own, 0u);
    let b = value(own, 1u);
    let c = value(own, 2u);
    let d = value(own, 3u);
    let odd_side = turned(shape.sign, b - d);
    write(own, 4u, 0u, (a + c) + (b + d));
    write(own, 4u, 1u, (a - c) + odd_side);
    write(own, 4u, 2u, (a + c) - (b + d));
    write(own, 4u, 3u, (a - c) - odd_side);
}

@compute @workgroup_size(THREADS)
fn pass_of_5(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number >= shape.num {
        return;
    }
    let own = butterfly_of(number, 5u);
    let a = value(own, 0u);
    let b = value(own, 1u);
    let c = value(own, 2u);
    let d = value(own, 3u);
    let e = value(own, 4u);
    let s1 = shape.sign * 0.951056516;
    let s2 = shape.sign * 0.587785252;
    let m1 = a + 0.309016994 * (b + e) - 0.809016994 * (c + d);
    let m2 = a - 0.809016994 * (b + e) + 0.309016994 * (c + d);
    let n1 = turned(s1, b - e) + turned(s2, c - d);
    let n2 = turned(s2, b - e) - turned(s1, c - d);
    write(own, 5u, 0u, a + ((b + e) + (c + d)));
    write(own, 5u, 1u, m1 + n1);
    write(own, 5u, 2u, m2 + n2);
    write(own, 5u, 3u, m2 - n2);
    write(own, 5u, 4u, m1 - n1);
}
