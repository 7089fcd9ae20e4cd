// What a warp prepares before it walks a transaxial LOR, in either direction: the steps of the in-plane path, the crossings
// ("events") that each plane group meets on it, in order, and the shared memory that they lie in. Included by the files
// axial_runs_C_R.cu before axial_runs.cuh, with the same CLASSES and REGISTERS.

#define WARP 32
#define FULL 0xffffffffu
// Steps whose image columns are loaded ahead.
#define AHEAD 4
#define NO_ENTRY 0xffffffffu

// Where a path enters the field of view and at which regular distances it crosses voxel faces (InPlanePath).
struct Path {
    double next[2];
    double pitch[2];
    double length_mm;
    double start_mm;
    double lor_mm;
    int column;
    int stride[2];
    float share;
};

// Groups that cross faces at the same fractions tau of a LOR, and that never meet in a class.
struct Pass {
    double first_tau;
    double tau_step;
    int num_crossings;
    // The pass's entry of the table of ends without a crossing.
    int first_end;
};

// One crossing of a pass: for each class the address of lane 0 in the slots, in bytes, 16 bits each. The crossings of all
// passes are in the order of tau, in which every LOR meets them.
struct Record {
    float tau;
    unsigned bases[2];
};

// The rows in which the groups of a pass end after so many crossings: for each group, CLASSES at most, an address as in a
// record, and four bits: its class (2), whether it falls along the LOR, whether there is such a group.
struct End {
    unsigned bases[2];
    unsigned flags;
};

// Planes of a segment a whole number of classes apart.
struct Group {
    float weight;
    float rise_mm;
    float sign;
    int first_row;
    int slot;
    int pass;
};

// What all LORs have in common.
struct Plan {
    int num_tangential;
    int num_planes;
    // The views of the data are first_view + k view_step.
    int first_view;
    int view_step;
    int nx;
    int nz;
    // Places of a class in an image column, and z / CLASSES of the first.
    int lanes;
    int first_k;
    int num_passes;
    int num_records;
    int num_groups;
    // Entries of the output table for each plane.
    int num_layers;
    int num_slots;
    int max_steps;
    int num_columns;
    // Shared memory of a warp.
    int scratch_bytes;
};

// A step of the path: where its column begins in an image, and its length in it (0 outside the field of view).
struct __align__(8) Step {
    unsigned column;
    float length;
};

struct __align__(CLASSES <= 2 ? 8 : 4) Event {
    float fraction;
    unsigned bases[(CLASSES + 1) / 2];
};

// The slot of a lane, given the slot of lane 0 of the first class, from packed addresses.
__device__ __forceinline__ float *slot_of(float *slots, const unsigned *bases, int c)
{
    const unsigned offset = c % 2 ? bases[c / 2] >> 16 : bases[c / 2] & 0xffffu;
    return (float *)((unsigned char *)slots + offset);
}

// A group on the present path: shares of the bin's value, and what its row at the path's end is less CLASSES x slot.
struct GroupNow {
    float scale;
    float signed_scale;
    int end_offset;
};

extern __shared__ __align__(16) unsigned char memory[];

// The shared memory of one warp; the same sizes as `scratch_bytes` in src/cuda/axial_plan.rs.
struct Scratch {
    float *slots;
    // Where each step begins; needed only before the slots are.
    float *from;
    float *ends;
    Event *events;
    Step *steps;
    GroupNow *groups;
    // Crossings of each pass before the path's end.
    unsigned short *passed;
    // The first event of each step; one more for the end of the last.
    unsigned short *starts;

    __device__ Scratch(const Plan &plan, int warp)
    {
        steps = (Step *)(memory + (size_t)warp * plan.scratch_bytes);
        events = (Event *)(steps + plan.max_steps + 2 * AHEAD);
        slots = from = (float *)(events + plan.num_records + 1);
        ends = slots + plan.num_slots;
        groups = (GroupNow *)(ends + CLASSES * plan.lanes);
        passed = (unsigned short *)(groups + plan.num_groups);
        starts = passed + plan.num_passes;
    }
};

// Crossing number k of an axis. The very same value wherever it is compared.
__device__ __forceinline__ double crossing(const Path &path, int axis, int k)
{
    return __fma_rn((double)k, path.pitch[axis], path.next[axis]);
}

// Number of crossings of an axis before the path's end.
__device__ __forceinline__ int num_crossings(const Path &path, int axis)
{
    if (!(path.pitch[axis] > 0.0) || !(path.next[axis] < path.length_mm))
        return 0;
    int count = (int)ceil((path.length_mm - path.next[axis]) / path.pitch[axis]);
#pragma unroll 1
    while (count > 0 && crossing(path, axis, count - 1) >= path.length_mm)
        count--;
#pragma unroll 1
    while (crossing(path, axis, count) < path.length_mm)
        count++;
    return count;
}

