// The axial-run projector: Siddon at the price of axial crossings. The definition, with its derivation, is
// src/engine/operator/axial_runs/; the tables are laid out in src/engine/cuda/axial_plan.rs. The files axial_runs_C_R.cu compile this,
// after axial_path.cuh, for images with CLASSES = C classes of z and REGISTERS = R values of each class in a lane.
//
// A block has a warp for each transaxial LOR of a set of mirror images, whose common path it prepares once. A warp walks its
// LOR for all of its planes. Lanes are voxels along z: of each class z = c (mod CLASSES) a
// lane holds REGISTERS values, 32 places apart. Walking along the in-plane path, a lane keeps
//
//   forward   G_z, the integral of x_z - x_{z+1} up to the present step; where a plane crosses a voxel face in z (an
//             event), the interpolated G is added to the plane's sum;
//   back      the adjoint from the path's end: the sum of what the planes bring to z over the events passed.
//
// The bins of all planes lie in shared memory, each group of planes with room on both sides ("slots"), so that an event
// is one address for all lanes: lanes whose z no plane of the group has touch the room between the groups.

// Some steps ahead: a lane's values of their columns, their lengths and their first events.
struct Ahead {
    float values[AHEAD][CLASSES][REGISTERS];
    float lengths[AHEAD];
    unsigned first_events[AHEAD];

    // `d`: this lane's values in the first column of the LOR.
    __device__ __forceinline__ void load(const float *const d[REGISTERS], const Step *steps, const Member &member)
    {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const Step step = steps[k];
            lengths[k] = step.length;
            first_events[k] = step.first_event;
            const int column = column_of(member, step);
#pragma unroll
            for (int r = 0; r < REGISTERS; r++) {
                union {
                    typename Classes<CLASSES>::Type all;
                    float each[CLASSES];
                } value;
                value.all = *(const typename Classes<CLASSES>::Type *)(d[r] + column);
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
                    values[k][c][r] = value.each[c];
            }
        }
    }
};

// bins = A x for the LORs of sets first_set ...; d is the difference of x along z. CHECKED, of an image without negative values:
// no bin is below 0; where counts were measured and the bin may be rounding alone, it and its set are marked.
template <bool CHECKED>
__device__ __forceinline__ void project(TABLES, const float *d, const float *measured, float *bins, unsigned *is_marked_set,
                                        unsigned first_set)
{
    const Thread thread;
    const int lane = thread.lane;
    const unsigned set = first_set + blockIdx.x;
    const Member member = members[set * blockDim.y + thread.warp];
    const bool is_there = member.lor != NO_ENTRY;
    const Scratch scratch(plan, thread.warp);
    float *const lane_slots = scratch.slots + lane;
    // Lanes without a place read the last one's values, which come to nothing.
    bool is_used[REGISTERS];
    const float *lane_d[REGISTERS];
#pragma unroll
    for (int r = 0; r < REGISTERS; r++) {
        is_used[r] = lane + WARP * r < plan.lanes;
        lane_d[r] = kept(d + (is_there ? member.first : 0) + CLASSES * min(lane + WARP * r, plan.lanes - 1));
    }
    float *const out = bins + (unsigned long long)member.lor * plan.num_planes;
    const uint2 range = set_paths[set];
    if (range.x == range.y && is_there)
#pragma unroll 1
        for (int plane = lane; plane < plan.num_planes; plane += WARP)
            out[plane] = 0.0f;
    // What the rounding of a bin is at most: (steps + crossings) 2^-24 times the LOR's largest row integral.
    float bound = 0.0f;
    for (unsigned which = range.x; which < range.y; which++) {
        const Path path = paths[which];
        const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, thread);
        if (!is_there)
            continue;

        float g[CLASSES][REGISTERS];
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
#pragma unroll
            for (int r = 0; r < REGISTERS; r++)
                g[c][r] = 0.0f;
        Ahead ahead;
        ahead.load(lane_d, scratch.steps, member);
        unsigned place = ahead.first_events[0];
#pragma unroll 1
        for (int first = 0; first < num_steps; first += AHEAD) {
            float now[AHEAD][CLASSES][REGISTERS];
            unsigned ends[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (k > 0)
                    ends[k - 1] = ahead.first_events[k];
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++)
                        now[k][c][r] = ahead.lengths[k] * ahead.values[k][c][r];
            }
            ahead.load(lane_d, scratch.steps + first + AHEAD, member);
            ends[AHEAD - 1] = ahead.first_events[0];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const unsigned end = ends[k];
#pragma unroll 1
                for (; place < end; place += sizeof(Event)) {
                    const Event event = event_at(place);
                    // The slots of an event are apart: all are read before the first is written.
                    float sums[CLASSES][REGISTERS];
#pragma unroll
                    for (int c = 0; c < CLASSES; c++)
#pragma unroll
                        for (int r = 0; r < REGISTERS; r++)
                            sums[c][r] = slot_at(lane_slots, event.bases[c])[WARP * r] +
                                         (g[c][r] + event.fraction * now[k][c][r]);
#pragma unroll
                    for (int c = 0; c < CLASSES; c++)
#pragma unroll
                        for (int r = 0; r < REGISTERS; r++)
                            store_if(is_used[r], slot_at(lane_slots, event.bases[c]) + WARP * r, sums[c][r]);
                    // At the next event another lane may hold the same plane.
                    __syncwarp();
                }
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++)
                        g[c][r] += now[k][c][r];
            }
        }
        __syncwarp();

        // C_z at the path's end is the sum of G over z and all above.
        float above = 0.0f, largest = 0.0f;
