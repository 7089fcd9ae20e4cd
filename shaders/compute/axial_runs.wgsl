// The axial-run projector: Siddon at the price of axial crossings. The definition, with its derivation, is
// src/operator/axial_runs/; the tables are laid out in src/webgpu/axial_tables.rs, which puts this text together with its constants:
//
//   CLASSES, REGISTERS   of each class z = c (mod CLASSES) a thread holds REGISTERS values, 32 places apart
//   LANES, FIRST_K       places of a class in an image column, and z / CLASSES of the first
//   NZ, NUM_PLANES, NUM_LAYERS, NUM_PASSES, NUM_SLOTS
//   ENDS_AT, PASSES_AT, GROUPS_AT, OUTPUTS_AT, REVERSED_AT   where parts of the plan begin
//   IS_SPLIT             whether an image lies in several buffers
//
// A group of 32 threads walks a transaxial LOR for all of its planes. Threads are voxels along z. Walking along the in-plane path, a
// thread keeps
//
//   forward   G_z, the integral of x_z - x_{z+1} up to the present step; where a plane crosses a voxel face in z (an
//             event), the interpolated G is added to the plane's sum;
//   back      the adjoint from the path's end: the sum of what the planes bring to z over the events passed.
//
// The bins of all planes lie in shared memory, each group of planes with room on both sides ("slots"), so that an event
// is one address for all threads: those whose z no plane of the group has touch the room between the groups.

