// A slice of a volume through a window and a palette: a plane, or a slab of samples behind each other.
//
// value v at a pixel -> t = (v - low) / (high - low), held in 0..1 -> row `palette` of the palette texture.
// Voxel i spans i - 1/2 .. i + 1/2. Both volumes and palettes are read with textureLoad: no sampler and no filterable
// feature is needed, and voxel centres are exact.

struct Slice {
    // Voxel coordinates of the first sample at the top left corner, the way from there to the top right and to the bottom
    // left corner, and the way to the next sample of a pixel; their number is `num_samples`.
    corner: vec4f,
    across: vec4f,
    down: vec4f,
    behind: vec4f,
    // Unit steps along the two axes of a slice that lies in voxel centres.
    step_across: vec4i,
    step_down: vec4i,
    // Colour outside the volume, as sRGB.
    outside: vec4f,
    // Window: values shown as the first and as the last colour.
    low: f32,
    high: f32,
    // Row of the palette.
    palette: u32,
    num_samples: u32,
    // Of a difference: what the first volume is multiplied by.
    factor: f32,
    // Opacity over what was drawn before.
    opacity: f32,
}

@group(0) @binding(0) var<uniform> slice: Slice;
@group(0) @binding(1) var volume: texture_3d<f32>;
@group(0) @binding(2) var subtracted: texture_3d<f32>;
@group(0) @binding(3) var palettes: texture_2d<f32>;

// Constants of the pipeline, not uniforms: a software rasteriser runs every side of a uniform branch.
const NEAREST: u32 = 0;
const BILINEAR: u32 = 1;
override SAMPLING: u32 = 0;
const MEAN: u32 = 1;
const MAXIMUM: u32 = 2;
override COMBINATION: u32 = 0;
override IS_DIFFERENCE: bool = false;
override IS_OVER: bool = false;
override SRGB_TARGET: bool = false;

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) uv: vec2f,
}

// Two triangles that cover the viewport; uv runs from its top left (0, 0) to its bottom right (1, 1).
@vertex
fn vertex(@builtin(vertex_index) index: u32) -> Corner {
    let is_right = index == 1u || index == 2u || index == 4u;
    let is_low = index == 2u || index == 4u || index == 5u;
    let uv = vec2f(select(0.0, 1.0, is_right), select(0.0, 1.0, is_low));
    return Corner(vec4f(uv.x * 2.0 - 1.0, 1.0 - uv.y * 2.0, 0.0, 1.0), uv);
}

fn load(values: texture_3d<f32>, voxel: vec3i, last: vec3i) -> f32 {
    return textureLoad(values, clamp(voxel, vec3i(0), last), 0).r;
}

fn value_at(values: texture_3d<f32>, position: vec3f, last: vec3i) -> f32 {
    if (SAMPLING == NEAREST) {
        return load(values, vec3i(floor(position + 0.5)), last);
    }
    if (SAMPLING == BILINEAR) {
        let steps = vec3f(slice.step_across.xyz + slice.step_down.xyz);
        let low = floor(position) * steps + round(position) * (vec3f(1.0) - steps);
        let part = position - low;
        let a = dot(part, vec3f(slice.step_across.xyz));
        let d = dot(part, vec3f(slice.step_down.xyz));
        let v = vec3i(low);
        let top = mix(load(values, v, last), load(values, v + slice.step_across.xyz, last), a);
        let below = v + slice.step_down.xyz;
        let bottom = mix(load(values, below, last), load(values, below + slice.step_across.xyz, last), a);
        return mix(top, bottom, d);
    }
    let v = vec3i(floor(position));
    let part = position - floor(position);
    var row: array<f32, 4>;
    for (var k = 0; k < 4; k += 1) {
        let start = v + vec3i(0, k & 1, k >> 1u);
        row[k] = mix(load(values, start, last), load(values, start + vec3i(1, 0, 0), last), part.x);
    }
    return mix(mix(row[0], row[1], part.y), mix(row[2], row[3], part.y), part.z);
}

