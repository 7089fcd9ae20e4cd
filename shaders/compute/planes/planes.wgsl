// Backprojection of planes: every voxel gathers one interpolated value of each filtered projection (Qiao et al. 2015). The definition
// is src/engine/operator/planes/. src/engine/webgpu/planes.rs puts this text together with an interpolation and these constants:
//
//   QUADS    of 4 voxels along z for each thread: 1, 2 or 4
//   PIECES   pieces of projections in shared memory, a power of two
//
// A group has a tile of TILE_X × TILE_Y columns, each thread one column. Of each projection only the samples that the tile can meet
// are brought to shared memory, as pieces (its window): a value then costs one read. Positions t are counted in samples from the
// middle of the window, and distances of voxels from the middle of the tile, so that they are small and f32 suffices.
//
// Where a projection jumps, f32 does not suffice: at its ends, and half-way between samples for the nearest one. Positions that are
// near a jump are found once more as integers of 64 bits, in units of 2^-bits of a sample, which add up without rounding. The windows
// are found from these, too.

struct Parameters {
    // Voxels of the image, and samples of a projection.
    size: vec3u,
    num_points: u32,
    // Tiles along x and y; those of this dispatch.
    tiles: vec2u,
    first_tile: u32,
    num_tiles: u32,
    num_projections: u32,
    // Pieces of a window: enough for a tile on each projection. Projections whose windows are brought at a time.
    window: u32,
    batch: u32,
    // A position has so many bits behind the point, 32 or more.
    bits: u32,
    // Voxels of the buffer of the image: from the first on. Others are passed over.
    image_first: u32,
    image_len: u32,
    // The last sample; distance from an end at which a position is on it; what to add to find the nearest sample by rounding down.
    last: vec2u,
    rounding: vec2u,
    half_way: vec2u,
    // 2^-(bits + 1).
    half_unit: f32,
}

// Where a projection is read: for voxel (0, 0, 0), and how much farther for the next one along each axis, the latter also in f32.
struct Plane {
    corner: vec2u,
    x: vec2u,
    y: vec2u,
    z: vec2u,
    slope: vec3f,
}

// Where the tile lies on a projection.
struct Place {
    // What a voxel along x, y, z adds to t, and t of the tile's middle.
    slope: vec4f,
    // t of the first and the last sample.
    ends: vec2f,
    // How much of the tile lies on the projection.
    part: u32,
    // The first sample of the window.
    start: i32,
    // The position of the tile's first voxel, and the increments.
    corner: vec2u,
    x: vec2u,
    y: vec2u,
    z: vec2u,
}

const NONE: u32 = 0u;
const SOME: u32 = 1u;
const ALL: u32 = 2u;

const TILE_X: u32 = 32u;
const TILE_Y: u32 = 8u;
const DEPTH: u32 = 4u * QUADS;
const THREADS: u32 = TILE_X * TILE_Y;
// Most projections of a batch.
const BATCH: u32 = 32u;
// Distance from a jump, in samples, at which f32 may put a position on its wrong side: more than the rounding of windows that fit.
const SLACK: f32 = 1e-3;
// Adding 2^23 to a number of less rounds it to the nearest whole one, which the lowest bits then hold.
const SHIFT: f32 = 8388608.0;

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read_write> image: array<f32>;
@group(0) @binding(2) var<storage, read> projections: array<f32>;
@group(0) @binding(3) var<storage, read> planes: array<Plane>;

var<workgroup> pieces: array<Piece, PIECES>;
var<workgroup> places: array<Place, BATCH>;

// Integers of 64 bits in two's complement, low word first.

fn plus(a: vec2u, b: vec2u) -> vec2u {
    let low = a.x + b.x;
    return vec2u(low, a.y + b.y + u32(low < a.x));
}

