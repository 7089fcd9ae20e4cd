// Steps of total variation; the definition is src/engine/recon/tv/kernels.rs. Images are [image, z, y, x], a field of vectors
// [image, axis, z, y, x]. Differences from an image to the next, of spectra, follow the vectors, [image, z, y, x], and lie between -1 and 1.

struct Variation {
    // Voxels of an image along x, y and z.
    nx: u32,
    ny: u32,
    nz: u32,
    num_axes: u32,
    num_images: u32,
    has_mask: u32,
    // Weights of the differences along x, y and z.
    weight_x: f32,
    weight_y: f32,
    weight_z: f32,
    // Factor of the gradient in a step of the field.
    scale: f32,
    // Constants of a step of the images.
    tau: f32,
    lambda: f32,
    is_positive: u32,
    // Weight of the differences from an image to the next; 0 = none.
    spectral_weight: f32,
    // Of the extrapolated image, and weights of the new image in the mean and in the next point.
    extrapolation: f32,
    weight: f32,
    next_weight: f32,
}

const THREADS: u32 = 256u;
// Voxels of a thread in sums.
const VALUES: u32 = 16u;

@group(0) @binding(0) var<uniform> shape: Variation;
@group(0) @binding(1) var<storage, read_write> field: array<f32>;
@group(0) @binding(1) var<storage, read_write> partial: array<f32>;
@group(0) @binding(2) var<storage, read> images: array<f32>;
@group(0) @binding(2) var<storage, read> vectors: array<f32>;
@group(0) @binding(3) var<storage, read> mask: array<f32>;
@group(0) @binding(4) var<storage, read_write> u: array<f32>;
@group(0) @binding(5) var<storage, read_write> extrapolated: array<f32>;
@group(0) @binding(6) var<storage, read_write> mean: array<f32>;
@group(0) @binding(7) var<storage, read_write> next_point: array<f32>;
@group(0) @binding(8) var<storage, read> residual: array<f32>;

var<workgroup> shared_sums: array<vec4f, THREADS>;

fn num_voxels() -> u32 {
    return shape.nx * shape.ny * shape.nz;
}

// Numbers of a voxel along x, y and z.
fn numbers_of(voxel: u32) -> vec3u {
    return vec3u(voxel % shape.nx, voxel / shape.nx % shape.ny, voxel / (shape.nx * shape.ny));
}

// Distances of neighbours along x, y and z.
fn shifts() -> vec3u {
    return vec3u(1u, shape.nx, shape.nx * shape.ny);
}

// The weighted difference to the next voxel along an axis, 0 at the last one and at the edge of the mask.
fn difference(first: u32, voxel: u32, has_next: bool, shift: u32, weight: f32) -> f32 {
    if !has_next {
        return 0.0;
    }
    let value = weight * (images[first + voxel + shift] - images[first + voxel]);
    if shape.has_mask == 0u {
        return value;
    }
    return value * (mask[voxel] * mask[voxel + shift]);
}

// The weighted differences at a voxel of the image that begins at `first`.
fn gradient(first: u32, voxel: u32) -> vec3f {
    let has_next = numbers_of(voxel) + 1u < vec3u(shape.nx, shape.ny, shape.nz);
    let shift = shifts();
    return vec3f(
        difference(first, voxel, has_next.x, shift.x, shape.weight_x),
        difference(first, voxel, has_next.y, shift.y, shape.weight_y),
        difference(first, voxel, has_next.z, shift.z, shape.weight_z),
    );
}

// Where the difference of a value to the next image lies in a field.
fn place_along_spectra(index: u32) -> u32 {
    return shape.num_axes * num_voxels() * shape.num_images + index;
}

// The weighted difference of a value to the next image, 0 at the last image and outside the mask.
fn spectral_difference(index: u32, image: u32, voxel: u32) -> f32 {
    if shape.spectral_weight == 0.0 || image + 1u >= shape.num_images {
        return 0.0;
    }
    let value = shape.spectral_weight * (images[index + num_voxels()] - images[index]);
    if shape.has_mask == 0u {
        return value;
    }
    return value * mask[voxel];
}

