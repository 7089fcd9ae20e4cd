// Lines of events. The definition is src/engine/operator/events.rs. src/engine/webgpu/event_tables.rs puts this text together with its constants:
//
//   SIZE, STRIDES, VOXEL_MM   voxels of the image, and places between neighbours, along x, y, z
//   LOW_MM                    x and y of the first voxel's lower faces
//   CLIP_RADIUS_MM            radius of a circle about the axis, outside of which no voxel is seen
//   NUM_CRYSTALS, NUM_RAYS    an event has a line between two crystals for each ray
//   SHARE                     share of a ray
//   FACE_SHIFT, FACE_DISTANCE, END_MARGIN   tolerances of the definition, the first two in units of positions and of their sums
//   HAS_TOF, REACH_MM, MIN_WIDTH_MM, REACH, T_SCALE, PER_SIGMA, cumulative_terms(v), density_terms(v)
//                             kernel of the time of flight (TofTerms)
//
// A position is an integer of 64 bits, low word first, in units of 2^-40 voxels: the differences and the sums of two of them are
// exact. A line that is nearly parallel to faces so has its crossings where they are, and one that lies in faces is known as such.
// Distances along a line are mm from its middle, as those of the time of flight are: near the image they are small.

@group(0) @binding(0) var<uniform> p: Parameters;
// x, y, z of where each ray of each crystal begins, ray by ray, then of where it ends.
@group(0) @binding(1) var<storage, read> points: array<vec2u>;
// The crystals of each event.
@group(0) @binding(2) var<storage, read> pairs: array<vec2u>;

const FAR: f32 = 3e38;

fn plus(a: vec2u, b: vec2u) -> vec2u {
    let low = a.x + b.x;
    return vec2u(low, a.y + b.y + u32(low < a.x));
}

fn minus(a: vec2u, b: vec2u) -> vec2u {
    return vec2u(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}

fn is_negative(a: vec2u) -> bool {
    return a.y >= 0x80000000u;
}

fn magnitude(a: vec2u) -> vec2u {
    return select(a, minus(vec2u(), a), is_negative(a));
}

// (Of a number that has more digits than an f32, the first 24 bits.)
fn f32_of(a: vec2u) -> f32 {
    let words = magnitude(a);
    let value = f32(words.y) * 0x1p32f + f32(words.x);
    return select(value, -value, is_negative(a));
}

// A line along one axis.
struct Along {
    // The face nearest to the line's middle, and how far above it that is: -1/2 to 1/2 voxel.
    face: i32,
    middle: f32,
    // Voxels over the whole line.
    way: f32,
    // Whether it crosses no faces; then its row, or the lower of the two that it runs between.
    is_fixed: bool,
    is_face: bool,
    row: i32,
}

fn along(start: vec2u, end: vec2u) -> Along {
    // In units of 2^-41 voxels twice the middle is the middle.
    let way = minus(end, start);
    let sum = plus(start, end);
    let face = bitcast<i32>(plus(sum, vec2u(0u, 1u << 8u)).y) >> 9u;
    let rest = vec2u(sum.x, sum.y - (bitcast<u32>(face) << 9u));
    let shift = magnitude(way);
    let distance = magnitude(rest);
    let is_fixed = shift.y == 0u && shift.x < FACE_SHIFT;
    let is_face = is_fixed && distance.y == 0u && distance.x <= FACE_DISTANCE;
    let row = select(bitcast<i32>(sum.y) >> 9u, face - 1, is_face);
    return Along(face, f32_of(rest) * 0x1p-41f, f32_of(way) * 0x1p-40f, is_fixed, is_face, row);
}

// Where a point's coordinates are.
fn point_at(which: u32, ray: u32, crystal: u32) -> u32 {
    return 3u * ((which * NUM_RAYS + ray) * NUM_CRYSTALS + crystal);
}

// The part of a line that can meet the field of view, mm as seen along the axis from the line's middle. Rounding is of no
// matter: at the circle voxels are not seen.
fn in_circle(x: Along, y: Along) -> vec2f {
    let way_mm = vec2f(x.way, y.way) * VOXEL_MM.xy;
    let length_mm = sqrt(dot(way_mm, way_mm));
    if length_mm == 0.0 {
        return vec2f();
    }
    let middle_mm = (vec2f(f32(x.face), f32(y.face)) + vec2f(x.middle, y.middle)) * VOXEL_MM.xy + LOW_MM;
    let direction = way_mm / length_mm;
    let foot = -dot(middle_mm, direction);
    let distance = middle_mm.x * direction.y - middle_mm.y * direction.x;
    let square = CLIP_RADIUS_MM * CLIP_RADIUS_MM - distance * distance;
    if !(square > 0.0) {
        return vec2f();
    }
    let half = sqrt(square);
    return vec2f(max(foot - half, -0.5 * length_mm), min(foot + half, 0.5 * length_mm));
}

// The faces that a line crosses along an axis: number k, counted from the one nearest to the line's middle, at k pitch + offset mm.
// One that crosses none crosses them far away.
struct Faces {
    pitch: f32,
    offset: f32,
    // Where it is in the image, mm.
    enter: f32,
    leave: f32,
}

fn faces_of(line: Along, size: i32, length_mm: f32) -> Faces {
    if line.is_fixed {
        return Faces(0.0, FAR, -FAR, FAR);
    }
    let pitch = length_mm / line.way;
    let offset = -line.middle * pitch;
    let first = fma(f32(-line.face), pitch, offset);
    let last = fma(f32(size - line.face), pitch, offset);
    return Faces(pitch, offset, min(first, last), max(first, last));
}

// Where a line is at `enter`: its row, the next face, and their next ones.
struct Place {
    row: i32,
    step: i32,
    face: f32,
}

fn place_at(line: Along, faces: Faces, size: i32, enter: f32) -> Place {
    if line.is_fixed {
        return Place(line.row, 0, 0.0);
    }
    let is_forwards = line.way > 0.0;
    let step = select(-1, 1, is_forwards);
    var row = clamp(line.face + i32(floor(line.middle + enter / faces.pitch)), 0, size - 1);
    var face = row + select(0, 1, is_forwards) - line.face;
    // Rounding at the entry can leave the row one behind.
    if fma(f32(face), faces.pitch, faces.offset) <= enter {
        row += step;
        face += step;
    }
    return Place(row, step, f32(face));
}

// A path ends a little early: a face at its very end, beyond which there may be no voxel, is then never crossed through rounding.
fn before_end(enter: f32, leave: f32) -> f32 {
    return leave - END_MARGIN * max(abs(enter), abs(leave));
}
