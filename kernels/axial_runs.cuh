// The axial-run projector: Siddon at the price of axial crossings. The definition, with its derivation, is
// src/operator/axial_runs/; the tables are laid out in src/cuda/axial_plan.rs. The files axial_runs_C_R.cu compile this,
// after axial_path.cuh, for images with CLASSES = C classes of z and REGISTERS = R values of each class in a lane.
//
// One warp walks one transaxial LOR for all of its planes. Lanes are voxels along z: of each class z = c (mod CLASSES) a
// lane holds REGISTERS values, 32 places apart. Walking along the in-plane path, a lane keeps
//
//   forward   G_z, the integral of x_z - x_{z+1} up to the present step; where a plane crosses a voxel face in z (an
//             event), the interpolated G is added to the plane's sum;
//   back      the adjoint from the path's end: the sum of what the planes bring to z over the events passed.
//
// The bins of all planes lie in shared memory, each group of planes with room on both sides ("slots"), so that an event
// is one address for all lanes: lanes whose z no plane of the group has touch the room between the groups.

// d_z = x_z - x_{z+1} for every column, x beyond the last z and below the first being zero.
extern "C" __global__ void difference(const float *x, float *d, int lanes, unsigned long long len)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= len)
        return;
    const int place = (int)(i % lanes);
    const int c = (int)(i / lanes % CLASSES);
    float above = 0.0f;
    if (c + 1 < CLASSES)
        above = x[i + lanes];
    else if (place + 1 < lanes)
        above = x[i - (unsigned long long)(CLASSES - 1) * lanes + 1];
    d[i] = x[i] - above;
}

// Where a lane finds its values of each class in the first column, and whether it has any.
struct Lane {
    int class_offsets[CLASSES];
    bool is_used[REGISTERS];

    __device__ Lane(const Plan &plan, int lane)
    {
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
            class_offsets[c] = c * plan.lanes + lane;
#pragma unroll
        for (int r = 0; r < REGISTERS; r++)
            is_used[r] = lane + WARP * r < plan.lanes;
    }
};

// A lane's values of the columns of the next steps.
__device__ __forceinline__ void load_steps(const float *d, const Step *steps, const Lane &lane,
                                           float values[AHEAD][CLASSES][REGISTERS])
{
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const unsigned column = steps[k].column;
#pragma unroll
        for (int c = 0; c < CLASSES; c++) {
            const float *const from = d + (column + lane.class_offsets[c]);
#pragma unroll
            for (int r = 0; r < REGISTERS; r++) {
                values[k][c][r] = 0.0f;
                if (lane.is_used[r])
                    values[k][c][r] = from[WARP * r];
            }
        }
    }
}

// Number in the whole scan of a transaxial LOR of the data.
__device__ __forceinline__ unsigned transaxial_of(const Plan &plan, unsigned lor)
{
    const unsigned view = plan.first_view + plan.view_step * (lor / plan.num_tangential);
    return view * plan.num_tangential + lor % plan.num_tangential;
}

#define TABLES                                                                                                         \
    const Plan plan, const Path *paths, const unsigned *lor_paths, const int2 *fov_rows, const Pass *passes,           \
        const Group *groups, const Record *records, const End *pass_ends, const unsigned *outputs

// bins = A x for the transaxial LORs first_lor ... of the data; d is the difference of x along z.
extern "C" __global__ void forward(TABLES, const float *d, float *bins, unsigned first_lor, unsigned num_lors)
{
    const int lane = threadIdx.x;
    const unsigned nth = blockIdx.x * blockDim.y + threadIdx.y;
    if (nth >= num_lors)
        return;
    const unsigned lor = first_lor + nth;
    const unsigned transaxial = transaxial_of(plan, lor);
    const Scratch scratch(plan, threadIdx.y);
    const Lane places(plan, lane);
    float *const lane_slots = scratch.slots + lane;
    float *const out = bins + (unsigned long long)lor * plan.num_planes;
    const unsigned first_path = lor_paths[transaxial], last_path = lor_paths[transaxial + 1];
    if (first_path == last_path)
#pragma unroll 1
        for (int plane = lane; plane < plan.num_planes; plane += WARP)
            out[plane] = 0.0f;
    for (unsigned which = first_path; which < last_path; which++) {
        const Path path = paths[which];
        const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, lane);

        float g[CLASSES][REGISTERS];
#pragma unroll
        for (int c = 0; c < CLASSES; c++)
#pragma unroll
            for (int r = 0; r < REGISTERS; r++)
                g[c][r] = 0.0f;
        float ahead[AHEAD][CLASSES][REGISTERS];
        load_steps(d, scratch.steps, places, ahead);
        int event = scratch.starts[0];
        Event coming = scratch.events[event];
#pragma unroll 1
        for (int first = 0; first < num_steps; first += AHEAD) {
            float now[AHEAD][CLASSES][REGISTERS];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++)
                        now[k][c][r] = scratch.steps[first + k].length * ahead[k][c][r];
            load_steps(d, scratch.steps + first + AHEAD, places, ahead);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const int end = scratch.starts[first + k + 1];
#pragma unroll 1
                for (; event < end; event++) {
                    const Event present = coming;
                    coming = scratch.events[event + 1];
#pragma unroll
                    for (int c = 0; c < CLASSES; c++) {
                        float *const slots = slot_of(lane_slots, present.bases, c);
#pragma unroll
                        for (int r = 0; r < REGISTERS; r++)
                            if (places.is_used[r])
                                slots[WARP * r] += g[c][r] + present.fraction * now[k][c][r];
                    }
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
        float above = 0.0f;
#pragma unroll
        for (int r = REGISTERS - 1; r >= 0; r--) {
            float sum = 0.0f;
#pragma unroll
            for (int c = 0; c < CLASSES; c++)
                sum += g[c][r];
            float from_here = sum;
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
            }
            above += __shfl_sync(FULL, from_here, 0);
        }
        __syncwarp();

#pragma unroll 1
        for (int plane = lane; plane < plan.num_planes; plane += WARP) {
            float sum = which == first_path ? 0.0f : out[plane];
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
            out[plane] = sum;
        }
    }
}

