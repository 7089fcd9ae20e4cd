// Backprojection of events that come in beams, without time of flight: one warp per beam. The definition is
// src/engine/operator/events.rs.
//
// The events of a beam have one line, seen along the axis: they pass the same columns of voxels (x, y) together and differ in z
// alone. For each z the warp keeps the sum of the weights of the events that are there, which changes only where one of them
// crosses a face, and adds it to the image once for all of them, times the length in the column. So the L2 cache is asked for
// some 7 pieces of 32 bytes a column and beam (see events.cu), 1.5 ms for 2e7 events in beams of 110, and what takes the time,
// 9 ms on an H200, is to follow the events in z: less where those that rise alike, which cross faces together, lie side by side.
// Weights are integers, of 2^-23 of the largest or finer, so that a sum over a beam is exact and its order of no matter. Events whose
// weights are far below the largest would lose their digits: a second kernel adds them for the few beams that have such.

#include "adders.cuh"
#include "events.cuh"

#define WARP 32
#define ALL 0xffffffffu
// Events of a beam, at most EACH for each thread; their number is 2^BEAM_BITS.
#define EACH 4
#define BEAM_BITS 7

// Least share of the largest weight of a pass: its rounding is below 2^-13 of the weight.
#define LEAST_SHARE 0.0009765625f

#define FAR 3.4e38f

// A beam's course through columns, in mm as seen along the axis.
struct Course {
    float next[2];
    float pitch[2];
    int stride[2];
    int column;
    float leave;
};

__device__ __forceinline__ Course course_of(const Plan &plan, const Line &line, const Walk<2> &along)
{
    Course course;
    course.leave = (float)((along.leave - along.enter) * line.length_mm * (1.0 - plan.end_margin));
    course.column = 0;
#pragma unroll
    for (int a = 0; a < 2; a++) {
        course.next[a] = FAR;
        course.pitch[a] = 0.0f;
        course.stride[a] = 0;
        if (along.rows[a].is_fixed) {
            course.column += along.rows[a].row * plan.stride[a];
            continue;
        }
        const Faces faces = faces_of(line.u[a], line.du[a], along.enter, 0, plan.size[a] - 1);
        course.column += faces.row * plan.stride[a];
        course.stride[a] = faces.step * plan.stride[a];
        course.next[a] = (float)((faces.next - along.enter) * line.length_mm);
        course.pitch[a] = (float)(faces.pitch * line.length_mm);
    }
    return course;
}

// An event along the course of its beam: the z that it is in, the next face across z.
struct Rise {
    int row;
    int step;
    float first;
    float pitch;
    float next;
    float passed;
    // What it adds per mm of the course, times the beam's scale; and how much of it a step has moved to the next z.
    int weight;
    int moved;
};

__device__ __forceinline__ void begin_rise(const Plan &plan, const Line &line, const Walk<2> &along, double u, double du, Rise &rise)
{
    rise.step = 0;
    rise.first = FAR;
    rise.pitch = FAR;
    if (fabs(du) < plan.face_tolerance) {
        rise.row = row_of(plan, u, du).row;
    } else {
        // From outside of the image events come in.
        const Faces faces = faces_of(u, du, along.enter, -0x40000000, 0x40000000);
        rise.row = faces.row;
        rise.step = faces.step;
        rise.first = (float)((faces.next - along.enter) * line.length_mm);
        rise.pitch = (float)(faces.pitch * line.length_mm);
    }
    rise.next = rise.first;
    rise.passed = 0.0f;
    rise.moved = 0;
}

__device__ __forceinline__ float largest_of_warp(float value)
{
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(ALL, value, distance));
    return value;
}

