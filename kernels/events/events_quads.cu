// Projection onto events in random order, without time of flight: one thread per event, images of quads. The definition is
// src/engine/operator/events.rs.
//
// Images are [y / 2][x / 2][z][y % 2][x % 2]: the four voxels of a quad, of which a line meets 1.9, lie in 16 bytes and are read
// and added to together. So events ask the L2 cache for some 135 pieces of 32 bytes instead of 260 (see events.cu).

#include "adders.cuh"
#include "events.cuh"

// The course of a line through quads, in mm from where it begins.
struct Course {
    float next[3];
    float pitch[3];
    // From the face in the middle of a quad to the one where the line leaves it.
    float half[2];
    // Whether the line begins in the second half of quads.
    bool is_turned[2];
    int stride[3];
    int quad;
    float leave;
    int num_steps;
};

__device__ __forceinline__ void exchange(float &a, float &b)
{
    const float c = a;
    a = b;
    b = c;
}

// Quads that are visited before the path is looked at again: their values are asked for together.
#define UNROLL 4

template <typename Visitor> __device__ __forceinline__ void walk(unsigned num_quads, const Course &course, Visitor &visitor)
{
    // Crossings are counted and multiplied, not added up: a sum would drift.
    float next_x = course.next[0], next_y = course.next[1], next_z = course.next[2];
    float passed_x = 0.0f, passed_y = 0.0f, passed_z = 0.0f;
    float at = 0.0f;
    int quad = course.quad;
    for (int step = 0; step < course.num_steps; step += UNROLL) {
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const float end = fminf(fminf(fminf(next_x, next_y), next_z), course.leave);
            // Where the line gets to the second half along x and y.
            const float x = fminf(fmaxf(next_x - course.half[0], at), end), y = fminf(fmaxf(next_y - course.half[1], at), end);
            float4 lengths = make_float4(fminf(x, y) - at, fmaxf(y - x, 0.0f), fmaxf(x - y, 0.0f), end - fmaxf(x, y));
            if (course.is_turned[0]) {
                exchange(lengths.x, lengths.y);
                exchange(lengths.z, lengths.w);
            }
            if (course.is_turned[1]) {
                exchange(lengths.x, lengths.z);
                exchange(lengths.y, lengths.w);
            }
            // A path that has ended is anywhere, with no length.
            if (end > at || !Visitor::ADDS)
                visitor.visit(min((unsigned)quad, num_quads - 1), lengths);
            at = end;
            if (next_x <= end) {
                passed_x += 1.0f;
                quad += course.stride[0];
                next_x = course.next[0] + passed_x * course.pitch[0];
            }
            if (next_y <= end) {
                passed_y += 1.0f;
                quad += course.stride[1];
                next_y = course.next[1] + passed_y * course.pitch[1];
            }
            if (next_z <= end) {
                passed_z += 1.0f;
                quad += course.stride[2];
                next_z = course.next[2] + passed_z * course.pitch[2];
            }
        }
    }
}

__device__ __forceinline__ Course course_of(const Plan &plan, const Line &line, const Walk<3> &along, const int *strides)
{
    Course course;
    const double end = (along.leave - along.enter) * line.length_mm * (1.0 - plan.end_margin);
    course.leave = (float)end;
    course.num_steps = 2;
    course.quad = 0;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        // Voxels of a quad.
        const int num = a < 2 ? 2 : 1;
        course.next[a] = 3.4e38f;
        course.pitch[a] = 0.0f;
        course.stride[a] = 0;
        if (a < 2) {
            course.half[a] = 0.0f;
            course.is_turned[a] = along.rows[a].row % 2 != 0;
        }
        if (along.rows[a].is_fixed) {
            course.quad += along.rows[a].row / num * strides[a];
            continue;
        }
        const Faces faces = faces_of(line.u[a], line.du[a], along.enter, 0, plan.size[a] - 1);
        const bool forwards = faces.step > 0;
        const int place = faces.row / num;
        // The quad's face is a voxel farther on where the line is in its first half.
        const double next = faces.next + (num == 2 && (faces.row % 2 == 0) == forwards ? faces.pitch : 0.0);
        const double next_mm = (next - along.enter) * line.length_mm, pitch_mm = num * faces.pitch * line.length_mm;
        course.quad += place * strides[a];
        course.stride[a] = faces.step * strides[a];
        course.next[a] = (float)next_mm;
        course.pitch[a] = (float)pitch_mm;
        course.num_steps += next_mm < end ? 1 + (int)((end - next_mm) / pitch_mm) : 0;
        if (a < 2) {
            course.half[a] = (float)(faces.pitch * line.length_mm);
            course.is_turned[a] = !forwards;
        }
    }
    return course;
}