fn minus(a: vec2u, b: vec2u) -> vec2u {
    return vec2u(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}

// a times a number of less than 2^16.
fn times(a: vec2u, factor: u32) -> vec2u {
    let low = (a.x & 0xffffu) * factor;
    let middle = (a.x >> 16u) * factor + (low >> 16u);
    return vec2u(middle << 16u | (low & 0xffffu), a.y * factor + (middle >> 16u));
}

fn is_negative(a: vec2u) -> bool {
    return a.y >= 0x80000000u;
}

// A number of samples as a position.
fn position_of(sample: i32, bits: u32) -> vec2u {
    return vec2u(0u, bitcast<u32>(sample) << (bits - 32u));
}

fn f32_of(a: vec2u) -> f32 {
    let low = select(a.x, ~a.x + 1u, is_negative(a));
    let high = select(a.y, ~a.y + u32(a.x == 0u), is_negative(a));
    let magnitude = f32(high) * 4294967296.0 + f32(low);
    return select(magnitude, -magnitude, is_negative(a));
}

// Where a tile with this first voxel lies on a projection.
fn place_of(plane: Plane, first: vec3u) -> Place {
    let corner = plus(plus(plane.corner, times(plane.x, first.x)), plus(times(plane.y, first.y), times(plane.z, first.z)));
    var lowest = corner;
    var highest = corner;
    let reach = array(times(plane.x, TILE_X - 1u), times(plane.y, TILE_Y - 1u), times(plane.z, DEPTH - 1u));
    lowest = plus(lowest, select(vec2u(0u), reach[0], is_negative(reach[0])));
    lowest = plus(lowest, select(vec2u(0u), reach[1], is_negative(reach[1])));
    lowest = plus(lowest, select(vec2u(0u), reach[2], is_negative(reach[2])));
    highest = plus(highest, select(reach[0], vec2u(0u), is_negative(reach[0])));
    highest = plus(highest, select(reach[1], vec2u(0u), is_negative(reach[1])));
    highest = plus(highest, select(reach[2], vec2u(0u), is_negative(reach[2])));
    // One sample before the lowest: t may be rounded down to it.
    let start = (bitcast<i32>(lowest.y) >> (p.bits - 32u)) - 1;
    let half = i32(p.window / 2u);
    let middle = minus(plus(lowest, highest), position_of(start + half, p.bits + 1u));
    let leaves_low = is_negative(plus(lowest, p.rounding));
    let leaves_high = is_negative(minus(plus(p.last, p.rounding), highest));
    let misses_low = is_negative(plus(highest, p.rounding));
    let misses_high = is_negative(minus(plus(p.last, p.rounding), lowest));
    var place: Place;
    place.slope = vec4f(plane.slope, f32_of(middle) * p.half_unit - T_SHIFT);
    place.ends = vec2f(f32(-start - half) - T_SHIFT, f32(i32(p.num_points) - 1 - start - half) - T_SHIFT);
    place.part = select(select(ALL, SOME, leaves_low || leaves_high), NONE, misses_low || misses_high);
    place.start = start;
    place.corner = corner;
    place.x = plane.x;
    place.y = plane.y;
    place.z = plane.z;
    return place;
}

// A sample of the projection whose samples begin at `first`; beyond the ends the first or the last.
fn sample(first: u32, i: i32) -> f32 {
    return projections[first + u32(clamp(i, 0, i32(p.num_points) - 1))];
}

// The position of a voxel of the tile.
fn exact(which: u32, voxel: vec3u) -> vec2u {
    let along_x = plus(places[which].corner, times(places[which].x, voxel.x));
    return plus(along_x, plus(times(places[which].y, voxel.y), times(places[which].z, voxel.z)));
}

// Whether a voxel lies on a projection.
fn is_inside(t: f32, which: u32, voxel: vec3u) -> bool {
    let depth = min(t - places[which].ends.x, places[which].ends.y - t);
    if abs(depth) > SLACK {
        return depth > 0.0;
    }
    let from_first = plus(exact(which, voxel), p.rounding);
    let length = plus(p.last, plus(p.rounding, p.rounding));
    return from_first.y < length.y || (from_first.y == length.y && from_first.x <= length.x);
}

// sum + the values at t of those of 4 voxels along z, the first of which is `voxel`, that lie on the projection.
fn add_inside(sum: vec4f, t: vec4f, shift: f32, which: u32, voxel: vec3u) -> vec4f {
    let inside = vec4<bool>(
        is_inside(t.x, which, voxel),
        is_inside(t.y, which, voxel + vec3u(0u, 0u, 1u)),
        is_inside(t.z, which, voxel + vec3u(0u, 0u, 2u)),
        is_inside(t.w, which, voxel + vec3u(0u, 0u, 3u)),
    );
    return select(sum, sum + values(t, shift, which, voxel), inside);
}

// Adds to a voxel of the image, if it is in the buffer.
fn store(sum: f32, voxel: vec3u) {
    let at = (voxel.z * p.size.y + voxel.y) * p.size.x + voxel.x - p.image_first;
    if voxel.z < p.size.z && at < p.image_len {
        image[at] += sum;
    }
}

fn store_quad(sum: vec4f, voxel: vec3u) {
    store(sum.x, voxel);
    store(sum.y, voxel + vec3u(0u, 0u, 1u));
    store(sum.z, voxel + vec3u(0u, 0u, 2u));
    store(sum.w, voxel + vec3u(0u, 0u, 3u));
}

// image += the projections, for one tile per group
@compute @workgroup_size(TILE_X, TILE_Y)
fn add_planes(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    if number >= p.num_tiles {
        return;
    }
    let tile = p.first_tile + number;
    let first = vec3u(tile % p.tiles.x * TILE_X, tile / p.tiles.x % p.tiles.y * TILE_Y, tile / p.tiles.x / p.tiles.y * DEPTH);
    let mine = vec3u(thread % TILE_X, thread / TILE_X, 0u);
    let from_middle = vec2f(mine.xy) - 0.5 * vec2f(vec2u(TILE_X - 1u, TILE_Y - 1u));
    let along_z = vec4f(0.0, 1.0, 2.0, 3.0) - 0.5 * f32(DEPTH - 1u);
    let half = p.window / 2u;
    var sums: array<vec4f, 4>;
    for (var next = 0u; next < p.num_projections; next += p.batch) {
        let count = min(p.batch, p.num_projections - next);
        workgroupBarrier();
        if thread < count {
            places[thread] = place_of(planes[next + thread], first);
        }
        workgroupBarrier();
        for (var which = mine.y; which < count; which += TILE_Y) {
            for (var at = mine.x; at < p.window; at += TILE_X) {
                let t = f32(i32(at) - i32(half)) - T_SHIFT;
                pieces[which * p.window + at] = piece((next + which) * p.num_points, places[which].start + i32(at), t);
            }
        }
        workgroupBarrier();
        for (var which = 0u; which < count; which++) {
            let part = places[which].part;
            if part == NONE {
                continue;
            }
            let slope = places[which].slope;
            let shift = SHIFT + f32(which * p.window + half);
            let middle = vec4f(fma(from_middle.x, slope.x, fma(from_middle.y, slope.y, slope.w)));
            let t = array(
                fma(along_z, vec4f(slope.z), middle),
                fma(along_z + 4.0, vec4f(slope.z), middle),
                fma(along_z + 8.0, vec4f(slope.z), middle),
                fma(along_z + 12.0, vec4f(slope.z), middle),
            );
            if part == ALL {
                sums[0] += values(t[0], shift, which, mine);
                if QUADS > 1u {
                    sums[1] += values(t[1], shift, which, mine + vec3u(0u, 0u, 4u));
                }
                if QUADS > 2u {
                    sums[2] += values(t[2], shift, which, mine + vec3u(0u, 0u, 8u));
                    sums[3] += values(t[3], shift, which, mine + vec3u(0u, 0u, 12u));
                }
            } else {
                sums[0] = add_inside(sums[0], t[0], shift, which, mine);
                if QUADS > 1u {
                    sums[1] = add_inside(sums[1], t[1], shift, which, mine + vec3u(0u, 0u, 4u));
                }
                if QUADS > 2u {
                    sums[2] = add_inside(sums[2], t[2], shift, which, mine + vec3u(0u, 0u, 8u));
                    sums[3] = add_inside(sums[3], t[3], shift, which, mine + vec3u(0u, 0u, 12u));
                }
            }
        }
    }
    if first.x + mine.x >= p.size.x || first.y + mine.y >= p.size.y {
        return;
    }
    store_quad(sums[0], first + mine);
    if QUADS > 1u {
        store_quad(sums[1], first + mine + vec3u(0u, 0u, 4u));
    }
    if QUADS > 2u {
        store_quad(sums[2], first + mine + vec3u(0u, 0u, 8u));
        store_quad(sums[3], first + mine + vec3u(0u, 0u, 12u));
    }
}
