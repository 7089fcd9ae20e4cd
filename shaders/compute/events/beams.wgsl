// sums += Aᵀ q for events that come in beams, without time of flight: a group of threads per beam, two events per thread
// (lines.wgsl).
//
// The events of a beam have one line, seen along the axis: they pass the same columns of voxels (x, y) together and differ in z
// alone. In each column the group adds up for each z what the events bring there, and adds that to the image at once. Distances are
// mm as seen along the axis.
//
// These sums are integers, exact in any order, of 24 bits for the largest event of the beam. Those far below it would lose their
// digits: they add to the image by themselves.

struct Parameters {
    first_beam: u32,
    num_beams: u32,
    // Where the subset begins among all events; the events and values that the first of two buffers each hold.
    subset_first: u32,
    pairs_first: u32,
    pairs_len: u32,
    values_first: u32,
    values_len: u32,
    // Places of the image that the buffer holds.
    image_first: u32,
    image_len: u32,
    // Units of a fixed-point sum.
    scale: f32,
}

const THREADS: u32 = 32u;
const NUM_Z: u32 = u32(SIZE.z);
const MAX_STEPS: i32 = SIZE.x + SIZE.y + 4;
// Least part of the largest weight of a beam in its sums: the rounding is below 2^-13 of the weight.
const MIN_PART: f32 = 0x1p-10f;

@group(0) @binding(3) var<storage, read> next_pairs: array<vec2u>;
// The first event of each beam, counted from the first of its subset, and how many it has.
@group(0) @binding(4) var<storage, read> beams: array<vec2u>;
@group(0) @binding(5) var<storage, read> q: array<f32>;
@group(0) @binding(7) var<storage, read> next_q: array<f32>;

// Two sets of sums: one is added to the image while the other one is filled.
var<workgroup> column_sums: array<atomic<i32>, 2u * NUM_Z>;
var<workgroup> largest: atomic<u32>;

fn pair_of(event: u32) -> vec2u {
    let at = p.subset_first + event - p.pairs_first;
    if at < p.pairs_len {
        return pairs[at];
    }
    return next_pairs[at - p.pairs_len];
}

fn value_of(event: u32) -> f32 {
    let at = event - p.values_first;
    if at < p.values_len {
        return q[at];
    }
    return next_q[at - p.values_len];
}

fn power_of_two(exponent: i32) -> f32 {
    return bitcast<f32>(u32(clamp(exponent, -126, 126) + 127) << 23u);
}

// An event along the course of its beam.
struct Rise {
    faces: Faces,
    // The part of the course in which it is in the image.
    enter: f32,
    leave: f32,
    // What it adds for each mm of the course.
    weight: f32,
    // Whether it runs between two rows, with half of its weight in each.
    is_face: bool,
    row: i32,
    step: i32,
    face: f32,
}

// Sets out with event number `event` from `enter` to `leave` of a course of this length, whose beginning has x and y at `start`;
// an event of the other direction is turned.
fn rise_of(event: u32, is_there: bool, ray: u32, start: u32, length_mm: f32, enter: f32, leave: f32, share: f32) -> Rise {
    let pair = pair_of(event);
    let own_start = point_at(0u, ray, pair.x);
    let own_end = point_at(1u, ray, pair.y);
    let is_turned = any(points[own_start] != points[start]) || any(points[own_start + 1u] != points[start + 1u]);
    let z_start = points[own_start + 2u];
    let z_end = points[own_end + 2u];
    let z = along(select(z_start, z_end, is_turned), select(z_end, z_start, is_turned));
    let faces = faces_of(z, SIZE.z, length_mm);
    let z_enter = max(enter, faces.enter);
    let slope = z.way * VOXEL_MM.z / length_mm;
    let value = select(0.0, value_of(event), is_there);
    let weight = value * share * select(1.0, 0.5, z.is_face) * sqrt(fma(slope, slope, 1.0));
    let place = place_at(z, faces, SIZE.z, z_enter);
    let z_leave = min(leave, before_end(enter, faces.leave));
    return Rise(faces, z_enter, z_leave, weight, z.is_face, place.row, place.step, place.face);
}

// What an event brings to row `z` of the column at `place`: to its sum, or, where `units` is 0, to the image.
fn bring(z: i32, place: u32, sums_at: u32, value: f32, units: f32) {
    if u32(z) >= NUM_Z {
        return;
    }
    if units > 0.0 {
        atomicAdd(&column_sums[sums_at + u32(z)], i32(round(value * units)));
    } else if place + u32(z) < p.image_len {
        add(place + u32(z), value);
    }
}

// Brings what an event has in a column, between `at` and `end`.
fn pass_column(rise: ptr<function, Rise>, at: f32, end: f32, place: u32, sums_at: u32, units: f32) {
    let until = min(end, (*rise).leave);
    var begin = max(at, (*rise).enter);
    while begin < until && (*rise).weight != 0.0 {
        let next = fma((*rise).face, (*rise).faces.pitch, (*rise).faces.offset);
        let piece_end = min(next, until);
        let piece = (piece_end - begin) * (*rise).weight;
        bring((*rise).row, place, sums_at, piece, units);
        if (*rise).is_face {
            bring((*rise).row + 1, place, sums_at, piece, units);
        }
        begin = piece_end;
        if next <= piece_end {
            (*rise).row += (*rise).step;
            (*rise).face += f32((*rise).step);
        }
    }
}

