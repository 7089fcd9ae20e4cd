// Time of flight (src/engine/operator/tof.rs, src/engine/operator/siddon.rs): the bin of a thread, and the weights of its voxels. A kernel's text
// begins with HAS_TOF, NUM_TOF, WIDTH (of a bin, in sigma), PER_SIGMA (1/mm), REACH (in sigma) and FACTOR (1 over the part of a
// Gaussian within reach).

// The edges of the bin, in sigma from the middle of the LOR.
var<private> edges: vec2f;

// The bin along a path: the point s of the path, mm, lies at (s - middle_mm) per_mm, in sigma. `reach`: the s that it can have.
struct AlongPath {
    middle_mm: f32,
    per_mm: f32,
    reach: vec2f,
}

fn choose_tof(bin: u32) {
    edges = (f32(bin) - 0.5 * f32(NUM_TOF) + vec2f(0.0, 1.0)) * WIDTH;
}

// `slope`: of the line against its path.
fn tof_of(path: Path, slope: f32) -> AlongPath {
    let middle_mm = 0.5 * path.lor_mm - path.start_mm;
    let per_mm = PER_SIGMA * sqrt(1.0 + slope * slope);
    return AlongPath(middle_mm, per_mm, (edges + vec2f(-REACH, REACH)) / per_mm + middle_mm);
}

// The part of a Gaussian beyond t sigma, t >= 0: a polynomial fitted to erfc, relative error 1e-7 (and single precision's).
fn beyond(t: f32) -> f32 {
    let v = (3.25 - t) / (3.25 + t);
    var sum = -3.73167895e-5;
    sum = fma(sum, v, 4.27644954e-5);
    sum = fma(sum, v, 3.19022644e-4);
    sum = fma(sum, v, -3.54272983e-4);
    sum = fma(sum, v, -2.55294004e-3);
    sum = fma(sum, v, 3.35443416e-4);
    sum = fma(sum, v, 2.48995759e-2);
    sum = fma(sum, v, 8.44476968e-2);
    sum = fma(sum, v, 1.65995911e-1);
    sum = fma(sum, v, 2.26904109e-1);
    return 0.5 * (v + 1.0) * sum * exp(-0.5 * t * t);
}

// The part of the events from the point s of a path that are in the bin. Where both edges lie on one side it is a difference of two
// tails, which has their precision.
fn tof_weight(tof: AlongPath, s: f32) -> f32 {
    if !HAS_TOF {
        return 1.0;
    }
    let t = clamp(edges - (s - tof.middle_mm) * tof.per_mm, vec2f(-REACH), vec2f(REACH));
    let low = beyond(abs(t.x));
    let high = beyond(abs(t.y));
    let part = select(abs(low - high), 1.0 - low - high, t.x < 0.0 && t.y > 0.0);
    return FACTOR * part;
}
