// The axial-run projector: Siddon at the price of axial crossings. The definition, with its derivation, is
// src/engine/operator/axial_runs/; the tables are laid out in src/engine/webgpu/axial_tables.rs, which puts this text together with its constants:
//
//   ROWS                 LORs of a group of threads
//   CLASSES, REGISTERS   of each class z = c (mod CLASSES) a thread holds REGISTERS values, 32 places apart
//   LANES, FIRST_K       places of a class in an image column, and z / CLASSES of the first
//   NZ, NUM_PLANES, NUM_LAYERS, NUM_PASSES, NUM_GROUPS, NUM_SLOTS
//   RECORD_VECS, MASKS_AT, BASE_OFFSET, END_WORDS   layout of crossings and ends
//   ENDS_AT, PASSES_AT, GROUPS_AT, OUTPUTS_AT, REVERSED_AT   where parts of the plan begin
//   IS_SPLIT             whether an image lies in several buffers
//
// A row of 32 threads walks a transaxial LOR for all of its planes; a group of threads has ROWS of them, for LORs that are mirror
// images of each other, whose common path it prepares once. Threads of a row are voxels along z. Walking along the in-plane path, a
// thread keeps
//
//   forward   G_z, the integral of x_z - x_{z+1} up to the present step; where a plane crosses a voxel face in z (an
//             event), the interpolated G is added to the plane's sum;
//   back      the adjoint from the path's end: the sum of what the planes bring to z over the events passed.
//
// The bins of all planes lie in shared memory, a slot each. An event is one address for each class, that of the first thread; a
// mask tells which threads have a plane.

struct Parameters {
    first_group: u32,
    num_groups: u32,
    // Where the paths begin in `sets`.
    paths_at: u32,
    // Units of a fixed-point sum.
    scale: f32,
    // Places of the image, and of the data, that the buffers hold.
    image_first: u32,
    image_len: u32,
    bins_first: u32,
    bins_len: u32,
    // Whether the bins are replaced, not added to.
    replaces: u32,
}

// Threads of a row.
const THREADS: u32 = 32u;
const NO_ENTRY: u32 = 0xffffffffu;
const COLUMN: u32 = CLASSES * REGISTERS;
const MEMBER_WORDS: u32 = 8u;
const PATH_WORDS: u32 = 6u + NUM_PASSES;
const GROUP_WORDS: u32 = 6u;

@group(0) @binding(0) var<uniform> p: Parameters;
// Ends, passes, groups, outputs, reversed planes.
@group(0) @binding(1) var<storage, read> plan: array<u32>;
// The crossings of all passes in the order of tau, RECORD_VECS vectors each.
@group(0) @binding(2) var<storage, read> records: array<vec4u>;
// LORs, then paths.
@group(0) @binding(3) var<storage, read> sets: array<u32>;
// x and y of a step's column, its length, where it begins, its first event.
@group(0) @binding(4) var<storage, read> steps: array<vec4u>;
@group(0) @binding(5) var<storage, read> image: array<f32>;
@group(0) @binding(6) var<storage, read_write> bins: array<f32>;
@group(0) @binding(7) var<storage, read_write> bounds: array<f32>;
@group(0) @binding(5) var<storage, read> values: array<f32>;

var<workgroup> slots: array<f32, ROWS * NUM_SLOTS>;
var<workgroup> ends: array<f32, ROWS * CLASSES * LANES>;
var<workgroup> totals: array<f32, ROWS * LANES>;

// A LOR as the mirror image of the one whose path is prepared: column (x, y) has its image at first + x strides.x + y strides.y, as a
// place in an image.
struct Member {
    // NO_ENTRY where a set has fewer LORs than a group has rows.
    lor: u32,
    // Whether the image runs from this LOR's end to its start: its planes rise where those of the first one fall.
    is_reversed: bool,
    first: i32,
    strides: vec2i,
}

fn member_at(number: u32) -> Member {
    let at = number * MEMBER_WORDS;
    return Member(
        sets[at],
        sets[at + 1u] != 0u,
        bitcast<i32>(sets[at + 2u]),
        vec2i(bitcast<i32>(sets[at + 3u]), bitcast<i32>(sets[at + 4u])),
    );
}

// The paths of the LORs of a group of threads, from and up to.
fn paths_at(number: u32) -> vec2u {
    let at = number * ROWS * MEMBER_WORDS;
    return vec2u(sets[at + 5u], sets[at + 6u]);
}