// Ways to add to the voxel at a place of an image.
struct Atomic {
    float *image;

    __device__ __forceinline__ void add(unsigned at, float value) const { atomicAdd(image + at, value); }
};

// Load, add, store: what other threads add in between is lost.
struct NonAtomic {
    float *image;

    __device__ __forceinline__ void add(unsigned at, float value) const
    {
        volatile float *const voxel = image + at;
        if (value != 0.0f)
            *voxel = *voxel + value;
    }
};

// 64-bit fixed point: integers add up to the same sum in any order.
struct Fixed {
    unsigned long long *image;
    float scale;

    __device__ __forceinline__ void add(unsigned at, float value) const
    {
        atomicAdd(image + at, (unsigned long long)__float2ll_rn(value * scale));
    }
};

// image += A^T bins for the transaxial LORs first_lor ... of the data.
template <typename Adder>
__device__ __forceinline__ void backproject(TABLES, const float *bins, const Adder &image, unsigned first_lor,
                                            unsigned num_lors)
{
    const int lane = threadIdx.x;
    const unsigned nth = blockIdx.x * blockDim.y + threadIdx.y;
    if (nth >= num_lors)
        return;
    const unsigned lor = first_lor + nth;
    const unsigned transaxial = transaxial_of(plan, lor);
    const Scratch scratch(plan, threadIdx.y);
    const Lane places(plan, lane);
    float *const lane_slots = scratch.slots + lane;
    // Places that are no voxel get nothing.
    float share[CLASSES][REGISTERS];
#pragma unroll
    for (int c = 0; c < CLASSES; c++)
#pragma unroll
        for (int r = 0; r < REGISTERS; r++) {
            const int z = CLASSES * (plan.first_k + lane + WARP * r) + c;
            share[c][r] = z >= 0 && z < plan.nz ? 1.0f : 0.0f;
        }
    const float *const in = bins + (unsigned long long)lor * plan.num_planes;
    for (unsigned which = lor_paths[transaxial]; which < lor_paths[transaxial + 1]; which++) {
        const Path path = paths[which];
        const int num_steps = set_up(plan, path, fov_rows, passes, groups, records, scratch, lane);
#pragma unroll 1
        for (int plane = lane; plane < plan.num_planes; plane += WARP) {
            const float value = in[plane];
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
                const float *const slots = slot_of(lane_slots, end.bases, m);
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
        int event = scratch.starts[num_steps];
#pragma unroll 1
        for (int first = (num_steps - 1) / AHEAD * AHEAD; first >= 0; first -= AHEAD) {
#pragma unroll
            for (int k = AHEAD - 1; k >= 0; k--) {
                const Step step = scratch.steps[first + k];
                const int begin = scratch.starts[first + k];
                float values[CLASSES][REGISTERS];
#pragma unroll
                for (int c = 0; c < CLASSES; c++)
#pragma unroll
                    for (int r = 0; r < REGISTERS; r++)
                        values[c][r] = rows[c][r];
#pragma unroll 1
                while (event > begin) {
                    event--;
                    const Event present = scratch.events[event];
#pragma unroll
                    for (int c = 0; c < CLASSES; c++) {
                        const float *const slots = slot_of(lane_slots, present.bases, c);
#pragma unroll
                        for (int r = 0; r < REGISTERS; r++) {
                            const float value = slots[WARP * r];
                            values[c][r] += present.fraction * value;
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
                    if (!places.is_used[r])
                        continue;
#pragma unroll
                    for (int c = 0; c < CLASSES; c++) {
                        const float length = share[c][r] * step.length;
                        const float value = length * (ends[c][r] + (values[c][r] - below));
                        below = values[c][r];
                        image.add(step.column + places.class_offsets[c] + WARP * r, value);
                    }
                }
            }
        }
    }
}

#define BACKPROJECT                                                                                                    \
    backproject(plan, paths, lor_paths, fov_rows, passes, groups, records, pass_ends, outputs, bins, adder, first_lor,  \
                num_lors)

extern "C" __global__ void atomic(TABLES, const float *bins, float *image, unsigned first_lor, unsigned num_lors)
{
    const Atomic adder = {image};
    BACKPROJECT;
}

extern "C" __global__ void non_atomic(TABLES, const float *bins, float *image, unsigned first_lor, unsigned num_lors)
{
    const NonAtomic adder = {image};
    BACKPROJECT;
}

extern "C" __global__ void fixed(TABLES, const float *bins, unsigned long long *image, float scale, unsigned first_lor,
                                 unsigned num_lors)
{
    const Fixed adder = {image, scale};
    BACKPROJECT;
}
