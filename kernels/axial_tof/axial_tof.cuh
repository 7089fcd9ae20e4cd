// Axial runs with time of flight: each bin of a plane is the integral of the image along the line times the bin's weight, that of the
// middle of each step of the path. The definition is src/engine/operator/axial_runs/tof.rs. The files axial_tof_C_R.cu compile this,
// after axial_path.cuh and tof_path.cuh, for images with CLASSES = C classes of z and REGISTERS = R values of each class in a lane.
//
// A point of the path is in reach of few bins. A warp walks with SLOT_VALUES of them open: bin j of a course is component
// j mod SLOT_VALUES of everything that there is for each open bin. The bins of a course are every `interleave`-th of all, so many
// that no more are in reach. A line with time of flight meets a step farther from its middle the steeper it is: the weights are
// those of a line in the plane and those of the steepest one, and all others are interpolated between these.

// Planes that a lane looks up at once: one after the other they would wait for memory each time.
#define BATCH 9

// A lane's values of one column; `d`: its values in the first column of the LOR.
__device__ __forceinline__ void load(float values[CLASSES][REGISTERS], const float *const d[REGISTERS], int column)
{
#pragma unroll
    for (int r = 0; r < REGISTERS; r++) {
        union {
            typename Classes<CLASSES>::Type all;
            float each[CLASSES];
        } value;
        value.all = *(const typename Classes<CLASSES>::Type *)(d[r] + column);
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
            values[c][r] = value.each[c];
    }
}

#define TOF_TABLES                                                                                                     \
    const Tof tof, const unsigned short *ranks, const float *record_rises, const uint2 *record_spans, const uint2 *end_spans
#define PLAN plan, paths, set_paths, members, fov_rows, passes, groups, records, pass_ends, outputs, reversed
#define TOF tof, ranks, record_rises, record_spans, end_spans

// What is the same for all paths of a set.
struct Course {
    Thread thread;
    unsigned set;
    Member member;
    int number;
    int num_bins;
};

// What bin j of a course leaves in the mark of its set.
__device__ __forceinline__ unsigned mark_of(int j) { return 1u << (j % 32); }

// Ends bin j of a course behind a step: writes its bins and empties its slots.
template <bool CHECKED>
__device__ __forceinline__ void close_bin(TABLES, TOF_TABLES, const Course &course, const Path &path, const Scratch &scratch,
                                          const TofScratch &own, float4 g[CLASSES][REGISTERS], float4 steep[CLASSES][REGISTERS], int j,
                                          unsigned place, int num_steps, bool is_first, bool is_last, const float *measured,
                                          float *bins, unsigned *is_marked_set)
{
    const int a = j % OPEN, lane = course.thread.lane;
    __syncwarp();
    find_ends(plan, groups, ranks, place, scratch, own, lane);
    float *const flat_ends = scratch.ends, *const steep_ends = scratch.ends + CLASSES * plan.lanes;
    float largest = sum_up(g, a, plan, flat_ends, lane);
    if (tof.has_steepness)
        sum_up(steep, a, plan, steep_ends, lane);
#pragma unroll
    for (int c = 0; c < CLASSES; c++)
#pragma unroll
        for (int r = 0; r < REGISTERS; r++) {
            set_component(&g[c][r], a, 0.0f);
            set_component(&steep[c][r], a, 0.0f);
        }
    float bound = 0.0f;
    if (CHECKED) {
#pragma unroll
        for (int distance = WARP / 2; distance > 0; distance /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(FULL, largest, distance));
        bound = (is_first ? 0.0f : own.bounds[j]) + path.rounding * (float)(num_steps + plan.max_crossings) * largest;
        __syncwarp();
        if (lane == 0)
            own.bounds[j] = bound;
    }
    __syncwarp();
    float *const of_bin = bins + bins_of(plan, tof, course.member, course.number, j);
#pragma unroll 1
    for (int first = lane; first < plan.num_planes; first += BATCH * WARP) {
        int places[BATCH];
        float sums[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            const int plane = min(first + WARP * b, plan.num_planes - 1);
            places[b] = plane_of(course.member, reversed, plane);
            sums[b] = is_first ? 0.0f : of_bin[places[b]];
        }
#pragma unroll 1
        for (int layer = 0; layer < plan.num_layers; layer++) {
            unsigned entries[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; b++) {
                const int plane = first + WARP * b;
                entries[b] = plane < plan.num_planes ? outputs[layer * plan.num_planes + plane] : NO_ENTRY;
            }
#pragma unroll
            for (int b = 0; b < BATCH; b++) {
                if (entries[b] == NO_ENTRY)
                    continue;
                const int slot = entries[b] & 0xffffu, g_at = entries[b] >> 16;
                const GroupNow group = scratch.groups[g_at];
                const int z = own.end_offsets[g_at] + CLASSES * slot;
                sums[b] += group.signed_scale * scratch.slots[OPEN * slot + a];
                scratch.slots[OPEN * slot + a] = 0.0f;
                if (z >= 0 && z < plan.nz) {
                    const int end = z - CLASSES * plan.first_k;
                    float integral = flat_ends[end];
                    if (tof.has_steepness)
                        integral += own.group_steepness[g_at] * steep_ends[end];
                    sums[b] += group.scale * integral;
                }
            }
        }
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            if (first + WARP * b >= plan.num_planes)
                continue;
            float sum = sums[b];
            if (CHECKED && is_last && sum < bound) {
                const bool is_doubtful = measured[of_bin + places[b] - bins] > 0.0f;
                if (is_doubtful)
                    atomicOr(is_marked_set + course.set, mark_of(j));
                sum = is_doubtful ? -INFINITE : sum > 0.0f ? sum : 0.0f;
            }
            of_bin[places[b]] = sum;
        }
    }
    __syncwarp();
}