@compute @workgroup_size(THREADS)
fn backproject_beams(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let number = group.x + group.y * groups.x;
    if number >= p.num_beams {
        return;
    }
    let beam = beams[p.first_beam + number];
    let pair = pair_of(beam.x);
    // Where there is no event the first one is followed, and brings nothing.
    let are_there = vec2<bool>(thread < beam.y, thread + THREADS < beam.y);
    let events = select(vec2u(beam.x), beam.x + thread + vec2u(0u, THREADS), are_there);
    for (var i = thread; i < 2u * NUM_Z; i += THREADS) {
        atomicStore(&column_sums[i], 0);
    }
    // Which of the two sets is filled.
    var turn = 0u;
    for (var ray = 0u; ray < NUM_RAYS; ray++) {
        let start = point_at(0u, ray, pair.x);
        let end = point_at(1u, ray, pair.y);
        let x = along(points[start], points[end]);
        let y = along(points[start + 1u], points[end + 1u]);
        let part = in_circle(x, y);
        let way_mm = vec2f(x.way, y.way) * VOXEL_MM.xy;
        let length_mm = sqrt(dot(way_mm, way_mm));
        let x_faces = faces_of(x, SIZE.x, length_mm);
        let y_faces = faces_of(y, SIZE.y, length_mm);
        let enter = max(part.x, max(x_faces.enter, y_faces.enter));
        let leave = before_end(enter, min(part.y, min(x_faces.leave, y_faces.leave)));
        if !(part.x < part.y && enter < leave) {
            continue;
        }
        let at_x = place_at(x, x_faces, SIZE.x, enter);
        let at_y = place_at(y, y_faces, SIZE.y, enter);
        let pitch = vec2f(x_faces.pitch, y_faces.pitch);
        let offset = vec2f(x_faces.offset, y_faces.offset);
        let step = vec2i(at_x.step, at_y.step);
        // Once, or along each of the rows that the course runs between.
        let between = u32(x.is_face) | u32(y.is_face) << 1u;
        let share = SHARE / f32(1u << countOneBits(between));
        let first_rise = rise_of(events.x, are_there.x, ray, start, length_mm, enter, leave, share);
        let second_rise = rise_of(events.y, are_there.y, ray, start, length_mm, enter, leave, share);
        let weights = abs(vec2f(first_rise.weight, second_rise.weight));
        // The longest way through a column.
        let longest = min(
            leave - enter,
            min(select(abs(pitch.x), FAR, x.is_fixed), select(abs(pitch.y), FAR, y.is_fixed)),
        );

        workgroupBarrier();
        if thread == 0u {
            atomicStore(&largest, 0u);
        }
        workgroupBarrier();
        atomicMax(&largest, bitcast<u32>(max(weights.x, weights.y)));
        workgroupBarrier();
        let largest_weight = bitcast<f32>(atomicLoad(&largest));
        // 2^24 or less for each of 64 events: no sum overflows.
        let exponent = 23 - (i32(bitcast<u32>(largest_weight * longest) >> 23u) - 127);
        let unit = power_of_two(-exponent);
        let units = select(vec2f(power_of_two(exponent)), vec2f(), weights < vec2f(MIN_PART * largest_weight));

        var which = 0u;
        loop {
            let row = vec2i(at_x.row, at_y.row) + vec2i(vec2u(which, which >> 1u) & vec2u(1u));
            if all(row >= vec2i()) && all(row < SIZE.xy) {
                var rises_0 = first_rise;
                var rises_1 = second_rise;
                var column = row.x * STRIDES.x + row.y * STRIDES.y;
                var face = vec2f(at_x.face, at_y.face);
                var next = fma(face, pitch, offset);
                var at = enter;
                for (var k = 0; k < MAX_STEPS && at < leave; k++) {
                    let end = min(min(next.x, next.y), leave);
                    let place = u32(column) - p.image_first;
                    let sums_at = turn * NUM_Z;
                    pass_column(&rises_0, at, end, place, sums_at, units.x);
                    pass_column(&rises_1, at, end, place, sums_at, units.y);
                    workgroupBarrier();
                    for (var i = thread; i < NUM_Z; i += THREADS) {
                        let sum = atomicLoad(&column_sums[sums_at + i]);
                        if sum != 0 {
                            atomicStore(&column_sums[sums_at + i], 0);
                            if place + i < p.image_len {
                                add(place + i, f32(sum) * unit);
                            }
                        }
                    }
                    turn = 1u - turn;
                    at = end;
                    let is_crossed = next <= vec2f(end);
                    let moved = select(vec2i(), step * STRIDES.xy, is_crossed);
                    column += moved.x + moved.y;
                    face += select(vec2f(), vec2f(step), is_crossed);
                    next = fma(face, pitch, offset);
                }
            }
            which = (which - between) & between;
            if which == 0u {
                break;
            }
        }
    }
}