#pragma unroll
        for (int r = REGISTERS - 1; r >= 0; r--) {
            float sum = 0.0f;
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                sum += g[c][r];
            float from_here = is_used[r] ? sum : 0.0f;
#pragma unroll
            for (int distance = 1; distance < WARP; distance *= 2) {
                const float other = __shfl_down_sync(FULL, from_here, distance);
                if (lane + distance < WARP)
                    from_here += other;
            }
            const float next = __shfl_down_sync(FULL, from_here, 1);
            float value = above + (lane + 1 < WARP ? next : 0.0f);
#pragma unroll
            for (int c = CLASSES - 1; c >= 0; c--) {
                value += g[c][r];
                if (lane + WARP * r < plan.lanes)
                    scratch.ends[(lane + WARP * r) * CLASSES + c] = value;
                if (CHECKED)
                    largest = fmaxf(largest, value);
            }
            above += __shfl_sync(FULL, from_here, 0);
        }
        __syncwarp();
        if (CHECKED) {
#pragma unroll
            for (int distance = WARP / 2; distance > 0; distance /= 2)
                largest = fmaxf(largest, __shfl_xor_sync(FULL, largest, distance));
            bound += path.rounding * (float)(num_steps + plan.max_crossings) * largest;
        }
        const bool is_last = which + 1 == range.y;

#pragma unroll 1
        for (int plane = lane; plane < plan.num_planes; plane += WARP) {
            float *const bin = out + plane_of(member, reversed, plane);
            float sum = which == range.x ? 0.0f : *bin;
#pragma unroll 1
            for (int layer = 0; layer < plan.num_layers; layer++) {
                const unsigned entry = outputs[layer * plan.num_planes + plane];
                if (entry == NO_ENTRY)
                    continue;
                const int slot = entry & 0xffffu;
                const GroupNow group = scratch.groups[entry >> 16];
                const int z = group.end_offset + CLASSES * slot;
                sum += group.signed_scale * scratch.slots[slot];
                if (z >= 0 && z < plan.nz)
                    sum += group.scale * scratch.ends[z - CLASSES * plan.first_k];
            }
            if (CHECKED && is_last && sum < bound) {
                const bool is_doubtful = measured[bin - bins] > 0.0f;
                if (is_doubtful)
                    is_marked_set[set] = 1;
                sum = is_doubtful ? -INFINITE : sum > 0.0f ? sum : 0.0f;
            }
            *bin = sum;
        }
    }
}

#define PLAN plan, paths, set_paths, members, fov_rows, passes, groups, records, pass_ends, outputs, reversed

extern "C" __global__ void BOUNDS forward(TABLES, const float *d, float *bins, unsigned first_set)
{
    project<false>(PLAN, d, bins, bins, 0, first_set);
}

extern "C" __global__ void BOUNDS checked(TABLES, const float *d, const float *measured, float *bins,
                                          unsigned *is_marked_set, unsigned first_set)
{
    project<true>(PLAN, d, measured, bins, is_marked_set, first_set);
}