// The steps of a path, each lane its own: of the first s crossings, i are along x, and i follows from comparing the
// same numbers as its neighbours do. Returns the number of steps.
__device__ __forceinline__ int trace(const Plan &plan, const Path &path, const int2 *fov_rows,
                                     const Scratch &scratch, int lane)
{
    const int nx = num_crossings(path, 0), ny = num_crossings(path, 1);
    const int num_steps = min(nx + ny + 1, plan.max_steps);
    // i = guess_per_step s + guess_offset, within one or two, from the mean rate of crossings.
    float guess_per_step = nx > 0 ? 1.0f : 0.0f, guess_offset = 0.0f;
    if (nx > 0 && ny > 0) {
        const float rate_x = (float)(1.0 / path.pitch[0]), rate_y = (float)(1.0 / path.pitch[1]);
        const float rate = rate_x + rate_y;
        const float begin = (float)path.next[0] * rate_x + (float)path.next[1] * rate_y - 2.0f;
        guess_per_step = rate_x / rate;
        guess_offset = begin * guess_per_step - (float)path.next[0] * rate_x + 1.0f;
    }
#pragma unroll 1
    for (int s = lane; s < num_steps; s += WARP) {
        const int least = max(0, s - ny), most = min(s, nx);
        int i = min(max((int)(guess_per_step * s + guess_offset), least), most);
#pragma unroll 1
        while (i < most && crossing(path, 0, i) <= crossing(path, 1, s - i - 1))
            i++;
#pragma unroll 1
        while (i > least && crossing(path, 1, s - i) < crossing(path, 0, i - 1))
            i--;
        const int j = s - i;
        double begin = 0.0, end = path.length_mm;
        if (i > 0)
            begin = crossing(path, 0, i - 1);
        if (j > 0)
            begin = fmax(begin, crossing(path, 1, j - 1));
        if (i < nx)
            end = crossing(path, 0, i);
        if (j < ny)
            end = fmin(end, crossing(path, 1, j));
        // Rounding at the path's end can lead out of the grid.
        const int column = min(max(path.column + i * path.stride[0] + j * path.stride[1], 0), plan.num_columns - 1);
        const int y = column / plan.nx;
        const int x = column - y * plan.nx;
        const int2 inside = fov_rows[y];
        const bool is_seen = x >= inside.x && x < inside.y;
        const Step step = {(unsigned)column * (CLASSES * plan.lanes), is_seen ? (float)(end - begin) : 0.0f};
        scratch.steps[s] = step;
        scratch.from[s] = (float)begin;
    }
    return num_steps;
}

// Where a path's crossings lie on it, in f32. The very same values wherever they are compared.
struct Locator {
    float lor_mm, start_mm, length_mm;
    float first[2], per_mm[2];
    int last_step;

    __device__ Locator(const Path &path, int num_steps)
    {
        lor_mm = (float)path.lor_mm;
        start_mm = (float)path.start_mm;
        length_mm = (float)path.length_mm;
        for (int a = 0; a < 2; a++) {
            const bool crossed = path.pitch[a] > 0.0;
            first[a] = crossed ? (float)path.next[a] : 3e38f;
            per_mm[a] = crossed ? (float)(1.0 / path.pitch[a]) : 1.0f;
        }
        last_step = num_steps - 1;
    }

    __device__ __forceinline__ float at_mm(float tau) const { return __fmaf_rn(tau, lor_mm, -start_mm); }

    __device__ __forceinline__ int passed(float at_mm, int axis) const
    {
        return (int)fmaxf((at_mm - first[axis]) * per_mm[axis] + 1.0f, 0.0f);
    }

    // The step that holds a point: not below that of any point before it.
    __device__ __forceinline__ int step(float at_mm) const
    {
        return min(passed(at_mm, 0) + passed(at_mm, 1), last_step);
    }
};

// Number of crossings of a pass that lie before the path's end.
__device__ __forceinline__ int crossings_before_end(const Pass &pass, const Path &path, const Locator &locator)
{
    if (pass.num_crossings == 0)
        return 0;
    const float end_tau = (locator.start_mm + locator.length_mm) / locator.lor_mm;
    int count = min(max((int)ceilf((end_tau - (float)pass.first_tau) / (float)pass.tau_step), 0), pass.num_crossings);
    // The same tau as in the records.
#define BEFORE_END(i)                                                                                                  \
    (locator.at_mm((float)__dadd_rn(pass.first_tau, __dmul_rn((double)(i), pass.tau_step))) < locator.length_mm)
#pragma unroll 1
    while (count < pass.num_crossings && BEFORE_END(count))
        count++;
#pragma unroll 1
    while (count > 0 && !BEFORE_END(count - 1))
        count--;
    return count;
}

