// Straight lines between the samples. A piece is the line behind a sample: its value at the middle of the window and its slope, so
// that t alone is needed, not its fraction. Rounding t, counted half a sample farther down, to the nearest whole number gives the
// sample before it; at a sample both lines have the same value.

alias Piece = vec2f;

const T_SHIFT: f32 = 0.5;

fn piece(first: u32, i: i32, t: f32) -> Piece {
    let value = sample(first, i);
    let slope = select(sample(first, i + 1) - value, 0.0, i < 0);
    return vec2f(fma(-slope, t, value), slope);
}

fn values(t: vec4f, shift: f32, which: u32, voxel: vec3u) -> vec4f {
    let at = bitcast<vec4u>(t + shift) & vec4u(PIECES - 1u);
    let a = pieces[at.x];
    let b = pieces[at.y];
    let c = pieces[at.z];
    let d = pieces[at.w];
    return fma(vec4f(a.y, b.y, c.y, d.y), t, vec4f(a.x, b.x, c.x, d.x));
}