// field = the projection of field + scale gradient: vectors of a length above 1 get that length; one thread for each voxel
@compute @workgroup_size(THREADS)
fn dual_step(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let index = (group.x + group.y * groups.x) * THREADS + thread;
    let num = num_voxels();
    if index >= num * shape.num_images {
        return;
    }
    let image = index / num;
    let voxel = index % num;
    let at = image * shape.num_axes * num + voxel;
    var before = vec3f(field[at], field[at + num], 0.0);
    if shape.num_axes == 3u {
        before.z = field[at + 2u * num];
    }
    let moved = before + shape.scale * gradient(image * num, voxel);
    let after = moved / max(sqrt(dot(moved, moved)), 1.0);
    field[at] = after.x;
    field[at + num] = after.y;
    if shape.num_axes == 3u {
        field[at + 2u * num] = after.z;
    }
    if shape.spectral_weight > 0.0 {
        let along = place_along_spectra(index);
        field[along] = clamp(field[along] + shape.scale * spectral_difference(index, image, voxel), -1.0, 1.0);
    }
}

// The weighted difference of a component to the previous voxel along its axis.
fn divergence_along(at: u32, has_previous: bool, shift: u32, weight: f32) -> f32 {
    if has_previous {
        return weight * (vectors[at] - vectors[at - shift]);
    }
    return weight * vectors[at];
}

// The divergence of the field at a voxel of an image.
fn divergence(image: u32, voxel: u32) -> f32 {
    let num = num_voxels();
    let at = image * shape.num_axes * num + voxel;
    let has_previous = numbers_of(voxel) > vec3u(0u);
    let shift = shifts();
    var sum = divergence_along(at, has_previous.x, shift.x, shape.weight_x);
    sum += divergence_along(at + num, has_previous.y, shift.y, shape.weight_y);
    if shape.num_axes == 3u {
        sum += divergence_along(at + 2u * num, has_previous.z, shift.z, shape.weight_z);
    }
    if shape.spectral_weight > 0.0 {
        sum += divergence_along(place_along_spectra(image * num + voxel), image > 0u, num, shape.spectral_weight);
    }
    return sum;
}

// The sums over a group, in the first thread.
fn group_sums(thread: u32, sums: vec4f) -> vec4f {
    shared_sums[thread] = sums;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            shared_sums[thread] += shared_sums[thread + half];
        }
        workgroupBarrier();
    }
    return shared_sums[0];
}

// A step of the images u and of their mean m; for each group the sums of (m' - m)^2 and m'^2.
@compute @workgroup_size(THREADS)
fn primal_step(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    let num = num_voxels();
    let len = num * shape.num_images;
    var sums = vec4f(0.0);
    for (var k = 0u; k < VALUES; k++) {
        let i = (number * VALUES + k) * THREADS + thread;
        if i >= len {
            continue;
        }
        let voxel = i % num;
        let before = u[i];
        var after = before + shape.tau * (shape.lambda * divergence(i / num, voxel) - residual[i]);
        if shape.has_mask == 1u {
            after *= mask[voxel];
        }
        if shape.is_positive == 1u {
            after = max(after, 0.0);
        }
        u[i] = after;
        extrapolated[i] = after + shape.extrapolation * (after - before);
        let old = mean[i];
        let next = old + shape.weight * (after - old);
        mean[i] = next;
        next_point[i] = next + shape.next_weight * (after - next);
        let change = next - old;
        sums += vec4f(change * change, next * next, 0.0, 0.0);
    }
    sums = group_sums(thread, sums);
    if thread == 0u && number * VALUES * THREADS < len {
        partial[2u * number] = sums.x;
        partial[2u * number + 1u] = sums.y;
    }
}

// For each group the sum of the lengths of the gradients, and of the differences along spectra.
@compute @workgroup_size(THREADS)
fn total_variation(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    let num = num_voxels();
    let len = num * shape.num_images;
    var sum = 0.0;
    for (var k = 0u; k < VALUES; k++) {
        let i = (number * VALUES + k) * THREADS + thread;
        if i < len {
            let own = gradient(i / num * num, i % num);
            sum += sqrt(dot(own, own)) + abs(spectral_difference(i, i / num, i % num));
        }
    }
    sum = group_sums(thread, vec4f(sum, 0.0, 0.0, 0.0)).x;
    if thread == 0u && number * VALUES * THREADS < len {
        partial[number] = sum;
    }
}

// The largest less the smallest value of all images in each voxel; one thread for each voxel
@compute @workgroup_size(THREADS)
fn peak_to_peak(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let voxel = (group.x + group.y * groups.x) * THREADS + thread;
    let num = num_voxels();
    if voxel >= num {
        return;
    }
    var highest = images[voxel];
    var lowest = highest;
    for (var image = 1u; image < shape.num_images; image++) {
        let value = images[image * num + voxel];
        highest = max(highest, value);
        lowest = min(lowest, value);
    }
    field[voxel] = highest - lowest;
}