// Bins that no step of a path sees.
__device__ __forceinline__ void clear_bins(const Plan &plan, const Tof &tof, const Course &course, int from, int to, float *bins)
{
    for (int j = from; j < to; j++) {
        float *const of_bin = bins + bins_of(plan, tof, course.member, course.number, j);
        for (int plane = course.thread.lane; plane < plan.num_planes; plane += WARP)
            of_bin[plane] = 0.0f;
    }
}

// bins = A x for the LORs of sets first_set ..., a course for each y of the grid; d is the difference of x along z. CHECKED as in
// axial_runs.cuh.
template <bool CHECKED>
__device__ __forceinline__ void project(TABLES, TOF_TABLES, const float *d, const float *measured, float *bins,
                                        unsigned *is_marked_set, unsigned first_set)
{
    Course course;
    const int lane = course.thread.lane;
    course.set = first_set + blockIdx.x;
    course.number = blockIdx.y;
    course.num_bins = num_bins_of(tof, course.number);
    const Member member = course.member = members[course.set * blockDim.y + course.thread.warp];
    const bool is_there = member.lor != NO_ENTRY;
    const Scratch scratch(plan, course.thread.warp);
    const TofScratch own(plan, tof, course.thread.warp);
    float *const lane_slots = scratch.slots + OPEN * lane;
    // Lanes without a place read the last one's values, which come to nothing.
    const float *lane_d[REGISTERS];
#pragma unroll
    for (int r = 0; r < REGISTERS; r++)
        lane_d[r] = kept(d + (is_there ? member.first : 0) + CLASSES * min(lane + WARP * r, plan.lanes - 1));
    const uint2 range = set_paths[course.set];
    if (range.x == range.y && is_there)
        clear_bins(plan, tof, course, 0, course.num_bins, bins);
    if (CHECKED && is_there)
        for (int j = lane; j < course.num_bins; j += WARP)
            own.bounds[j] = 0.0f;
    for (unsigned which = range.x; which < range.y; which++) {
        const Path path = paths[which];
        const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, course.thread);
        set_up_tof(plan, tof, path, groups, records, record_rises, record_spans, num_steps, course.number, scratch, own, course.thread);
        if (!is_there)
            continue;
        const bool is_first = which == range.x, is_last = which + 1 == range.y;

        float4 g[CLASSES][REGISTERS], steep[CLASSES][REGISTERS];
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
#pragma unroll
            for (int r = 0; r < REGISTERS; r++)
                g[c][r] = steep[c][r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float ahead[AHEAD][CLASSES][REGISTERS];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            load(ahead[k], lane_d, column_of(member, scratch.steps[k]));
        unsigned place = scratch.steps[0].first_event;
        int window = own.windows[0];
        // (On a path that is not the first these bins have the sums of those before.)
        if (is_first)
            clear_bins(plan, tof, course, 0, window, bins);
#pragma unroll 1
        for (int s = 0;; s++) {
#pragma unroll 1
            for (const int open = own.windows[s]; window < open; window++)
                close_bin<CHECKED>(PLAN, TOF, course, path, scratch, own, g, steep, window, place, num_steps, is_first, is_last,
                                   measured, bins, is_marked_set);
            if (s == num_steps)
                break;
            float now[CLASSES][REGISTERS];
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
#pragma unroll
                for (int r = 0; r < REGISTERS; r++) {
                    now[c][r] = ahead[0][c][r];
#pragma unroll
                    for (int k = 1; k < AHEAD; k++)
                        ahead[k - 1][c][r] = ahead[k][c][r];
                }
            load(ahead[AHEAD - 1], lane_d, column_of(member, scratch.steps[s + AHEAD]));
            const float4 weights = own.flat[s], more = own.steep[s];
            const unsigned end = scratch.steps[s + 1].first_event;
#pragma unroll 1
            for (; place < end; place += sizeof(Event)) {
                const Event event = event_at(place);
                float4 part = weights;
                add_scaled(&part, event.steepness, more);
                // The slots of an event are apart: all are read before the first is written.
                float4 sums[CLASSES][REGISTERS];
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++) {
                        // (What other lanes read goes nowhere.)
                        const int at = is_in(event.spans[c], lane + WARP * r) ? event.bases[c] + 4 * OPEN * WARP * r : 0;
                        float4 sum = *(const float4 *)((const unsigned char *)lane_slots + at);
                        add_scaled(&sum, event.fraction * now[c][r], part);
                        add_scaled(&sum, event.steepness, steep[c][r]);
                        add_scaled(&sum, 1.0f, g[c][r]);
                        sums[c][r] = sum;
                    }
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++)
                        store_if(is_in(event.spans[c], lane + WARP * r),
                                 (float4 *)((unsigned char *)lane_slots + event.bases[c]) + WARP * r, sums[c][r]);
                // At the next event another lane may hold the same plane.
                __syncwarp();
            }
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
#pragma unroll
                for (int r = 0; r < REGISTERS; r++) {
                    add_scaled(&g[c][r], now[c][r], weights);
                    add_scaled(&steep[c][r], now[c][r], more);
                }
        }
        if (is_first)
            clear_bins(plan, tof, course, window, course.num_bins, bins);
    }
}