// A warp's beam.
template <typename Adder> struct Beam {
    const Plan &plan;
    const uint2 *pairs;
    const float *values;
    unsigned count;
    // Events of a thread.
    int num;
    // Sums of weights: one below the image, one for each z, one above.
    int *sums;
    // Whether the beam has events for the second kernel.
    unsigned *rest;
    Adder image;

    __device__ __forceinline__ int *sum_at(int row) const { return sums + min(max(row + 1, 0), plan.size[2] + 1); }

    // Sets out with all events, in double precision; those with weights below `limit` count, down to the one that is left there for
    // the next pass. Returns what a unit of weight stands for, 0 where there is nothing to add; `step_mm`: no event crosses two faces
    // in that.
    __device__ __forceinline__ float begin(const double *starts, const double *ends, unsigned ray, const double3 start,
                                           const Line &line, const Walk<2> &along, float share, Rise (&rises)[EACH],
                                           float &step_mm, float &limit, bool &has_rest) const
    {
        const int lane = threadIdx.x % WARP;
        float weights[EACH], largest = 0.0f, fastest = 0.0f;
        bool is_face[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            rises[k].next = FAR;
            if (k >= num)
                continue;
            const unsigned event = k * WARP + lane;
            double from = 0.0, to = 0.0;
            weights[k] = 0.0f;
            if (event < count) {
                const uint2 pair = pairs[event];
                const double3 s = point(starts, plan, ray, pair.x), e = point(ends, plan, ray, pair.y);
                // Those of the other direction are turned.
                const bool is_turned = s.x != start.x || s.y != start.y;
                from = is_turned ? e.z : s.z;
                to = is_turned ? s.z : e.z;
                const double slope = (to - from) / line.length_mm;
                weights[k] = values[event] * share * (float)sqrt(1.0 + slope * slope);
                if (!(fabsf(weights[k]) < limit))
                    weights[k] = 0.0f;
            }
            const double u = (from - plan.low_mm[2]) * plan.per_mm[2], du = (to - from) * plan.per_mm[2];
            begin_rise(plan, line, along, u, du, rises[k]);
            is_face[k] = row_of(plan, u, du).is_face;
            largest = fmaxf(largest, fabsf(weights[k]));
            fastest = fmaxf(fastest, 1.0f / rises[k].pitch);
        }
        largest = largest_of_warp(largest);
        has_rest = false;
        if (!(largest > 0.0f))
            return 0.0f;
        limit = largest * LEAST_SHARE;
        step_mm = 1.0f / largest_of_warp(fastest);
        // No sum overflows: |weight| < 2^(31 - BEAM_BITS).
        const int exponent = min(max(30 - BEAM_BITS - ilogbf(largest), -126), 126);
        const float scale = ldexpf(1.0f, exponent);
        for (int z = lane; z < plan.size[2] + 2; z += WARP)
            sums[z] = 0;
        __syncwarp();
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            if (k >= num)
                continue;
            const bool is_rest = weights[k] != 0.0f && fabsf(weights[k]) < limit;
            has_rest = has_rest || is_rest;
            const int weight = is_rest ? 0 : __float2int_rn(weights[k] * scale), above = is_face[k] ? weight / 2 : 0;
            rises[k].weight = weight;
            atomicAdd(sum_at(rises[k].row), weight - above);
            atomicAdd(sum_at(rises[k].row + 1), above);
        }
        has_rest = __any_sync(ALL, has_rest);
        return ldexpf(1.0f, -exponent);
    }

    // In the step that ends here and begins `1 / per_length` before, events that cross a face count for two z.
    __device__ __forceinline__ void cross(Rise (&rises)[EACH], float end, float per_length) const
    {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            Rise &rise = rises[k];
            if (k < num && rise.next < end) {
                rise.moved = __float2int_rn((float)rise.weight * fminf((end - rise.next) * per_length, 1.0f));
                atomicAdd(sum_at(rise.row), -rise.moved);
                atomicAdd(sum_at(rise.row + rise.step), rise.moved);
            }
        }
    }

    // And after it for the second alone.
    __device__ __forceinline__ void arrive(Rise (&rises)[EACH], float end) const
    {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            Rise &rise = rises[k];
            if (k < num && rise.next < end) {
                const int rest = rise.weight - rise.moved;
                atomicAdd(sum_at(rise.row), -rest);
                rise.row += rise.step;
                atomicAdd(sum_at(rise.row), rest);
                rise.passed += 1.0f;
                rise.next = rise.first + rise.passed * rise.pitch;
            }
        }
    }

    __device__ __forceinline__ void walk(const Course &course, Rise (&rises)[EACH], float unit, float step_mm) const
    {
        // Crossings are counted and multiplied, not added up: a sum would drift.
        float next_x = course.next[0], next_y = course.next[1];
        float passed_x = 0.0f, passed_y = 0.0f;
        float at = 0.0f;
        int column = course.column;
        const int num_z = plan.size[2];
        // (Along a course all of a hair's breadth events may cross more; they arrive a step later.)
        step_mm = fmaxf(step_mm, course.leave / 4096.0f);
        while (true) {
            const float end = fminf(fminf(fminf(next_x, next_y), course.leave), at + step_mm);
            const float length = end - at;
            cross(rises, end, 1.0f / length);
            __syncwarp();
            const unsigned inside = min((unsigned)column, plan.num_voxels - num_z);
            for (int z = threadIdx.x % WARP; z < num_z; z += WARP) {
                const int sum = sums[z + 1];
                if (sum != 0)
                    image.add(inside + z, (float)sum * (length * unit));
            }
            __syncwarp();
            if (end >= course.leave)
                return;
            arrive(rises, end);
            at = end;
            if (next_x <= end) {
                passed_x += 1.0f;
                column += course.stride[0];
                next_x = course.next[0] + passed_x * course.pitch[0];
            }
            if (next_y <= end) {
                passed_y += 1.0f;
                column += course.stride[1];
                next_y = course.next[1] + passed_y * course.pitch[1];
            }
        }
    }

    // REST: only the events that the first kernel has left out, the largest of them first.
    template <bool REST> __device__ __forceinline__ void backproject(const double *starts, const double *ends) const
    {
        const uint2 pair = pairs[0];
        for (unsigned ray = 0; ray < plan.num_rays; ray++) {
            double3 start = point(starts, plan, ray, pair.x), end = point(ends, plan, ray, pair.y);
            // Seen along the axis.
            start.z = end.z = 0.0;
            Line line;
            if (!is_seen(plan, start, end, line))
                continue;
            const int num = num_walks<2>(plan, line);
            for (int which = 0; which < num; which++) {
                Walk<2> along;
                if (!along.begin(plan, line, line.enter, line.leave, which))
                    continue;
                float limit = FAR;
                bool has_rest = true;
                for (bool is_first = true; has_rest; is_first = false) {
                    Rise rises[EACH];
                    float step_mm;
                    const float unit =
                        begin(starts, ends, ray, start, line, along, plan.share / num, rises, step_mm, limit, has_rest);
                    __syncwarp();
                    if (!REST && has_rest && threadIdx.x % WARP == 0)
                        *rest = 1;
                    if (unit > 0.0f && !(REST && is_first))
                        walk(course_of(plan, line, along), rises, unit, step_mm);
                    __syncwarp();
                    if (!REST)
                        break;
                }
            }
        }
    }
};

