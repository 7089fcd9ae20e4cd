// The nearest sample, half-way between two the later one. A piece is a sample.

alias Piece = f32;

const T_SHIFT: f32 = 0.0;

fn piece(first: u32, i: i32, t: f32) -> Piece {
    return sample(first, i);
}

fn value(t: f32, shift: f32, which: u32, voxel: vec3u) -> f32 {
    let nearest = round(t);
    if abs(t - nearest) < 0.5 - SLACK {
        return pieces[bitcast<u32>(nearest + shift) & (PIECES - 1u)];
    }
    let sample = bitcast<i32>(plus(exact(which, voxel), p.half_way).y) >> (p.bits - 32u);
    return pieces[(which * p.window + u32(sample - places[which].start)) & (PIECES - 1u)];
}

fn values(t: vec4f, shift: f32, which: u32, voxel: vec3u) -> vec4f {
    return vec4f(
        value(t.x, shift, which, voxel),
        value(t.y, shift, which, voxel + vec3u(0u, 0u, 1u)),
        value(t.z, shift, which, voxel + vec3u(0u, 0u, 2u)),
        value(t.w, shift, which, voxel + vec3u(0u, 0u, 3u)),
    );
}