extern "C" __global__ void BOUNDS forward(TABLES, TOF_TABLES, const float *d, float *bins, unsigned first_set)
{
    project<false>(PLAN, TOF, d, bins, bins, 0, first_set);
}

extern "C" __global__ void BOUNDS checked(TABLES, TOF_TABLES, const float *d, const float *measured, float *bins,
                                          unsigned *is_marked_set, unsigned first_set)
{
    project<true>(PLAN, TOF, d, measured, bins, is_marked_set, first_set);
}

// A lane's part of the sum of length x weight x value over the voxels that plane k of a group meets, for bin j: every 32nd step of
// the path, in f64 (plain_integral of axial_runs.cuh).
__device__ __forceinline__ double plain_integral(const Plan &plan, const Path &path, const Pass &pass, const Group &group, int k,
                                                 float steepness, int j, const Scratch &scratch, const TofScratch &own,
                                                 int num_steps, const float *x, const Member &member, int lane)
{
    const int rise = group.sign < 0.0f ? -1 : 1;
    double sum = 0.0;
    for (int s = lane; s < num_steps; s += WARP) {
        const Step step = scratch.steps[s];
        const int window = own.windows[s];
        if (!(step.length > 0.0f) || j < window || j >= window + OPEN)
            continue;
        const float weight = (component(own.flat[s], j % OPEN) + steepness * component(own.steep[s], j % OPEN)) / step.length;
        const float *const column = x + column_of(member, step);
        const double2 ends = ends_of(path, step);
        // Crossing number i lies at tau_i lor - start. The first one beyond the step's begin.
        int i = 0;
        if (pass.num_crossings > 0) {
            const double tau = (ends.x + path.start_mm) / path.lor_mm;
            i = min(max((int)ceil((tau - pass.first_tau) / pass.tau_step), 0), pass.num_crossings);
        }
        double from = ends.x;
        while (from < ends.y) {
            double to = ends.y;
            if (i < pass.num_crossings)
                to = fmin(to, fmax(from, (pass.first_tau + i * pass.tau_step) * path.lor_mm - path.start_mm));
            sum += (to - from) * weight * value_at(plan, column, group.first_row + rise * i + CLASSES * k);
            from = to;
            i++;
        }
    }
    return sum;
}