#define BEAMS                                                                                                          \
    const Plan plan, const double *starts, const double *ends, const uint2 *pairs, const uint2 *beams, const float *values

// Warps of a block, and how many blocks a multiprocessor is to hold.
#define WARPS 4
#define BLOCKS 8
#define BOUNDS __launch_bounds__(WARPS *WARP, BLOCKS)

// `beams`: the first event of each and how many it has, among `pairs` and `values`.
#define BACKPROJECT(REST, Adder, adder)                                                                                      \
    extern __shared__ int sums[];                                                                                      \
    const unsigned long long which = blockIdx.x * (unsigned long long)WARPS + threadIdx.x / WARP;                      \
    if (which >= count)                                                                                                \
        return;                                                                                                        \
    const uint2 range = beams[first + which];                                                                          \
    if (REST && rest[first + which] == 0)                                                                              \
        return;                                                                                                        \
    const Beam<Adder> beam = {                                                                                         \
        plan, pairs + range.x, values + range.x, range.y, (int)(range.y + WARP - 1) / WARP,                            \
        sums + threadIdx.x / WARP * (plan.size[2] + 2), rest + first + which, adder};                                  \
    beam.backproject<REST>(starts, ends);                                                                              \
    if (REST && threadIdx.x % WARP == 0)                                                                               \
        rest[first + which] = 0;

// image += A^T values for `count` beams, but for what is left to the second kernel: `rest` has an entry for each beam, 0 between calls.
extern "C" __global__ void BOUNDS atomic(BEAMS, float *image, unsigned *rest, unsigned long long first, unsigned long long count)
{
    const Atomic adder = {image};
    BACKPROJECT(false, Atomic, adder)
}

extern "C" __global__ void BOUNDS fixed(BEAMS, unsigned long long *image, float scale, unsigned *rest, unsigned long long first,
                                        unsigned long long count)
{
    const Fixed adder = {image, scale};
    BACKPROJECT(false, Fixed, adder)
}

// Adds what is left.
extern "C" __global__ void BOUNDS atomic_rest(BEAMS, float *image, unsigned *rest, unsigned long long first,
                                              unsigned long long count)
{
    const Atomic adder = {image};
    BACKPROJECT(true, Atomic, adder)
}

extern "C" __global__ void BOUNDS fixed_rest(BEAMS, unsigned long long *image, float scale, unsigned *rest,
                                             unsigned long long first, unsigned long long count)
{
    const Fixed adder = {image, scale};
    BACKPROJECT(true, Fixed, adder)
}
