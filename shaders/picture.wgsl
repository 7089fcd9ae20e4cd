// A picture stretched over the viewport.

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var between: sampler;

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

@fragment
fn fragment(corner: Corner) -> @location(0) vec4f {
    return textureSample(picture, between, corner.uv);
}