// Adds up the marked bins of a course of the marked ones of `num_sets` sets again (plain of axial_runs.cuh). The marks of sets
// stay until all courses have seen them.
extern "C" __global__ void BOUNDS plain(TABLES, TOF_TABLES, const float *x, float *bins, const unsigned *is_marked_set,
                                        unsigned first_set, unsigned num_sets)
{
    Course course;
    const Thread &thread = course.thread;
    const int lane = thread.lane;
    course.number = blockIdx.y;
    course.num_bins = num_bins_of(tof, course.number);
    const unsigned first = first_set + blockIdx.x, end = first_set + num_sets;
    bool has_marked = false;
    for (unsigned set = first + thread.number * gridDim.x; set < end; set += thread.count * gridDim.x)
        has_marked = has_marked || is_marked_set[set] != 0;
    if (!__syncthreads_or(has_marked))
        return;
    const Scratch scratch(plan, thread.warp);
    const TofScratch own(plan, tof, thread.warp);
    for (unsigned set = first; set < end; set += gridDim.x) {
        if (!is_marked_set[set])
            continue;
        const Member member = course.member = members[set * blockDim.y + thread.warp];
        const float *const seen = x + (member.lor != NO_ENTRY ? member.first : 0);
        const uint2 range = set_paths[set];
        for (unsigned which = range.x; which < range.y; which++) {
            const Path path = paths[which];
            const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, thread);
            set_up_tof(plan, tof, path, groups, records, record_rises, record_spans, num_steps, course.number, scratch, own, thread);
            if (member.lor == NO_ENTRY)
                continue;
#pragma unroll 1
            for (int j = 0; j < course.num_bins; j++) {
                if (!(is_marked_set[set] & mark_of(j)))
                    continue;
                float *const out = bins + bins_of(plan, tof, member, course.number, j);
#pragma unroll 1
                for (int row = 0; row < plan.num_planes; row += WARP) {
                    const int own_plane = row + lane;
                    const float before = own_plane < plan.num_planes ? out[plane_of(member, reversed, own_plane)] : 0.0f;
#pragma unroll 1
                    for (unsigned left = __ballot_sync(FULL, is_marked(before)); left != 0; left &= left - 1) {
                        const int which_lane = __ffs(left) - 1, plane = row + which_lane;
                        double total = 0.0;
                        for (int layer = 0; layer < plan.num_layers; layer++) {
                            const unsigned entry = outputs[layer * plan.num_planes + plane];
                            if (entry == NO_ENTRY)
                                continue;
                            const int g = entry >> 16;
                            const Group group = groups[g];
                            total += scratch.groups[g].scale *
                                     plain_integral(plan, path, passes[group.pass], group, (int)(entry & 0xffffu) - group.slot,
                                                    own.group_steepness[g], j, scratch, own, num_steps, seen, member, lane);
                        }
                        for (int distance = WARP / 2; distance > 0; distance /= 2)
                            total += __shfl_xor_sync(FULL, total, distance);
                        if (lane == which_lane) {
                            const float sum = (float)total + (isinf(before) ? 0.0f : -before);
                            out[plane_of(member, reversed, own_plane)] = which + 1 == range.y ? sum : -sum;
                        }
                    }
                }
            }
        }
    }
}

// What the open bins bring to a lane's rows: through the crossings passed (rows), and in the rows in which the planes end; and the
// same times the steepness of the lines.
struct Rows {
    float4 rows[CLASSES][REGISTERS], steep_rows[CLASSES][REGISTERS];
    float4 ends[CLASSES][REGISTERS], steep_ends[CLASSES][REGISTERS];
};

// Where the planes of one group of a pass end, from an event on: the address of lane 0 in the slots, in bytes; the lanes with a
// plane, and above them (16 bits) their class; the sign of their crossings, and the same times the steepness of their lines.
struct __align__(16) EndNow {
    int base;
    unsigned span_and_class;
    float sign;
    float steepness;
};

