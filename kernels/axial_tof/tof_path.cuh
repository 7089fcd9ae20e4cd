// What a block prepares for time of flight after axial_path.cuh, in either direction: the weights of the steps of its path, and the
// shared memory that they lie in. Included by the files axial_tof_C_R.cu before axial_tof.cuh.

#define OPEN SLOT_VALUES

// What all LORs have in common with regard to time of flight.
struct Tof {
    // 1/mm.
    double per_sigma;
    // Where the kernel ends, sigma, and half of the inverse of what is within.
    double reach;
    double half_inverse;
    double width_mm;
    float max_rise_mm;
    int num_bins;
    int interleave;
    // 0 where the weights of lines in the plane are those of all, else 1.
    int has_steepness;
    // Where its part of a block's shared memory begins, and that of a warp's.
    int block_bytes;
    int warp_bytes;
};

// Number of bins of a course.
__device__ __forceinline__ int num_bins_of(const Tof &tof, int course)
{
    return (tof.num_bins - course + tof.interleave - 1) / tof.interleave;
}

// Shared memory beyond that of axial_path.cuh; the same sizes as `shared_bytes` in src/engine/cuda/axial_plan.rs.
struct TofScratch {
    // For each step its length times the weights of the open bins: of lines in the plane, and of the steepest one less those.
    float4 *flat;
    float4 *steep;
    // For each step the number of the first bin that is open.
    int *windows;
    // What groups have of the steepest line's weights, and passes.
    float *group_steepness;
    float *pass_steepness;
    // Of this warp alone. For each group the row in which it ends after the present step, less CLASSES x slot.
    int *end_offsets;
    // For each bin what its rounding is at most.
    float *bounds;

    __device__ TofScratch(const Plan &plan, const Tof &tof, int warp)
    {
        const int steps = plan.max_steps + 2 * AHEAD;
        flat = (float4 *)(memory + tof.block_bytes);
        steep = flat + steps;
        windows = (int *)(steep + steps);
        group_steepness = (float *)(windows + steps);
        pass_steepness = group_steepness + plan.num_groups;
        end_offsets = (int *)(memory + plan.block_bytes + (size_t)warp * plan.warp_bytes + tof.warp_bytes);
        bounds = (float *)(end_offsets + plan.num_groups);
    }
};

__device__ __forceinline__ float component(const float4 &values, int a)
{
    return a == 0 ? values.x : a == 1 ? values.y : a == 2 ? values.z : values.w;
}

__device__ __forceinline__ void set_component(float4 *values, int a, float value)
{
    values->x = a == 0 ? value : values->x;
    values->y = a == 1 ? value : values->y;
    values->z = a == 2 ? value : values->z;
    values->w = a == 3 ? value : values->w;
}

// sum += scale x values
__device__ __forceinline__ void add_scaled(float4 *sum, float scale, const float4 &values)
{
    sum->x += scale * values.x;
    sum->y += scale * values.y;
    sum->z += scale * values.z;
    sum->w += scale * values.w;
}

__device__ __forceinline__ float dot(const float4 &x, const float4 &y)
{
    return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}

// *slot = values, where it is asked for.
__device__ __forceinline__ void store_if(bool is_asked, float4 *slot, const float4 &values)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.shared.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"((int)is_asked),
                 "r"((unsigned)__cvta_generic_to_shared(slot)), "f"(values.x), "f"(values.y), "f"(values.z), "f"(values.w)
                 : "memory");
}

// Whether a lane's place is one of a span's.
__device__ __forceinline__ bool is_in(unsigned span, int place) { return (unsigned)place - (span & 0xffu) < span >> 8; }

// The slots of a lane's place, where it is asked for, else nothing.
__device__ __forceinline__ float4 slots_at(bool is_asked, const float *lane_slots, int base, int r)
{
    return is_asked ? *(const float4 *)((const unsigned char *)lane_slots + base + 4 * OPEN * WARP * r)
                    : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// The part of the events from l that come to lie between low and high. The distances are taken in f64: far from the axis a place
// has few digits left. The tails on the outer side: there a weight is a small difference, and erf is 1 to the last digit.
__device__ __forceinline__ float within(const Tof &tof, double low_mm, double high_mm, double l_mm)
{
    const float low = (float)fmin(fmax((low_mm - l_mm) * tof.per_sigma, -tof.reach), tof.reach);
    const float high = (float)fmin(fmax((high_mm - l_mm) * tof.per_sigma, -tof.reach), tof.reach);
    const float tails[2] = {erfcf(0.70710678f * fabsf(low)), erfcf(0.70710678f * fabsf(high))};
    const bool is_across = low < 0.0f && high > 0.0f;
    return (float)tof.half_inverse * (is_across ? 2.0f - tails[0] - tails[1] : fabsf(tails[0] - tails[1]));
}

// s - 1 of a line, which is s times as long as its path.
__device__ __forceinline__ float secant_less_one(float rise_mm, float lor_mm)
{
    const float slope = rise_mm / lor_mm, squared = slope * slope;
    return squared / (1.0f + sqrtf(1.0f + squared));
}

// Where no event lies on the path the steps have none, behind those before the path.
__device__ __forceinline__ void pass_events(const Plan &plan, const Path &path, const Record *records, int num_steps,
                                            const Scratch &scratch, const Thread &thread)
{
    if (scratch.last[0] >= 0)
        return;
    const Locator locator(path, num_steps);
    int low = 0, high = plan.num_records;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (locator.at_mm(records[middle].tau) > 0.0f)
            high = middle;
        else
            low = middle + 1;
    }
    for (int s = thread.number; s < num_steps + 2 * AHEAD; s += thread.count)
        scratch.steps[s].first_event = scratch.place_of(low);
}

