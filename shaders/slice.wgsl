// A slice of a volume, along two of its axes, through a window and a palette.
//
// value v at a pixel -> t = (v - low) / (high - low), held in 0..1 -> row `palette` of the palette texture.
// Voxel i spans i - 1/2 .. i + 1/2; a slice lies in the centres of its voxels, so the trilinear value is the
// bilinear one of four voxels. Both the volume and the palettes are read with textureLoad: no sampler and no
// filterable feature is needed, and voxel centres are exact.

struct Slice {
    // Voxel coordinates of the top left corner, and the way from there to the top right and to the bottom left corner.
    corner: vec4f,
    across: vec4f,
    down: vec4f,
    // Unit steps along the slice's two axes.
    step_across: vec4i,
    step_down: vec4i,
    // Colour outside the volume, as sRGB.
    outside: vec4f,
    // Window: values shown as the first and as the last colour.
    low: f32,
    high: f32,
    // Row of the palette.
    palette: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> slice: Slice;
@group(0) @binding(1) var volume: texture_3d<f32>;
@group(0) @binding(2) var palettes: texture_2d<f32>;

// Constants of the pipeline, not uniforms: a software rasteriser runs every side of a uniform branch.
override LINEAR: bool = true;
override SRGB_TARGET: bool = false;

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) uv: vec2f,
}

// One triangle that covers the viewport; uv runs from the top left (0, 0) to the bottom right (1, 1).
@vertex
fn vertex(@builtin(vertex_index) index: u32) -> Corner {
    let uv = vec2f(f32((index << 1u) & 2u), f32(index & 2u));
    return Corner(vec4f(uv.x * 2.0 - 1.0, 1.0 - uv.y * 2.0, 0.0, 1.0), uv);
}

fn load(voxel: vec3i, last: vec3i) -> f32 {
    return textureLoad(volume, clamp(voxel, vec3i(0), last), 0).r;
}

fn value_at(position: vec3f, last: vec3i) -> f32 {
    if (LINEAR) {
        let steps = vec3f(slice.step_across.xyz + slice.step_down.xyz);
        let low = floor(position) * steps + round(position) * (vec3f(1.0) - steps);
        let part = position - low;
        let a = dot(part, vec3f(slice.step_across.xyz));
        let d = dot(part, vec3f(slice.step_down.xyz));
        let v = vec3i(low);
        let top = mix(load(v, last), load(v + slice.step_across.xyz, last), a);
        let bottom = mix(load(v + slice.step_down.xyz, last), load(v + slice.step_across.xyz + slice.step_down.xyz, last), a);
        return mix(top, bottom, d);
    }
    return load(vec3i(round(position)), last);
}

fn linear_from_srgb(colour: vec3f) -> vec3f {
    let low = colour / 12.92;
    let high = pow((colour + vec3f(0.055)) / 1.055, vec3f(2.4));
    return select(high, low, colour <= vec3f(0.04045));
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4f {
    let position = slice.corner.xyz + slice.across.xyz * corner.uv.x + slice.down.xyz * corner.uv.y;
    let last = vec3i(textureDimensions(volume)) - vec3i(1);
    let is_inside = all(position >= vec3f(-0.5)) && all(position < vec3f(last) + vec3f(0.5));
    let t = clamp((value_at(position, last) - slice.low) / (slice.high - slice.low), 0.0, 1.0);
    let num_colours = f32(textureDimensions(palettes).x);
    let index = vec2i(i32(min(t * num_colours, num_colours - 1.0)), i32(slice.palette));
    let colour = select(slice.outside.rgb, textureLoad(palettes, index, 0).rgb, is_inside);
    if (SRGB_TARGET) {
        return vec4f(linear_from_srgb(colour), 1.0);
    }
    return vec4f(colour, 1.0);
}