// Begins bin j of a course, on the way back, in front of an event.
__device__ __forceinline__ void open_bin(TABLES, TOF_TABLES, const Course &course, const Scratch &scratch, const TofScratch &own,
                                         Rows *sums, int j, unsigned place, const float *bins)
{
    const int a = j % OPEN, lane = course.thread.lane;
    const float *const in = bins + bins_of(plan, tof, course.member, course.number, j);
    __syncwarp();
#pragma unroll 1
    for (int first = lane; first < plan.num_planes; first += BATCH * WARP) {
        float values[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; b++)
            values[b] = in[plane_of(course.member, reversed, min(first + WARP * b, plan.num_planes - 1))];
#pragma unroll 1
        for (int layer = 0; layer < plan.num_layers; layer++) {
            unsigned entries[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; b++) {
                const int plane = first + WARP * b;
                entries[b] = plane < plan.num_planes ? outputs[layer * plan.num_planes + plane] : NO_ENTRY;
            }
#pragma unroll
            for (int b = 0; b < BATCH; b++)
                if (entries[b] != NO_ENTRY)
                    scratch.slots[OPEN * (entries[b] & 0xffffu) + a] = scratch.groups[entries[b] >> 16].signed_scale * values[b];
        }
    }
    __syncwarp();
    float ends[CLASSES][REGISTERS], steep_ends[CLASSES][REGISTERS];
#pragma unroll
    for (int c = 0; c < CLASSES; c++)
#pragma unroll
        for (int r = 0; r < REGISTERS; r++)
            ends[c][r] = steep_ends[c][r] = 0.0f;
    const unsigned event = (place - scratch.place_of(0)) / (unsigned)sizeof(Event);
    const unsigned short *const passed = ranks + (size_t)event * plan.num_passes;
    const float *const lane_slots = scratch.slots + OPEN * lane + a;
    // Each lane looks one end up for all. On the way back nobody else needs the place of the ends.
    EndNow *const found = (EndNow *)scratch.ends;
    const int at_once = min(WARP, 2 * CLASSES * plan.lanes * (int)sizeof(float) / (int)sizeof(EndNow));
    const int num_ends = CLASSES * plan.num_passes;
#pragma unroll 1
    for (int first = 0; first < num_ends; first += at_once) {
        const int count = min(num_ends - first, at_once);
        if (lane < count) {
            const int pass = (first + lane) / CLASSES, m = (first + lane) % CLASSES;
            const int row = passes[pass].first_end + passed[pass];
            const End end = pass_ends[row];
            const uint2 spans = end_spans[row];
            const unsigned both[2] = {spans.x, spans.y}, flags = end.flags >> (4 * m);
            // The slots hold the bins with the sign of their crossings, which the ends have not.
            const float sign = flags & 8u ? (flags & 4u ? -1.0f : 1.0f) : 0.0f;
            const EndNow now = {OPEN * (int)(short)unpacked(end.bases, m), unpacked(both, m) | (flags & 3u) << 16, sign,
                                sign * own.pass_steepness[pass]};
            found[lane] = now;
        }
        __syncwarp();
#pragma unroll 4
        for (int i = 0; i < count; i++) {
            const EndNow end = found[i];
            const unsigned span = end.span_and_class & 0xffffu, of_class = end.span_and_class >> 16;
            const float *const slots = (const float *)((const unsigned char *)lane_slots + end.base);
#pragma unroll
            for (int r = 0; r < REGISTERS; r++) {
                const float value = is_in(span, lane + WARP * r) ? slots[OPEN * WARP * r] : 0.0f;
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
                    if (CLASSES == 1 || of_class == c) {
                        ends[c][r] += end.sign * value;
                        steep_ends[c][r] += end.steepness * value;
                    }
            }
        }
        __syncwarp();
    }
#pragma unroll
    for (int c = 0; c < CLASSES; c++)
#pragma unroll
        for (int r = 0; r < REGISTERS; r++) {
            set_component(&sums->rows[c][r], a, 0.0f);
            set_component(&sums->steep_rows[c][r], a, 0.0f);
            set_component(&sums->ends[c][r], a, ends[c][r]);
            set_component(&sums->steep_ends[c][r], a, steep_ends[c][r]);
        }
}