// How many crossings of each pass come before the path's end, and what the path's slope makes of the shares of each group.
__device__ __forceinline__ void prepare_groups(const Plan &plan, const Path &path, const Locator &locator,
                                               const Pass *passes, const Group *groups, const Scratch &scratch, int lane)
{
#pragma unroll 1
    for (int p = lane; p < plan.num_passes; p += WARP)
        scratch.passed[p] = (unsigned short)crossings_before_end(passes[p], path, locator);
    __syncwarp();
#pragma unroll 1
    for (int g = lane; g < plan.num_groups; g += WARP) {
        const Group group = groups[g];
        const float slope = group.rise_mm / locator.lor_mm;
        GroupNow now;
        now.scale = path.share * group.weight * sqrtf(1.0f + slope * slope);
        now.signed_scale = group.sign * now.scale;
        const int end_row = group.first_row + (group.sign < 0.0f ? -1 : 1) * (int)scratch.passed[group.pass];
        now.end_offset = end_row - CLASSES * group.slot;
        scratch.groups[g] = now;
    }
}

// The events of the path: record r is event r where it lies on the path. Finds the first event of each step.
__device__ __forceinline__ void find_events(const Plan &plan, const Locator &locator, const Record *records,
                                            int num_steps, const Scratch &scratch, int lane)
{
    // Steps up to this one know their first event; the records up to `event` have been seen.
    int step_before = -1;
    int last = 0;
#pragma unroll 1
    for (int first = 0; first < plan.num_records; first += WARP) {
        const int r = first + lane;
        Record record;
        float at_mm = -1.0f;
        if (r < plan.num_records) {
            record = records[r];
            at_mm = locator.at_mm(record.tau);
        }
        const bool is_on_path = at_mm > 0.0f && at_mm < locator.length_mm;
        const unsigned on_path = __ballot_sync(FULL, is_on_path);
        if (on_path == 0)
            continue;
        const int step = is_on_path ? locator.step(at_mm) : -1;
        if (is_on_path) {
            const float length = scratch.steps[step].length;
            const float through = length > 0.0f ? (at_mm - scratch.from[step]) / length : 0.0f;
            Event event;
            event.fraction = fminf(fmaxf(through, 0.0f), 1.0f);
#pragma unroll
            for (int b = 0; b < (CLASSES + 1) / 2; b++)
                event.bases[b] = record.bases[b];
            scratch.events[r] = event;
        }
        const int neighbour = __shfl_up_sync(FULL, step, 1);
        const bool is_first = lane == __ffs(on_path) - 1;
        if (is_on_path)
            for (int s = (is_first ? step_before : neighbour) + 1; s <= step; s++)
                scratch.starts[s] = (unsigned short)r;
        step_before = __shfl_sync(FULL, step, WARP - 1 - __clz(on_path));
        last = first + WARP - __clz(on_path);
    }
    // The steps behind the last event, and some without length, so that the walk can take several at a time.
    for (int s = step_before + 1 + lane; s <= num_steps + 2 * AHEAD; s += WARP)
        scratch.starts[s] = (unsigned short)last;
    const unsigned column = scratch.steps[num_steps - 1].column;
    if (lane < 2 * AHEAD) {
        const Step nothing = {column, 0.0f};
        scratch.steps[num_steps + lane] = nothing;
    }
    // It is read ahead, but never used.
    if (lane == 0) {
        const Event nothing = {0.0f, {0}};
        scratch.events[last] = nothing;
    }
    __syncwarp();
}

// All that is common to both directions: the path's steps, the groups' shares, the events in order, and empty slots.
__device__ __forceinline__ int set_up(const Plan &plan, const Path &path, const int2 *fov_rows, const Pass *passes,
                                      const Group *groups, const Record *records, const Scratch &scratch,
                                      int lane)
{
    __syncwarp();
    const int num_steps = trace(plan, path, fov_rows, scratch, lane);
    const Locator locator(path, num_steps);
    prepare_groups(plan, path, locator, passes, groups, scratch, lane);
    find_events(plan, locator, records, num_steps, scratch, lane);
#pragma unroll 1
    for (int slot = lane; slot < plan.num_slots; slot += WARP)
        scratch.slots[slot] = 0.0f;
    __syncwarp();
    return num_steps;
}