// A lane's part of the sum of length x value over the voxels that plane k of a group meets: every 32nd step of the path. In f64: a
// sliver of rounding in a hot voxel would be more than all of a cold row.
__device__ __forceinline__ double plain_integral(const Plan &plan, const Path &path, const Pass &pass, const Group &group, int k,
                                                 const Step *steps, int num_steps, const float *x, const Member &member,
                                                 int lane)
{
    const int rise = group.sign < 0.0f ? -1 : 1;
    double sum = 0.0;
    for (int s = lane; s < num_steps; s += WARP) {
        const Step step = steps[s];
        if (!(step.length > 0.0f))
            continue;
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
            sum += (to - from) * value_at(plan, column, group.first_row + rise * i + CLASSES * k);
            from = to;
            i++;
        }
    }
    return sum;
}

// A lane's part of a marked bin of a path: every 32nd step of each of the groups that the plane belongs to.
__device__ __forceinline__ double plain_sum(const Plan &plan, const Path &path, const Pass *passes, const Group *groups,
                                            const unsigned *outputs, const Scratch &scratch, int plane, int num_steps,
                                            const float *x, const Member &member, int lane)
{
    double sum = 0.0;
    for (int layer = 0; layer < plan.num_layers; layer++) {
        const unsigned entry = outputs[layer * plan.num_planes + plane];
        if (entry == NO_ENTRY)
            continue;
        const Group group = groups[entry >> 16];
        const int k = (int)(entry & 0xffffu) - group.slot;
        sum += scratch.groups[entry >> 16].scale *
               plain_integral(plan, path, passes[group.pass], group, k, scratch.steps, num_steps, x, member, lane);
    }
    return sum;
}

