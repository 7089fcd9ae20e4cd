// Siddon's projector with one thread per bin. The definition is src/engine/operator/siddon.rs.
//
// Bins lie radial position fastest, then view, then plane, and images x fastest, then y, then z (Belzunce et al. 2012, section 2):
// neighbouring threads hold neighbouring parallel lines, which read neighbouring voxels and seldom meet in one. Of time of flight each
// bin has all planes (tof.wgsl).

// Where a path enters the field of view and at which regular distances it crosses voxel faces (InPlanePath), in f32.
struct Path {
    next: vec2f,
    pitch: vec2f,
    length_mm: f32,
    start_mm: f32,
    lor_mm: f32,
    column: i32,
    stride: vec2i,
    share: f32,
}

// A line of a plane: where it starts in z (voxel i spans i … i + 1) and how far it rises over the whole LOR. One that does not rise
// lies in `num_rows` rows from `row` on, with an equal share in each.
struct Line {
    v_start: f32,
    rise: f32,
    rise_mm: f32,
    weight: f32,
    row: i32,
    num_rows: i32,
}

struct Plan {
    scale: f32,
    num_tangential: u32,
    num_planes: u32,
    num_rays: u32,
    // The views of the data are first_view + k view_step, k < num_views.
    first_view: u32,
    view_step: u32,
    num_views: u32,
    nz: u32,
    num_columns: u32,
    // Bins of this dispatch: from bin `first` of a plane on, which lies at data_at in the buffer of data.
    first_plane: u32,
    first: u32,
    count: u32,
    data_at: u32,
    // Voxels of the buffer of the image: from the first on. Others are passed over.
    image_first: u32,
    image_len: u32,
    // Above 0 if the integral of this buffer is added to that of the ones before.
    adds: u32,
}

const THREADS: u32 = 64u;
const NEVER: f32 = 3e38;
// Less than any distance, mm.
const TINY: f32 = 1e-9;

@group(0) @binding(0) var<uniform> p: Plan;
@group(0) @binding(3) var<storage, read> paths: array<Path>;
@group(0) @binding(4) var<storage, read> lor_paths: array<u32>;
@group(0) @binding(5) var<storage, read> lines: array<Line>;

// Walks one line along one in-plane path, calling visit(place, length) for each voxel of the buffer.
fn walk(path: Path, line: Line, row: i32) {
    let slope = line.rise_mm / path.lor_mm;
    let weight = path.share * line.weight * sqrt(1.0 + slope * slope);
    var column = path.column;
    var z = row;
    var z_step = 0;
    var next_z = NEVER;
    var first_z = NEVER;
    var pitch_z = 0.0;
    if line.rise != 0.0 {
        let v = line.v_start + line.rise * (path.start_mm / path.lor_mm);
        let rises = line.rise > 0.0;
        z = i32(floor(v));
        z_step = select(-1, 1, rises);
        let face = f32(select(z, z + 1, rises));
        pitch_z = path.lor_mm / abs(line.rise);
        first_z = (face - v) / line.rise * path.lor_mm;
        next_z = first_z;
    }
    // Crossings are counted and multiplied, not added up: a sum would drift.
    var next = path.next;
    var passed = vec3f(0.0);
    var at = 0.0;
    var last = path.length_mm;
    let tof = tof_of(path, slope);
    if HAS_TOF {
        let first = vec3f(path.next, first_z);
        let pitch = vec3f(path.pitch, pitch_z);
        last = min(last, tof.reach.y);
        if tof.reach.x >= last {
            return;
        }
        // Begins in the voxel where the bin's reach does.
        let crossed = max(floor((tof.reach.x - first) / max(pitch, vec3f(TINY))) + 1.0, vec3f(0.0));
        passed = select(vec3f(0.0), crossed, pitch > vec3f(0.0));
        let before = select(vec3f(0.0), first + (passed - 1.0) * pitch, passed > vec3f(0.0));
        at = max(before.x, max(before.y, before.z));
        column += i32(passed.x) * path.stride.x + i32(passed.y) * path.stride.y;
        z += i32(passed.z) * z_step;
        next = path.next + passed.xy * path.pitch;
        next_z = first_z + passed.z * pitch_z;
    }
    while at < last {
        let nearest = min(min(next.x, next.y), next_z);
        let end = min(nearest, path.length_mm);
        if u32(z) < p.nz && u32(column) < p.num_columns {
            let place = u32(z) * p.num_columns + u32(column) - p.image_first;
            if place < p.image_len {
                visit(place, weight * (end - at) * tof_weight(tof, 0.5 * (at + end)));
            }
        }
        at = end;
        if nearest == next.x {
            column += path.stride.x;
            passed.x += 1.0;
            next.x = path.next.x + passed.x * path.pitch.x;
        } else if nearest == next.y {
            column += path.stride.y;
            passed.y += 1.0;
            next.y = path.next.y + passed.y * path.pitch.y;
        } else {
            z += z_step;
            passed.z += 1.0;
            next_z = first_z + passed.z * pitch_z;
        }
    }
}

// Walks all lines of a bin, counted from the first plane on.
fn walk_bin(bin: u32) {
    let of_all = p.first_plane + bin / p.num_tangential / p.num_views;
    let plane = of_all % p.num_planes;
    choose_tof(of_all / p.num_planes);
    let view = p.first_view + p.view_step * (bin / p.num_tangential % p.num_views);
    let lor = view * p.num_tangential + bin % p.num_tangential;
    for (var which = lor_paths[lor]; which < lor_paths[lor + 1u]; which++) {
        let path = paths[which];
        for (var ray = 0u; ray < p.num_rays; ray++) {
            let line = lines[ray * p.num_planes + plane];
            for (var row = line.row; row < line.row + line.num_rows; row++) {
                walk(path, line, row);
            }
        }
    }
}