fn is_inside(position: vec3f, last: vec3i) -> bool {
    return all(position >= vec3f(-0.5)) && all(position < vec3f(last) + vec3f(0.5));
}

// The samples behind a pixel, from the first to before the last, that lie inside the volume: the line of sight is cut with the
// pairs of its faces. What rounding leaves beside a face is read from the voxel at it.
fn samples_inside(first: vec3f, last: vec3i) -> vec2u {
    var entry = 0.0;
    var exit = f32(slice.num_samples) - 1.0;
    for (var axis = 0; axis < 3; axis += 1) {
        let way = slice.behind[axis];
        let low = -0.5 - first[axis];
        let high = f32(last[axis]) + 0.5 - first[axis];
        if (abs(way) > 1e-6) {
            entry = max(entry, min(low / way, high / way));
            exit = min(exit, max(low / way, high / way));
        } else if (low > 0.0 || high <= 0.0) {
            exit = -1.0;
        }
    }
    return vec2u(vec2f(ceil(entry), max(floor(exit) + 1.0, 0.0)));
}

// What is behind a pixel, and how many of its samples lie inside the volume.
struct Sampled {
    value: f32,
    num_inside: u32,
}

fn sampled(values: texture_3d<f32>, first: vec3f, last: vec3i) -> Sampled {
    if (COMBINATION == MEAN || COMBINATION == MAXIMUM) {
        let range = samples_inside(first, last);
        if (range.x >= range.y) {
            return Sampled(0.0, 0u);
        }
        let num_inside = range.y - range.x;
        var value = value_at(values, first + f32(range.x) * slice.behind.xyz, last);
        for (var k = range.x + 1u; k < range.y; k += 1u) {
            let next = value_at(values, first + f32(k) * slice.behind.xyz, last);
            value = select(max(value, next), value + next, COMBINATION == MEAN);
        }
        return Sampled(select(value, value / f32(num_inside), COMBINATION == MEAN), num_inside);
    }
    return Sampled(value_at(values, first, last), select(0u, 1u, is_inside(first, last)));
}

// A voxel without a value, such as one of a map that could not be fitted. (By its bits: a compiler may assume numbers.)
fn is_nan(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u;
}

// Colour of a voxel without a value, as sRGB.
const MASKED: vec3f = vec3f(0.5);

fn linear_from_srgb(colour: vec3f) -> vec3f {
    let low = colour / 12.92;
    let high = pow((colour + vec3f(0.055)) / 1.055, vec3f(2.4));
    return select(high, low, colour <= vec3f(0.04045));
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4f {
    let first = slice.corner.xyz + slice.across.xyz * corner.uv.x + slice.down.xyz * corner.uv.y;
    let last = vec3i(textureDimensions(volume)) - vec3i(1);
    let found = sampled(volume, first, last);
    var value = found.value;
    if (IS_DIFFERENCE) {
        value = slice.factor * value - sampled(subtracted, first, last).value;
    }
    let is_masked = is_nan(value);
    let t = clamp((value - slice.low) / (slice.high - slice.low), 0.0, 1.0);
    let num_colours = f32(textureDimensions(palettes).x);
    let index = vec2i(i32(min(t * num_colours, num_colours - 1.0)), i32(slice.palette));
    let loaded = textureLoad(palettes, index, 0);
    let entry = select(loaded, vec4f(MASKED, 1.0), is_masked);
    let colour = select(slice.outside.rgb, entry.rgb, found.num_inside > 0u);
    // Outside the volume, what was drawn before stays. (The target multiplies it with 1 - alpha.)
    let alpha = select(1.0, select(0.0, slice.opacity * entry.a, found.num_inside > 0u), IS_OVER);
    if (SRGB_TARGET) {
        return vec4f(linear_from_srgb(colour) * alpha, alpha);
    }
    return vec4f(colour * alpha, alpha);
}