// Weights of each step, and what each group, pass and event has of the steepest line's.
__device__ __forceinline__ void set_up_tof(const Plan &plan, const Tof &tof, const Path &path, const Group *groups,
                                           const Record *records, const float *record_rises, const uint2 *record_spans, int num_steps, int course, const Scratch &scratch,
                                           const TofScratch &own, const Thread &thread)
{
    pass_events(plan, path, records, num_steps, scratch, thread);
    const float lor_mm = (float)path.lor_mm;
    const float steepest = tof.has_steepness ? secant_less_one(tof.max_rise_mm, lor_mm) : 0.0f;
    const float per_steepest = tof.has_steepness ? 1.0f / steepest : 0.0f;
    const int num_bins = num_bins_of(tof, course);
#pragma unroll 1
    for (int s = thread.number; s < num_steps + 2 * AHEAD; s += thread.count) {
        const Step step = scratch.steps[min(s, num_steps - 1)];
        const double2 ends = ends_of(path, step);
        const double middle_mm = path.start_mm - 0.5 * path.lor_mm + 0.5 * (ends.x + ends.y);
        const double steep_mm = middle_mm + steepest * middle_mm;
        const double first_mm = fmin(middle_mm, steep_mm) - tof.reach / tof.per_sigma;
        // The first bin whose end is in reach.
        const double end = first_mm / tof.width_mm + 0.5 * tof.num_bins - 1.0 - course;
        int window = min(max((int)floor(end / tof.interleave) + 1, 0), num_bins);
        float4 flat = make_float4(0.0f, 0.0f, 0.0f, 0.0f), steep = flat;
        const float length = s < num_steps ? step.length : 0.0f;
        for (int j = window; j < min(window + OPEN, num_bins); j++) {
            const double low = (course + j * tof.interleave - 0.5 * tof.num_bins) * tof.width_mm, high = low + tof.width_mm;
            const float in_plane = within(tof, low, high, middle_mm);
            set_component(&flat, j % OPEN, length * in_plane);
            if (tof.has_steepness)
                set_component(&steep, j % OPEN, length * (within(tof, low, high, steep_mm) - in_plane));
        }
        // Behind the path all bins are closed.
        if (s >= num_steps)
            window = min(window + OPEN, num_bins);
        own.flat[s] = flat;
        own.steep[s] = steep;
        own.windows[s] = window;
    }
#pragma unroll 1
    for (int g = thread.number; g < plan.num_groups; g += thread.count) {
        const float steepness = secant_less_one(groups[g].rise_mm, lor_mm) * per_steepest;
        own.group_steepness[g] = steepness;
        // (All groups of a pass rise or fall by the same.)
        own.pass_steepness[groups[g].pass] = steepness;
    }
#pragma unroll 1
    for (int r = thread.number; r < plan.num_records; r += thread.count) {
        const Record record = records[r];
        const uint2 spans = record_spans[r];
        const unsigned both[2] = {spans.x, spans.y};
        scratch.events[r].steepness = secant_less_one(record_rises[r], lor_mm) * per_steepest;
#pragma unroll
        for (int c = 0; c < CLASSES; c++) {
            scratch.events[r].bases[c] = OPEN * (int)(short)unpacked(record.bases, c);
            scratch.events[r].spans[c] = unpacked(both, c);
        }
    }
    __syncthreads();
}

// The rows in which the groups end before an event.
__device__ __forceinline__ void find_ends(const Plan &plan, const Group *groups, const unsigned short *ranks, unsigned place,
                                          const Scratch &scratch, const TofScratch &own, int lane)
{
    const unsigned event = (place - scratch.place_of(0)) / (unsigned)sizeof(Event);
    const unsigned short *const passed = ranks + (size_t)event * plan.num_passes;
#pragma unroll 2
    for (int g = lane; g < plan.num_groups; g += WARP) {
        const Group group = groups[g];
        own.end_offsets[g] =
            group.first_row + (group.sign < 0.0f ? -1 : 1) * (int)passed[group.pass] - CLASSES * group.slot;
    }
}

// C of component a of each z, the sum of G over z and all above, into ends; returns a lane's largest.
__device__ __forceinline__ float sum_up(const float4 g[CLASSES][REGISTERS], int a, const Plan &plan, float *ends, int lane)
{
    float above = 0.0f, largest = 0.0f;
#pragma unroll
    for (int r = REGISTERS - 1; r >= 0; r--) {
        const bool is_used = lane + WARP * r < plan.lanes;
        float sum = 0.0f;
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
            sum += component(g[c][r], a);
        float from_here = is_used ? sum : 0.0f;
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
            value += component(g[c][r], a);
            if (is_used)
                ends[(lane + WARP * r) * CLASSES + c] = value;
            largest = fmaxf(largest, value);
        }
        above += __shfl_sync(FULL, from_here, 0);
    }
    return largest;
}

// Where the bins of a LOR lie: those of bin j of a course, which other way round is another one.
__device__ __forceinline__ unsigned long long bins_of(const Plan &plan, const Tof &tof, const Member &member, int course, int j)
{
    const int bin = course + j * tof.interleave;
    const int seen = member.is_reversed ? tof.num_bins - 1 - bin : bin;
    return ((unsigned long long)member.lor * tof.num_bins + seen) * plan.num_planes;
}
