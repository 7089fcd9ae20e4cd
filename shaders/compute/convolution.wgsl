// Convolutions of images with kernels as large as they are, by transforms of twice their size (the definition is
// src/engine/operator/fourier/convolution.rs). Complex values lie as [image][z][y][x] of the transforms' lengths; a pass reads one buffer and writes
// the other. Lines that are 0, and lines that have no voxel, are left out. Spectral-spatial images are convolved at each frequency of their
// spectra (src/engine/operator/fourier/spectral.rs): [sample][z][y][x], of which two voxels next to each other are one line of complex values,
// [sample][pair], become half spectra [frequency][z][y][x]; some frequencies at a time are the images of the transforms in space.

struct Convolution {
    // Voxels along x, y and z, and lengths of the transforms.
    nx: u32,
    ny: u32,
    nz: u32,
    len_x: u32,
    len_y: u32,
    len_z: u32,
    // Of a pass: threads, length of the lines, radix, product of the radices before, and values of a line that are read, the others being 0.
    num: u32,
    len: u32,
    radix: u32,
    done: u32,
    num_read: u32,
    // Distance of the values of a line; the lines between them are transformed as well.
    value_step: u32,
    // Rows of a slice that are lines, 1 along y and z; and slices of an image that have lines, 1 along z.
    rows: u32,
    slices: u32,
    // -1 of a forward transform, 1 of an inverse one.
    sign: f32,
    num_images: u32,
    // Of spectral-spatial images: samples of a spectrum, and the first value of the frequencies that are the images.
    num_samples: u32,
    first: u32,
}

const THREADS: u32 = 256u;
// Images that are coupled at most.
const MAX_IMAGES: u32 = 8u;

@group(0) @binding(0) var<uniform> shape: Convolution;
@group(0) @binding(1) var<storage, read_write> output: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;
@group(0) @binding(2) var<storage, read> input: array<vec2f>;
@group(0) @binding(2) var<storage, read> image: array<f32>;
// Half the spectrum of each image's kernel with itself, [image][z][y][x], divided by the number of frequencies.
@group(0) @binding(2) var<storage, read> spectrum: array<f32>;
// Whole spectra of the kernels of some frequencies, [frequency][z][y][x], divided by the number of frequencies in space.
@group(0) @binding(2) var<storage, read> kernels: array<f32>;
// exp(-2 pi i k / len).
@group(0) @binding(3) var<storage, read> roots: array<vec2f>;
// Half the spectrum of the kernel of each pair, (0, 1), (0, 2), (1, 2), ...; its conjugate is that of the mirrored kernel.
@group(0) @binding(3) var<storage, read> between: array<vec2f>;

fn num_voxels() -> u32 {
    return shape.nx * shape.ny * shape.nz;
}

// Pairs of voxels next to each other; the last one may have no partner.
fn num_pairs() -> u32 {
    return (num_voxels() + 1u) / 2u;
}

// Frequencies of the spectra below that of half the samples.
fn num_frequencies() -> u32 {
    return (shape.num_samples + 1u) / 2u;
}

// Where a voxel of an image lies among the complex values.
fn place_of(voxel: u32) -> u32 {
    let row = voxel / shape.nx;
    let slice = row / shape.ny;
    let in_images = slice / shape.nz * shape.len_z + slice % shape.nz;
    return (in_images * shape.len_y + row % shape.ny) * shape.len_x + voxel % shape.nx;
}

// Place of a frequency in half a spectrum, and 1; of one that is in the other half that of the opposite frequency, and -1: there a
// spectrum of real values is the conjugate.
fn place_in_half(number: u32) -> vec2i {
    let lens = vec3u(shape.len_x, shape.len_y, shape.len_z);
    var at = vec3u(number % lens.x, number / lens.x % lens.y, number / lens.x / lens.y);
    let half = lens.x / 2u + 1u;
    let is_opposite = at.x >= half;
    if is_opposite {
        at = (lens - at) % lens;
    }
    return vec2i(i32((at.z * lens.y + at.y) * half + at.x), select(1, -1, is_opposite));
}

// output = image; one thread for each voxel
@compute @workgroup_size(THREADS)
fn load_image(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    if voxel < shape.num_images * num_voxels() {
        output[place_of(voxel)] = vec2f(image[voxel], 0.0);
    }
}