struct Path {
    at: u32,
    first_step: u32,
    num_steps: u32,
    lor_mm: f32,
    start_mm: f32,
    share: f32,
    // What a term of a sum over the path rounds to, as a part of the largest row integral, times their number.
    rounding: f32,
}

fn path_at(number: u32) -> Path {
    let at = p.paths_at + number * PATH_WORDS;
    return Path(
        at,
        sets[at],
        sets[at + 1u],
        bitcast<f32>(sets[at + 2u]),
        bitcast<f32>(sets[at + 3u]),
        bitcast<f32>(sets[at + 4u]),
        bitcast<f32>(sets[at + 5u]),
    );
}

// Crossings of a pass before the path's end.
fn passed(path: Path, number: u32) -> u32 {
    return sets[path.at + 6u + number];
}

// Planes of a segment a whole number of classes apart, on a path.
struct Group {
    // Share of the bin's value; negative where z falls along the LOR.
    signed_scale: f32,
    // What its row at the path's end is less CLASSES x slot.
    end_offset: i32,
}

var<workgroup> shared_groups: array<Group, NUM_GROUPS>;

// What the path's slope makes of the shares of each group.
fn prepare_groups(path: Path, thread_of_all: u32) {
    for (var number = thread_of_all; number < NUM_GROUPS; number += ROWS * THREADS) {
        let at = GROUPS_AT + number * GROUP_WORDS;
        let weight = bitcast<f32>(plan[at]);
        let slope = bitcast<f32>(plan[at + 1u]) / path.lor_mm;
        let sign = bitcast<f32>(plan[at + 2u]);
        let crossed = i32(passed(path, plan[at + 5u]));
        let end_row = bitcast<i32>(plan[at + 3u]) + select(crossed, -crossed, sign < 0.0);
        let scale = path.share * weight * sqrt(1.0 + slope * slope);
        shared_groups[number] = Group(sign * scale, end_row - i32(CLASSES * plan[at + 4u]));
    }
}

// The bin of a plane of the set's first LOR in another one.
fn bin_of(member: Member, plane: u32) -> u32 {
    var own = plane;
    if member.is_reversed {
        own = plan[REVERSED_AT + plane];
    }
    return member.lor * NUM_PLANES + own;
}

// A crossing: tau, whose sign bit says that threads wait before it; for each class the slot of the first thread, 16 bits each; for
// each class and register the threads that have a plane, a bit each.
fn record_at(event: u32) -> array<vec4u, RECORD_VECS> {
    var record: array<vec4u, RECORD_VECS>;
    for (var k = 0u; k < RECORD_VECS; k++) { // unrolled
        record[k] = records[event * RECORD_VECS + k];
    }
    return record;
}

// A thread's slot, given two slots of the first one in 16 bits each, and the thread's own first slot.
fn slot_at(bases: u32, c: u32, first_slot: u32) -> u32 {
    return select(bases & 0xffffu, bases >> 16u, c % 2u == 1u) + first_slot;
}

// Steps of a path ahead of the threads, two batches of them: x and y of the column, the length, and two factors by which tau tells
// how far through the step an event lies; and the first event of each.
const BATCH: u32 = 16u;
var<workgroup> ahead: array<vec4u, 2 * BATCH>;
var<workgroup> ahead_events: array<u32, 2 * BATCH>;

// The step that a thread brings: that of a batch, or the end of the path behind its last step.
fn step_of(path: Path, batch: u32, thread: u32) -> vec4u {
    return steps[path.first_step + min(batch * BATCH + thread, path.num_steps)];
}

fn bring(path: Path, batch: u32, thread: u32, step: vec4u) {
    if thread >= BATCH {
        return;
    }
    let at = batch % 2u * BATCH + thread;
    let length = bitcast<f32>(step.y);
    let per_mm = select(0.0, 1.0 / length, length > 0.0);
    let before_mm = path.start_mm + bitcast<f32>(step.z);
    ahead[at] = vec4u(step.x, step.y, bitcast<u32>(path.lor_mm * per_mm), bitcast<u32>(-before_mm * per_mm));
    ahead_events[at] = step.w;
}

// How far through a step an event lies, 0 to 1.
fn fraction_of(step: vec4u, record: vec4u) -> f32 {
    return clamp(fma(abs(bitcast<f32>(record.x)), bitcast<f32>(step.z), bitcast<f32>(step.w)), 0.0, 1.0);
}

// Where the column of a step begins.
fn column_of(member: Member, step: vec4u) -> u32 {
    return u32(member.first + i32(step.x & 0xffffu) * member.strides.x + i32(step.x >> 16u) * member.strides.y);
}