// image += A^T bins for the LORs of sets first_set ..., a course for each y of the grid.
template <typename Adder>
__device__ __forceinline__ void backproject(TABLES, TOF_TABLES, const float *bins, const Adder &image, unsigned first_set)
{
    Course course;
    const int lane = course.thread.lane;
    course.set = first_set + blockIdx.x;
    course.number = blockIdx.y;
    course.num_bins = num_bins_of(tof, course.number);
    const Member member = course.member = members[course.set * blockDim.y + course.thread.warp];
    const bool is_there = member.lor != NO_ENTRY;
    const Scratch scratch(plan, course.thread.warp);
    const TofScratch own(plan, tof, course.thread.warp);
    float *const lane_slots = scratch.slots + OPEN * lane;
    // This lane's voxels in the first column of the LOR, where its places are voxels.
    bool is_voxel[CLASSES][REGISTERS];
    Adder voxels[CLASSES];
#pragma unroll
    for (int c = 0; c < CLASSES; c++) {
        voxels[c] = image.from((is_there ? member.first : 0) + c * plan.lanes + lane);
#pragma unroll
        for (int r = 0; r < REGISTERS; r++) {
            const int z = CLASSES * (plan.first_k + lane + WARP * r) + c;
            is_voxel[c][r] = lane + WARP * r < plan.lanes && z >= 0 && z < plan.nz;
        }
    }
    const uint2 range = set_paths[course.set];
    for (unsigned which = range.x; which < range.y; which++) {
        const Path path = paths[which];
        const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, course.thread);
        set_up_tof(plan, tof, path, groups, records, record_rises, record_spans, num_steps, course.number, scratch, own, course.thread);
        if (!is_there)
            continue;
        Rows sums;
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
#pragma unroll
            for (int r = 0; r < REGISTERS; r++)
                sums.rows[c][r] = sums.steep_rows[c][r] = sums.ends[c][r] = sums.steep_ends[c][r] =
                    make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        unsigned place = scratch.steps[num_steps].first_event;
        // Bins from here on are open.
        int window = own.windows[num_steps];
#pragma unroll 1
        for (int s = num_steps - 1; s >= 0; s--) {
#pragma unroll 1
            for (const int open = own.windows[s]; window > open;)
                open_bin(PLAN, TOF, course, scratch, own, &sums, --window, place, bins);
            const Step step = scratch.steps[s];
            const int column = column_of(member, step);
            const float4 weights = own.flat[s], more = own.steep[s];
            float values[CLASSES][REGISTERS];
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
#pragma unroll
                for (int r = 0; r < REGISTERS; r++)
                    values[c][r] = dot(weights, sums.rows[c][r]) + dot(more, sums.steep_rows[c][r]);
#pragma unroll 1
            while (place > step.first_event) {
                place -= sizeof(Event);
                const Event event = event_at(place);
                float4 part = weights;
                add_scaled(&part, event.steepness, more);
#pragma unroll
                for (int c = 0; c < CLASSES; c++) {
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++) {
                        const float4 value = slots_at(is_in(event.spans[c], lane + WARP * r), lane_slots, event.bases[c], r);
                        values[c][r] += event.fraction * dot(part, value);
                        add_scaled(&sums.rows[c][r], 1.0f, value);
                        add_scaled(&sums.steep_rows[c][r], event.steepness, value);
                    }
                }
            }
#pragma unroll
            for (int r = 0; r < REGISTERS; r++) {
                // The row below the first class is the last class, one lane on.
                float below = __shfl_up_sync(FULL, values[CLASSES - 1][r], 1);
                const float last = r > 0 ? __shfl_sync(FULL, values[CLASSES - 1][r > 0 ? r - 1 : 0], WARP - 1) : 0.0f;
                below = lane == 0 ? last : below;
#pragma unroll
                for (int c = 0; c < CLASSES; c++) {
                    const float ended = dot(weights, sums.ends[c][r]) + dot(more, sums.steep_ends[c][r]);
                    const float value = ended + (values[c][r] - below);
                    below = values[c][r];
                    voxels[c].add(is_voxel[c][r], column + WARP * r, value);
                }
            }
        }
    }
}

#define BACKPROJECT backproject(PLAN, TOF, bins, adder, first_set)

extern "C" __global__ void BOUNDS atomic(TABLES, TOF_TABLES, const float *bins, float *image, unsigned first_set)
{
    const Atomic adder = {image};
    BACKPROJECT;
}

extern "C" __global__ void BOUNDS non_atomic(TABLES, TOF_TABLES, const float *bins, float *image, unsigned first_set)
{
    const NonAtomic adder = {image};
    BACKPROJECT;
}

extern "C" __global__ void BOUNDS fixed(TABLES, TOF_TABLES, const float *bins, unsigned long long *image, float scale,
                                        unsigned first_set)
{
    const Fixed adder = {image, scale};
    BACKPROJECT;
}
