// One event after the other (lines.wgsl): calls weigh(factor) for the event, begin(share) for each walk of a line, visit(place,
// length) for each of its voxels, and finish().
//
// With IN_STEP a step ends at a face across x or y, and those across z, which are few, cut it: neighbouring threads, whose lines
// are alike, so add to the same (x, y) at the same time.
//
// A voxel takes some 28 operations; with time of flight 18 more, or 36 where d is an interval. On an H100, each of 4e6 events of the
// Discovery STE takes 0.9 ns to project in the order of their lines and 5.3 ns in random order, and to backproject 3.3 ns (beams.wgsl:
// 2.6 ns) and 6.9 ns.

struct Parameters {
    // The first event among `pairs`, and its value's place; how many.
    first: u32,
    values_at: u32,
    count: u32,
    // Places of the image that the buffer holds.
    image_first: u32,
    image_len: u32,
    // Units of a fixed-point sum.
    scale: f32,
    // Whether the values are replaced, not added to.
    replaces: u32,
}

const THREADS: u32 = 64u;
// Rounding crosses no more faces.
const MAX_STEPS: i32 = SIZE.x + SIZE.y + SIZE.z + 4;

// The interval of d of each event, where it is known.
@group(0) @binding(3) var<storage, read> intervals: array<vec2f>;

// The Gaussian between its middle and t, and its density at t (src/engine/operator/tof.rs).
fn cumulative(t: f32) -> f32 {
    let within = clamp(t, -REACH, REACH);
    return within * cumulative_terms(fma(within * within, T_SCALE, -1.0));
}

fn density(t: f32) -> f32 {
    return density_terms(fma(t * t, T_SCALE, -1.0));
}

// The ends of the interval of d in sigma; equal where it counts as its middle.
var<private> seen: vec2f;

// The weight of a piece of a line beside its length: its middle is at s.
fn weight(s: f32) -> f32 {
    if !HAS_TOF {
        return 1.0;
    }
    let t = seen - s * PER_SIGMA;
    if seen.x < seen.y {
        return cumulative(t.y) - cumulative(t.x);
    }
    return density(t.x);
}

fn walk_line(ray: u32, pair: vec2u, interval: vec2f) {
    let start = point_at(0u, ray, pair.x);
    let end = point_at(1u, ray, pair.y);
    let x = along(points[start], points[end]);
    let y = along(points[start + 1u], points[end + 1u]);
    let z = along(points[start + 2u], points[end + 2u]);
    let way_mm = vec3f(x.way, y.way, z.way) * VOXEL_MM;
    let length_mm = sqrt(dot(way_mm, way_mm));
    let part = in_circle(x, y);
    if part.x >= part.y {
        return;
    }
    let secant = length_mm / sqrt(dot(way_mm.xy, way_mm.xy));
    let x_faces = faces_of(x, SIZE.x, length_mm);
    let y_faces = faces_of(y, SIZE.y, length_mm);
    let z_faces = faces_of(z, SIZE.z, length_mm);
    var enter = max(max(part.x * secant, x_faces.enter), max(y_faces.enter, z_faces.enter));
    var leave = min(min(part.y * secant, x_faces.leave), min(y_faces.leave, z_faces.leave));
    if HAS_TOF {
        enter = max(enter, interval.x - REACH_MM);
        leave = min(leave, interval.y + REACH_MM);
    }
    leave = before_end(enter, leave);
    if !(enter < leave) {
        return;
    }
    let at_x = place_at(x, x_faces, SIZE.x, enter);
    let at_y = place_at(y, y_faces, SIZE.y, enter);
    let at_z = place_at(z, z_faces, SIZE.z, enter);
    let pitch = vec3f(x_faces.pitch, y_faces.pitch, z_faces.pitch);
    let offset = vec3f(x_faces.offset, y_faces.offset, z_faces.offset);
    let step = vec3i(at_x.step, at_y.step, at_z.step);
    let stride = step * STRIDES;
    // Once, or along each of the rows that the line runs between: every set of these axes.
    let between = u32(x.is_face) | u32(y.is_face) << 1u | u32(z.is_face) << 2u;
    let share = SHARE / f32(1u << countOneBits(between));
    var which = 0u;
    loop {
        let row = vec3i(at_x.row, at_y.row, at_z.row) + vec3i(vec3u(which, which >> 1u, which >> 2u) & vec3u(1u));
        if all(row >= vec3i()) && all(row < SIZE) {
            begin(share);
            let place = row * STRIDES;
            var voxel = place.x + place.y + place.z;
            // Crossings are counted and multiplied, not added up: a sum would drift.
            var face = vec3f(at_x.face, at_y.face, at_z.face);
            var next = fma(face, pitch, offset);
            var at = enter;
            for (var k = 0; k < MAX_STEPS && at < leave; k++) {
                var end = min(min(next.x, next.y), leave);
                if !IN_STEP {
                    end = min(end, next.z);
                }
                while IN_STEP && next.z < end {
                    visit(u32(voxel) - p.image_first, (next.z - at) * weight(0.5 * (next.z + at)));
                    at = next.z;
                    voxel += stride.z;
                    face.z += f32(step.z);
                    next.z = fma(face.z, pitch.z, offset.z);
                }
                visit(u32(voxel) - p.image_first, (end - at) * weight(0.5 * (end + at)));
                at = end;
                let is_crossed = next <= vec3f(end);
                let moved = select(vec3i(), stride, is_crossed);
                voxel += moved.x + moved.y + moved.z;
                face += select(vec3f(), vec3f(step), is_crossed);
                next = fma(face, pitch, offset);
            }
            finish();
        }
        which = (which - between) & between;
        if which == 0u {
            break;
        }
    }
}

// Walks all rays of an event.
fn walk_event(event: u32) {
    var interval = vec2f();
    var factor = 1.0;
    if HAS_TOF {
        interval = intervals[event];
        let width = interval.y - interval.x;
        seen = interval * PER_SIGMA;
        if width > MIN_WIDTH_MM {
            factor = 1.0 / width;
        } else {
            seen = vec2f(0.5 * (seen.x + seen.y));
        }
    }
    weigh(factor);
    for (var ray = 0u; ray < NUM_RAYS; ray++) {
        walk_line(ray, pairs[event], interval);
    }
}