fn value_at(place: u32) -> f32 {
    let at = place - p.image_first;
    if IS_SPLIT && at >= p.image_len {
        return 0.0;
    }
    return image[at];
}

// Steps whose image columns are loaded ahead.
const AHEAD: u32 = 8u;
const NUM_VALUES: u32 = AHEAD * COLUMN;

// Columns of some steps, class after class; and the value above the last class's, unless a neighbour knows it.
struct Columns {
    values: array<f32, NUM_VALUES>,
    above: array<f32, AHEAD * REGISTERS>,
}

fn load(member: Member, first: u32, thread: u32) -> Columns {
    var columns: Columns;
    for (var k = 0u; k < AHEAD; k++) { // unrolled
        let column = column_of(member, ahead[(first + k) % (2u * BATCH)]);
        for (var r = 0u; r < REGISTERS; r++) { // unrolled
            // Threads without a place read the last one's values, which come to nothing.
            let place = min(thread + THREADS * r, LANES - 1u);
            for (var c = 0u; c < CLASSES; c++) { // unrolled
                columns.values[k * COLUMN + c * REGISTERS + r] = value_at(column + c * LANES + place);
            }
            if !KNOWS_NEIGHBOURS && place + 1u < LANES {
                columns.above[k * REGISTERS + r] = value_at(column + place + 1u);
            }
        }
    }
    return columns;
}

// x_z - x_{z+1} times the length of each of the steps.
fn differences(columns: Columns, first: u32, thread: u32) -> array<f32, NUM_VALUES> {
    var all: array<f32, NUM_VALUES>;
    for (var k = 0u; k < AHEAD; k++) { // unrolled
        let length = bitcast<f32>(ahead[(first + k) % (2u * BATCH)].y);
        for (var r = 0u; r < REGISTERS; r++) { // unrolled
            let behind = columns.values[k * COLUMN + min(r + 1u, REGISTERS - 1u)];
            let next = of_thread_behind(columns.values[k * COLUMN + r], behind, thread, columns.above[k * REGISTERS + r]);
            var above = select(0.0, next, thread + THREADS * r + 1u < LANES);
            for (var down = 0u; down < CLASSES; down++) { // unrolled
                let at = k * COLUMN + (CLASSES - 1u - down) * REGISTERS + r;
                all[at] = length * (columns.values[at] - above);
                above = columns.values[at];
            }
        }
    }
    return all;
}