// Walks all rays of an event.
template <typename Visitor>
__device__ __forceinline__ void walk_event(const Plan &plan, const double *starts, const double *ends, const uint2 pair,
                                           Visitor &visitor)
{
    const int num_x = (plan.size[0] + 1) / 2, num_y = (plan.size[1] + 1) / 2, num_z = plan.size[2];
    const int strides[3] = {num_z, num_x * num_z, 1};
    for (unsigned ray = 0; ray < plan.num_rays; ray++) {
        Line line;
        if (!is_seen(plan, point(starts, plan, ray, pair.x), point(ends, plan, ray, pair.y), line))
            continue;
        const int num = num_walks<3>(plan, line);
        for (int which = 0; which < num; which++) {
            Walk<3> along;
            if (!along.begin(plan, line, line.enter, line.leave, which))
                continue;
            const Course course = course_of(plan, line, along, strides);
            visitor.begin(plan.share / num);
            walk((unsigned)(num_x * num_y * num_z), course, visitor);
            visitor.end();
        }
    }
}

struct Integral {
    enum { ADDS = 0 };
    const float4 *image;
    float sum;
    float total;
    float factor;

    __device__ __forceinline__ void begin(float with)
    {
        sum = 0.0f;
        factor = with;
    }
    __device__ __forceinline__ void visit(unsigned quad, const float4 lengths)
    {
        const float4 values = image[quad];
        sum += (lengths.x * values.x + lengths.y * values.y) + (lengths.z * values.z + lengths.w * values.w);
    }
    __device__ __forceinline__ void end() { total += factor * sum; }
};

// Adds to the four voxels of a quad.
template <typename Adder> __device__ __forceinline__ void add_quad(const Adder &image, unsigned quad, float value, const float4 lengths)
{
    const float added[4] = {lengths.x, lengths.y, lengths.z, lengths.w};
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (added[k] != 0.0f)
            image.add(4ull * quad + k, value * added[k]);
}

// Four additions in one.
__device__ __forceinline__ void add_quad(const Atomic &image, unsigned quad, float value, const float4 lengths)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"((float4 *)image.image + quad), "f"(value * lengths.x),
                 "f"(value * lengths.y), "f"(value * lengths.z), "f"(value * lengths.w)
                 : "memory");
}

template <typename Adder> struct Adding {
    enum { ADDS = 1 };
    Adder image;
    float q;
    float value;

    __device__ __forceinline__ void begin(float with) { value = q * with; }
    __device__ __forceinline__ void visit(unsigned quad, const float4 lengths) { add_quad(image, quad, value, lengths); }
    __device__ __forceinline__ void end() {}
};

// Threads of a block, and how many blocks a multiprocessor is to hold: many requests then wait at the same time.
#define BLOCK 256
#define BLOCKS 4
#define BOUNDS __launch_bounds__(BLOCK, BLOCKS)

// values = A x for `count` events of a subset; `pairs` are those of the subset, as `values` are.
extern "C" __global__ void BOUNDS forward(EVENTS, const float *image, float *values, unsigned long long first,
                                          unsigned long long count)
{
    if (EVENT >= count)
        return;
    Integral integral = {(const float4 *)image, 0.0f, 0.0f, 0.0f};
    walk_event(plan, starts, ends, pairs[first + EVENT], integral);
    values[first + EVENT] = integral.total;
}

#define BACKPROJECT                                                                                                    \
    if (EVENT >= count)                                                                                                \
        return;                                                                                                        \
    adder.q = values[first + EVENT];                                                                                   \
    if (adder.q != 0.0f)                                                                                               \
        walk_event(plan, starts, ends, pairs[first + EVENT], adder);

// image += A^T values.
extern "C" __global__ void BOUNDS atomic(EVENTS, const float *values, float *image, unsigned long long first,
                                         unsigned long long count)
{
    Adding<Atomic> adder = {{image}, 0.0f, 0.0f};
    BACKPROJECT
}

extern "C" __global__ void BOUNDS non_atomic(EVENTS, const float *values, float *image, unsigned long long first,
                                             unsigned long long count)
{
    Adding<NonAtomic> adder = {{image}, 0.0f, 0.0f};
    BACKPROJECT
}

extern "C" __global__ void BOUNDS fixed(EVENTS, const float *values, unsigned long long *image, float scale,
                                        unsigned long long first, unsigned long long count)
{
    Adding<Fixed> adder = {{image, scale}, 0.0f, 0.0f};
    BACKPROJECT
}