// Adds up the marked bins of the marked ones of `num_sets` sets again: length x value, voxel after voxel. All terms are >= 0, so that
// the rounding is relative to the bin. Between two paths a bin that is not done yet stays marked: it holds the sum so far, negative.
extern "C" __global__ void BOUNDS plain(TABLES, const float *x, float *bins, unsigned *is_marked_set, unsigned first_set,
                                        unsigned num_sets)
{
    const Thread thread;
    const int lane = thread.lane;
    const unsigned first = first_set + blockIdx.x, end = first_set + num_sets;
    // Mostly no set of a block is marked: its threads look at all of them at once.
    bool has_marked = false;
    for (unsigned set = first + thread.number * gridDim.x; set < end; set += thread.count * gridDim.x)
        has_marked = has_marked || is_marked_set[set] != 0;
    if (!__syncthreads_or(has_marked))
        return;
    const Scratch scratch(plan, thread.warp);
    for (unsigned set = first; set < end; set += gridDim.x) {
        if (!is_marked_set[set])
            continue;
        __syncthreads();
        if (thread.number == 0)
            is_marked_set[set] = 0;
        const Member member = members[set * blockDim.y + thread.warp];
        const bool is_there = member.lor != NO_ENTRY;
        const float *const own = x + (is_there ? member.first : 0);
        float *const out = bins + (unsigned long long)member.lor * plan.num_planes;
        const uint2 range = set_paths[set];
        for (unsigned which = range.x; which < range.y; which++) {
            const Path path = paths[which];
            const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, thread);
            if (!is_there)
                continue;
#pragma unroll 1
            for (int row = 0; row < plan.num_planes; row += WARP) {
                const int own_plane = row + lane;
                const float before = own_plane < plan.num_planes ? out[plane_of(member, reversed, own_plane)] : 0.0f;
#pragma unroll 1
                for (unsigned left = __ballot_sync(FULL, is_marked(before)); left != 0; left &= left - 1) {
                    const int which_lane = __ffs(left) - 1;
                    double total = plain_sum(plan, path, passes, groups, outputs, scratch, row + which_lane, num_steps, own, member,
                                             lane);
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

// image += A^T bins for the LORs of sets first_set ...
template <typename Adder>
__device__ __forceinline__ void backproject(TABLES, const float *bins, const Adder &image, unsigned first_set)
{
    const Thread thread;
    const int lane = thread.lane;
    const unsigned set = first_set + blockIdx.x;
    const Member member = members[set * blockDim.y + thread.warp];
    const bool is_there = member.lor != NO_ENTRY;
    const Scratch scratch(plan, thread.warp);
    float *const lane_slots = scratch.slots + lane;
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
    const float *const in = bins + (unsigned long long)member.lor * plan.num_planes;
    const uint2 range = set_paths[set];
    for (unsigned which = range.x; which < range.y; which++) {
        const Path path = paths[which];
        const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, thread);
        if (!is_there)
            continue;
#pragma unroll 1
        for (int plane = lane; plane < plan.num_planes; plane += WARP) {
            const float value = in[plane_of(member, reversed, plane)];
#pragma unroll 1
            for (int layer = 0; layer < plan.num_layers; layer++) {
                const unsigned entry = outputs[layer * plan.num_planes + plane];
                if (entry != NO_ENTRY)
                    scratch.slots[entry & 0xffffu] = scratch.groups[entry >> 16].signed_scale * value;
            }
        }
        __syncwarp();

        // What the planes bring in the rows in which they end, and what they bring through their crossings.
        float ends[CLASSES][REGISTERS], rows[CLASSES][REGISTERS];
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
#pragma unroll
            for (int r = 0; r < REGISTERS; r++)
                ends[c][r] = rows[c][r] = 0.0f;
#pragma unroll 1
        for (int p = 0; p < plan.num_passes; p++) {
            const End end = pass_ends[passes[p].first_end + scratch.passed[p]];
#pragma unroll
            for (int m = 0; m < CLASSES; m++) {
                const unsigned flags = end.flags >> (4 * m);
                const float *const slots = slot_at(lane_slots, unpacked(end.bases, m));
                // The slots hold the bins with the sign of their crossings, which the ends have not.
                const float sign = flags & 8u ? (flags & 4u ? -1.0f : 1.0f) : 0.0f;
#pragma unroll
                for (int r = 0; r < REGISTERS; r++) {
                    const float value = sign * slots[WARP * r];
#pragma unroll
                    for (int c = 0; c < CLASSES; c++)
                        ends[c][r] += (flags & 3u) == c ? value : 0.0f;
                }
            }
        }

        // Several steps at a time; those behind the last have no length.
        unsigned place = scratch.steps[num_steps].first_event;
#pragma unroll 1
        for (int first = (num_steps - 1) / AHEAD * AHEAD; first >= 0; first -= AHEAD) {
#pragma unroll
            for (int k = AHEAD - 1; k >= 0; k--) {
                const Step step = scratch.steps[first + k];
                const int column = column_of(member, step);
                float values[CLASSES][REGISTERS];
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++)
                        values[c][r] = rows[c][r];
#pragma unroll 1
                while (place > step.first_event) {
                    place -= sizeof(Event);
                    const Event event = event_at(place);
#pragma unroll
                    for (int c = 0; c < CLASSES; c++) {
                        const float *const slots = slot_at(lane_slots, event.bases[c]);
#pragma unroll
                        for (int r = 0; r < REGISTERS; r++) {
                            const float value = slots[WARP * r];
                            values[c][r] += event.fraction * value;
                            rows[c][r] += value;
                        }
                    }
                }
#pragma unroll
                for (int r = 0; r < REGISTERS; r++) {
                    // The row below the first class is the last class, one lane on.
                    float below = __shfl_up_sync(FULL, values[CLASSES - 1][r], 1);
                    const float last =
                        r > 0 ? __shfl_sync(FULL, values[CLASSES - 1][r > 0 ? r - 1 : 0], WARP - 1) : 0.0f;
                    below = lane == 0 ? last : below;
#pragma unroll
                    for (int c = 0; c < CLASSES; c++) {
                        const float value = step.length * (ends[c][r] + (values[c][r] - below));
                        below = values[c][r];
                        voxels[c].add(is_voxel[c][r], column + WARP * r, value);
                    }
                }
            }
        }
    }
}

#define BACKPROJECT backproject(PLAN, bins, adder, first_set)

extern "C" __global__ void BOUNDS atomic(TABLES, const float *bins, float *image, unsigned first_set)
{
    const Atomic adder = {image};
    BACKPROJECT;
}

extern "C" __global__ void BOUNDS non_atomic(TABLES, const float *bins, float *image, unsigned first_set)
{
    const NonAtomic adder = {image};
    BACKPROJECT;
}

extern "C" __global__ void BOUNDS fixed(TABLES, const float *bins, unsigned long long *image, float scale,
                                        unsigned first_set)
{
    const Fixed adder = {image, scale};
    BACKPROJECT;
}