// bins = A x, or += A x; for each LOR the bound of the rounding of its bins.
@compute @workgroup_size(ROWS * THREADS)
fn forward(@builtin(local_invocation_index) thread_of_all: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    if number >= p.num_groups {
        return;
    }
    let thread = thread_of_all % THREADS;
    let row = thread_of_all / THREADS;
    let member = member_at((p.first_group + number) * ROWS + row);
    let paths = paths_at(p.first_group + number);
    let is_there = member.lor != NO_ENTRY;
    let first_slot = row * NUM_SLOTS;
    if paths.x == paths.y && p.replaces != 0u && is_there {
        for (var plane = thread; plane < NUM_PLANES; plane += THREADS) {
            let bin = bin_of(member, plane) - p.bins_first;
            if bin < p.bins_len {
                bins[bin] = 0.0;
            }
        }
        if thread == 0u {
            bounds[member.lor] = 0.0;
        }
    }
    for (var which = paths.x; which < paths.y; which++) {
        let path = path_at(which);
        let replaces = p.replaces != 0u && which == paths.x;
        workgroupBarrier();
        bring(path, 0u, thread_of_all, step_of(path, 0u, thread_of_all));
        bring(path, 1u, thread_of_all, step_of(path, 1u, thread_of_all));
        prepare_groups(path, thread_of_all);
        var event = steps[path.first_step].w;
        for (var slot = thread_of_all; slot < ROWS * NUM_SLOTS; slot += ROWS * THREADS) {
            slots[slot] = 0.0;
        }
        workgroupBarrier();

        var g: array<f32, COLUMN>;
        var record = record_at(event);
        let bit = 1u << thread;
        var next_step = step_of(path, 2u, thread_of_all);
        var next = load(member, 0u, thread);
        for (var first = 0u; first < path.num_steps; first += AHEAD) {
            if first % BATCH == 0u && first > 0u {
                workgroupBarrier();
                bring(path, first / BATCH + 1u, thread_of_all, next_step);
                workgroupBarrier();
                next_step = step_of(path, first / BATCH + 2u, thread_of_all);
            }
            let now = differences(next, first, thread);
            // The next steps are on their way while the events of these are added.
            next = load(member, first + AHEAD, thread);
            for (var k = 0u; k < AHEAD; k++) { // unrolled
                let step = ahead[(first + k) % (2u * BATCH)];
                let end = ahead_events[(first + k + 1u) % (2u * BATCH)];
                while event < end {
                    let added = record;
                    event++;
                    record = record_at(event);
                    // A plane that this event adds to may have been another thread's before.
                    if added[0].x >= 0x80000000u {
                        workgroupBarrier();
                    }
                    let fraction = fraction_of(step, added[0]);
                    // The slots of an event are apart: all are read before the first is written.
                    var sums: array<f32, COLUMN>;
                    for (var c = 0u; c < CLASSES; c++) { // unrolled
                        let slot = slot_at(added[(1u + c / 2u) / 4u][(1u + c / 2u) % 4u], c, first_slot + thread - BASE_OFFSET);
                        for (var r = 0u; r < REGISTERS; r++) { // unrolled
                            if (added[(MASKS_AT + c * REGISTERS + r) / 4u][(MASKS_AT + c * REGISTERS + r) % 4u] & bit) != 0u {
                                sums[c * REGISTERS + r] = slots[slot + THREADS * r]
                                    + fma(fraction, now[k * COLUMN + c * REGISTERS + r], g[c * REGISTERS + r]);
                            }
                        }
                    }
                    for (var c = 0u; c < CLASSES; c++) { // unrolled
                        let slot = slot_at(added[(1u + c / 2u) / 4u][(1u + c / 2u) % 4u], c, first_slot + thread - BASE_OFFSET);
                        for (var r = 0u; r < REGISTERS; r++) { // unrolled
                            if (added[(MASKS_AT + c * REGISTERS + r) / 4u][(MASKS_AT + c * REGISTERS + r) % 4u] & bit) != 0u {
                                slots[slot + THREADS * r] = sums[c * REGISTERS + r];
                            }
                        }
                    }
                }
                for (var c = 0u; c < COLUMN; c++) { // unrolled
                    g[c] += now[k * COLUMN + c];
                }
            }
        }

        // C_z at the path's end is the sum of G over z and all above.
        for (var r = 0u; r < REGISTERS; r++) { // unrolled
            var total = 0.0;
            for (var c = 0u; c < CLASSES; c++) { // unrolled
                total += g[c * REGISTERS + r];
            }
            if thread + THREADS * r < LANES {
                totals[row * LANES + thread + THREADS * r] = total;
            }
        }
        workgroupBarrier();
        for (var r = 0u; r < REGISTERS; r++) { // unrolled
            let place = thread + THREADS * r;
            if place < LANES {
                var value = 0.0;
                for (var other = LANES - 1u; other > place; other--) {
                    value += totals[row * LANES + other];
                }
                for (var down = 0u; down < CLASSES; down++) { // unrolled
                    value += g[(CLASSES - 1u - down) * REGISTERS + r];
                    ends[(row * LANES + place) * CLASSES + CLASSES - 1u - down] = value;
                }
            }
        }
        workgroupBarrier();
        if thread == 0u && is_there {
            var largest = 0.0;
            for (var k = 0u; k < CLASSES * LANES; k++) {
                largest = max(largest, ends[row * CLASSES * LANES + k]);
            }
            bounds[member.lor] = path.rounding * largest + select(bounds[member.lor], 0.0, replaces);
        }

        for (var plane = thread; plane < NUM_PLANES; plane += THREADS) {
            let bin = bin_of(member, plane) - p.bins_first;
            if bin >= p.bins_len || !is_there {
                continue;
            }
            var sum = 0.0;
            if !replaces {
                sum = bins[bin];
            }
            for (var layer = 0u; layer < NUM_LAYERS; layer++) {
                let entry = plan[OUTPUTS_AT + layer * NUM_PLANES + plane];
                if entry == NO_ENTRY {
                    continue;
                }
                let slot = entry & 0xffffu;
                let planes = shared_groups[entry >> 16u];
                let z = planes.end_offset + i32(CLASSES * slot);
                sum += planes.signed_scale * slots[first_slot + slot];
                if z >= 0 && z < i32(NZ) {
                    sum += abs(planes.signed_scale) * ends[row * CLASSES * LANES + u32(z - i32(CLASSES) * FIRST_K)];
                }
            }
            bins[bin] = sum;
        }
    }
}