struct Parameters {
    first_member: u32,
    num_members: u32,
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
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

const THREADS: u32 = 32u;
const NO_ENTRY: u32 = 0xffffffffu;
const COLUMN: u32 = CLASSES * REGISTERS;
const MEMBER_WORDS: u32 = 8u;
const PATH_WORDS: u32 = 6u + NUM_PASSES;
const GROUP_WORDS: u32 = 6u;
const END_WORDS: u32 = 3u;

@group(0) @binding(0) var<uniform> p: Parameters;
// Ends, passes, groups, outputs, reversed planes.
@group(0) @binding(1) var<storage, read> plan: array<u32>;
// The crossings of all passes in the order of tau: tau, two words of addresses, whether threads wait before it.
@group(0) @binding(2) var<storage, read> records: array<vec4u>;
// LORs, then paths.
@group(0) @binding(3) var<storage, read> sets: array<u32>;
// x and y of a step's column, its length, where it begins, its first event.
@group(0) @binding(4) var<storage, read> steps: array<vec4u>;
@group(0) @binding(5) var<storage, read> image: array<f32>;
@group(0) @binding(6) var<storage, read_write> bins: array<f32>;
@group(0) @binding(7) var<storage, read_write> bounds: array<f32>;
@group(0) @binding(5) var<storage, read> values: array<f32>;

var<workgroup> slots: array<f32, NUM_SLOTS>;
var<workgroup> ends: array<f32, CLASSES * LANES>;
var<workgroup> totals: array<f32, LANES>;

// A LOR as the mirror image of the one whose path is prepared: column (x, y) has its image at first + x strides.x + y strides.y, as a
// place in an image.
struct Member {
    lor: u32,
    // Whether the image runs from this LOR's end to its start: its planes rise where those of the first one fall.
    is_reversed: bool,
    first: i32,
    strides: vec2i,
    // Its paths, from and up to.
    paths: vec2u,
}

fn member_at(number: u32) -> Member {
    let at = number * MEMBER_WORDS;
    return Member(
        sets[at],
        sets[at + 1u] != 0u,
        bitcast<i32>(sets[at + 2u]),
        vec2i(bitcast<i32>(sets[at + 3u]), bitcast<i32>(sets[at + 4u])),
        vec2u(sets[at + 5u], sets[at + 6u]),
    );
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
    // Share of the bin's value, and its sign: -1 where z falls along the LOR.
    scale: f32,
    sign: f32,
    // What its row at the path's end is less CLASSES x slot.
    end_offset: i32,
}

fn group_at(path: Path, number: u32) -> Group {
    let at = GROUPS_AT + number * GROUP_WORDS;
    let weight = bitcast<f32>(plan[at]);
    let slope = bitcast<f32>(plan[at + 1u]) / path.lor_mm;
    let sign = bitcast<f32>(plan[at + 2u]);
    let crossed = i32(passed(path, plan[at + 5u]));
    let end_row = bitcast<i32>(plan[at + 3u]) + select(crossed, -crossed, sign < 0.0);
    let scale = path.share * weight * sqrt(1.0 + slope * slope);
    return Group(scale, sign, end_row - i32(CLASSES * plan[at + 4u]));
}

// The bin of a plane of the set's first LOR in another one.
fn bin_of(member: Member, plane: u32) -> u32 {
    var own = plane;
    if member.is_reversed {
        own = plan[REVERSED_AT + plane];
    }
    return member.lor * NUM_PLANES + own;
}

// Where a thread's slot of class c is.
fn slot_at(record: vec4u, c: u32, thread: u32) -> u32 {
    let bases = select(record.y, record.z, c >= 2u);
    return (select(bases & 0xffffu, bases >> 16u, c % 2u == 1u) >> 2u) + thread;
}

// How far through a step an event lies, 0 to 1.
fn fraction_of(path: Path, step: vec4u, tau: f32) -> f32 {
    let length = bitcast<f32>(step.y);
    let at_mm = fma(tau, path.lor_mm, -path.start_mm);
    return select(0.0, clamp((at_mm - bitcast<f32>(step.z)) / length, 0.0, 1.0), length > 0.0);
}

// Where the column of a step begins.
fn column_of(member: Member, step: vec4u) -> i32 {
    return member.first + i32(step.x & 0xffffu) * member.strides.x + i32(step.x >> 16u) * member.strides.y;
}

fn value_at(place: u32) -> f32 {
    let at = place - p.image_first;
    if IS_SPLIT && at >= p.image_len {
        return 0.0;
    }
    return image[at];
}

// The values of a thread in a column, class after class.
fn load(column: i32, thread: u32) -> array<f32, COLUMN> {
    var x: array<f32, COLUMN>;
    for (var r = 0u; r < REGISTERS; r++) {
        // Threads without a place read the last one's values, which come to nothing.
        let place = min(thread + THREADS * r, LANES - 1u);
        for (var c = 0u; c < CLASSES; c++) {
            x[c * REGISTERS + r] = value_at(u32(column) + c * LANES + place);
        }
    }
    return x;
}

// The value one place on in the first class.
fn load_above(column: i32, thread: u32) -> array<f32, REGISTERS> {
    var x: array<f32, REGISTERS>;
    for (var r = 0u; r < REGISTERS; r++) {
        let place = thread + THREADS * r + 1u;
        if place < LANES {
            x[r] = value_at(u32(column) + place);
        }
    }
    return x;
}

// bins = A x, or += A x; for each LOR the bound of the rounding of its bins.
@compute @workgroup_size(THREADS)
fn forward(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    if number >= p.num_members {
        return;
    }
    let member = member_at(p.first_member + number);
    if member.paths.x == member.paths.y && p.replaces != 0u {
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
    for (var which = member.paths.x; which < member.paths.y; which++) {
        let path = path_at(which);
        let replaces = p.replaces != 0u && which == member.paths.x;
        workgroupBarrier();
        for (var slot = thread; slot < NUM_SLOTS; slot += THREADS) {
            slots[slot] = 0.0;
        }
        workgroupBarrier();

        var g: array<f32, COLUMN>;
        var step = steps[path.first_step];
        var x = load(column_of(member, step), thread);
        var above = load_above(column_of(member, step), thread);
        var event = step.w;
        for (var s = 1u; s <= path.num_steps; s++) {
            let length = bitcast<f32>(step.y);
            var now: array<f32, COLUMN>;
            for (var r = 0u; r < REGISTERS; r++) {
                for (var c = 0u; c + 1u < CLASSES; c++) {
                    now[c * REGISTERS + r] = length * (x[c * REGISTERS + r] - x[(c + 1u) * REGISTERS + r]);
                }
                now[(CLASSES - 1u) * REGISTERS + r] = length * (x[(CLASSES - 1u) * REGISTERS + r] - above[r]);
            }
            // The next step is on its way while the events of this one are added. (Behind the last lies one without length.)
            let next = steps[path.first_step + s];
            x = load(column_of(member, next), thread);
            above = load_above(column_of(member, next), thread);
            for (; event < next.w; event++) {
                let record = records[event];
                // A plane that this event adds to may have been another thread's before.
                if record.w != 0u {
                    workgroupBarrier();
                }
                let fraction = fraction_of(path, step, bitcast<f32>(record.x));
                for (var c = 0u; c < CLASSES; c++) {
                    let slot = slot_at(record, c, thread);
                    for (var r = 0u; r < REGISTERS; r++) {
                        if thread + THREADS * r < LANES {
                            slots[slot + THREADS * r] += fma(fraction, now[c * REGISTERS + r], g[c * REGISTERS + r]);
                        }
                    }
                }
            }
            for (var k = 0u; k < COLUMN; k++) {
                g[k] += now[k];
            }
            step = next;
        }

        // C_z at the path's end is the sum of G over z and all above.
        for (var r = 0u; r < REGISTERS; r++) {
            var total = 0.0;
            for (var c = 0u; c < CLASSES; c++) {
                total += g[c * REGISTERS + r];
            }
            if thread + THREADS * r < LANES {
                totals[thread + THREADS * r] = total;
            }
        }
        workgroupBarrier();
        for (var r = 0u; r < REGISTERS; r++) {
            let place = thread + THREADS * r;
            if place < LANES {
                var value = 0.0;
                for (var other = LANES - 1u; other > place; other--) {
                    value += totals[other];
                }
                for (var c = CLASSES; c > 0u; c--) {
                    value += g[(c - 1u) * REGISTERS + r];
                    ends[place * CLASSES + c - 1u] = value;
                }
            }
        }
        workgroupBarrier();
        if thread == 0u {
            var largest = 0.0;
            for (var k = 0u; k < CLASSES * LANES; k++) {
                largest = max(largest, ends[k]);
            }
            bounds[member.lor] = path.rounding * largest + select(bounds[member.lor], 0.0, replaces);
        }

        for (var plane = thread; plane < NUM_PLANES; plane += THREADS) {
            let bin = bin_of(member, plane) - p.bins_first;
            if bin >= p.bins_len {
                continue;
            }
            var sum = select(bins[bin], 0.0, replaces);
            for (var layer = 0u; layer < NUM_LAYERS; layer++) {
                let entry = plan[OUTPUTS_AT + layer * NUM_PLANES + plane];
                if entry == NO_ENTRY {
                    continue;
                }
                let slot = entry & 0xffffu;
                let planes = group_at(path, entry >> 16u);
                let z = planes.end_offset + i32(CLASSES * slot);
                sum += planes.sign * planes.scale * slots[slot];
                if z >= 0 && z < i32(NZ) {
                    sum += planes.scale * ends[u32(z - i32(CLASSES) * FIRST_K)];
                }
            }
            bins[bin] = sum;
        }
    }
}
