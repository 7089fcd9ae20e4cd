// The cubic spline whose coefficients the samples are. A piece is the polynomial behind a sample (`polynomial` in
// src/engine/operator/planes/plain.rs); beyond the ends the value there continues.

alias Piece = vec4f;

const T_SHIFT: f32 = 0.5;

fn piece(first: u32, i: i32, t: f32) -> Piece {
    let last = i32(p.num_points) - 1;
    let here = sample(first, i);
    if i < 0 || i >= last {
        return vec4f(here, 0.0, 0.0, 0.0);
    }
    let next = sample(first, i + 1);
    let before = select(sample(first, i - 1), 2.0 * here - next, i == 0);
    let after = select(sample(first, i + 2), 2.0 * next - here, i + 1 == last);
    return vec4f((before + 4.0 * here + next) / 6.0, (next - before) / 2.0, (before - 2.0 * here + next) / 2.0,
        (after - before + 3.0 * (here - next)) / 6.0);
}

fn values(t: vec4f, shift: f32, which: u32, voxel: vec3u) -> vec4f {
    let whole = round(t);
    let at = bitcast<vec4u>(whole + shift) & vec4u(PIECES - 1u);
    let u = t - whole + T_SHIFT;
    let powers = transpose(mat4x4f(pieces[at.x], pieces[at.y], pieces[at.z], pieces[at.w]));
    return fma(fma(fma(powers[3], u, powers[2]), u, powers[1]), u, powers[0]);
}