// result = input; one thread for each voxel
@compute @workgroup_size(THREADS)
fn take_image(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    if voxel < shape.num_images * num_voxels() {
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
    // (The spectrum of a kernel that is its own mirror image is real.)
    output[number] *= spectrum[place_in_half(number).x];
}

// output = the products of the spectra of all images with those of the kernels; one thread for each frequency
@compute @workgroup_size(THREADS)
fn couple(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let len = shape.len_x * shape.len_y * shape.len_z;
    if number >= len {
        return;
    }
    let place = place_in_half(number);
    let at = u32(place.x);
    let sign = f32(place.y);
    let half_len = (shape.len_x / 2u + 1u) * shape.len_y * shape.len_z;
    var values: array<vec2f, MAX_IMAGES>;
    var products: array<vec2f, MAX_IMAGES>;
    for (var m = 0u; m < shape.num_images; m++) {
        values[m] = output[m * len + number];
        products[m] = spectrum[m * half_len + at] * values[m];
    }
    var pair = 0u;
    for (var j = 1u; j < shape.num_images; j++) {
        for (var m = 0u; m < j; m++) {
            var factor = between[pair * half_len + at];
            factor.y *= sign;
            products[m] += product(factor, values[j]);
            products[j] += product(vec2f(factor.x, -factor.y), values[m]);
            pair++;
        }
    }
    for (var m = 0u; m < shape.num_images; m++) {
        output[m * len + number] = products[m];
    }
}

// output = output kernels; one thread for each frequency in space
@compute @workgroup_size(THREADS)
fn multiply_by_kernels(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number < shape.num_images * shape.len_x * shape.len_y * shape.len_z {
        output[number] *= kernels[number];
    }
}

// output = input, frequencies of the spectra; one thread for each value
@compute @workgroup_size(THREADS)
fn load_frequencies(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    if voxel < shape.num_images * num_voxels() {
        output[place_of(voxel)] = input[shape.first + voxel];
    }
}

// The same back.
@compute @workgroup_size(THREADS)
fn take_frequencies(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    if voxel < shape.num_images * num_voxels() {
        output[shape.first + voxel] = input[place_of(voxel)];
    }
}

// output = the pairs of voxels of the image; one thread for each sample of a pair
@compute @workgroup_size(THREADS)
fn load_samples(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let sample = number / num_pairs();
    if sample >= shape.num_samples {
        return;
    }
    let voxel = 2u * (number % num_pairs());
    let at = sample * num_voxels() + voxel;
    var value = vec2f(image[at], 0.0);
    if voxel + 1u < num_voxels() {
        value.y = image[at + 1u];
    }
    output[number] = value;
}

// result = input, the pairs of voxels; one thread for each value
@compute @workgroup_size(THREADS)
fn take_samples(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let sample = number / num_voxels();
    if sample < shape.num_samples {
        let voxel = number % num_voxels();
        result[number] = input[sample * num_pairs() + voxel / 2u][voxel % 2u];
    }
}

// output = half the spectrum of each voxel, of the transforms of the pairs; one thread for each value
@compute @workgroup_size(THREADS)
fn split_pairs(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let k = number / num_voxels();
    if k >= num_frequencies() {
        return;
    }
    let voxel = number % num_voxels();
    let here = input[k * num_pairs() + voxel / 2u];
    let there = input[(shape.num_samples - k) % shape.num_samples * num_pairs() + voxel / 2u];
    // Of real values a and b, those of a + i b at k and -k are A + i B and conj(A) + i conj(B).
    if voxel % 2u == 0u {
        output[number] = 0.5 * vec2f(here.x + there.x, here.y - there.y);
    } else {
        output[number] = 0.5 * vec2f(here.y + there.y, there.x - here.x);
    }
}

// output = the transforms of the pairs, of half the spectrum of each voxel, divided by the number of samples; one thread for each
// frequency of a pair
@compute @workgroup_size(THREADS)
fn join_pairs(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    let k = number / num_pairs();
    if k >= num_frequencies() {
        return;
    }
    let pair = number % num_pairs();
    let at = k * num_voxels() + 2u * pair;
    let scale = 1.0 / f32(shape.num_samples);
    let a = scale * input[at];
    var b = vec2f(0.0);
    if 2u * pair + 1u < num_voxels() {
        b = scale * input[at + 1u];
    }
    if k > 0u {
        output[number] = vec2f(a.x - b.y, a.y + b.x);
        output[(shape.num_samples - k) * num_pairs() + pair] = vec2f(a.x + b.y, b.x - a.y);
        return;
    }
    // (Rounding leaves a small imaginary part.)
    output[number] = vec2f(a.x, b.x);
    // The frequency of half the samples has no kernel.
    if shape.num_samples % 2u == 0u {
        output[shape.num_samples / 2u * num_pairs() + pair] = vec2f(0.0);
    }
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
    let slice = line / shape.rows;
    let in_images = slice / shape.slices * shape.len_z + slice % shape.slices;
    let first = (in_images * shape.len_y + line % shape.rows) * shape.len_x + number % shape.value_step;
    let j = number / shape.value_step % each;
    return Butterfly(first, j, each, j % shape.done);
}

// Value r of a butterfly, with its root.
fn value(own: Butterfly, r: u32) -> vec2f {
    return value_with(own, r, r * own.k * (own.each / shape.done));
}

// Value r of a butterfly, with root `turn`.
fn value_with(own: Butterfly, r: u32, turn: u32) -> vec2f {
    let at = own.j + r * own.each;
    if at >= shape.num_read {
        return vec2f(0.0);
    }
    let root = roots[turn];
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

// Any radix, by sums; one thread for each value.
@compute @workgroup_size(THREADS)
fn pass_by_sums(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = (group.x + group.y * groups.x) * THREADS + thread;
    if number >= shape.num {
        return;
    }
    let num_butterflies = shape.num / shape.radix;
    let own = butterfly_of(number % num_butterflies, shape.radix);
    let r = number / num_butterflies;
    let turn = (own.k + r * shape.done) * (own.each / shape.done);
    var sum = vec2f(0.0);
    var at = 0u;
    for (var q = 0u; q < shape.radix; q++) {
        sum += value_with(own, q, at);
        at = (at + turn) % shape.len;
    }
    write(own, shape.radix, r, sum);
}
