// Projection of four images at once onto events, and back, one thread per event: its path and the weights of its time of flight are
// made once for all of them. The definition is that of each image (events.cu), which are replicates of a run.
//
// Images lie between each other, [y][x][z][image]: the four values of a voxel are 16 bytes, which are read together, and added to
// together. The L2 cache is asked for as many pieces as of one image: with a time of flight of 400 ps some 75 voxels lie on the walked
// part of a line, and 20 replicates of 2e7 events ask for 5 * 1.5e9 pieces each way instead of 20 * 1.5e9. At the rates of events.cu
// that is 47 ms to read and 71 ms to add, the floor of an iteration, beside 5 * 1.1 GB of the events and their data, 2 ms. Measured on
// an H100 with ratios and updates: 152 ms, and 311 ms image by image. Without time of flight event_beams.cu adds faster image by image.

#include "events.cuh"
#include "event_walk.cuh"

#define INDEX ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)


struct Integrals {
    enum { ADDS = 0 };
    const float4 *images;
    float4 sum;
    float4 total;
    float factor;

    __device__ __forceinline__ void begin(float with)
    {
        sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        factor = with;
    }
    __device__ __forceinline__ void visit(unsigned voxel, float length)
    {
        const float4 values = images[voxel];
        sum.x += length * values.x;
        sum.y += length * values.y;
        sum.z += length * values.z;
        sum.w += length * values.w;
    }
    __device__ __forceinline__ void end()
    {
        total.x += factor * sum.x;
        total.y += factor * sum.y;
        total.z += factor * sum.z;
        total.w += factor * sum.w;
    }
};

struct Additions {
    enum { ADDS = 1 };
    float4 *images;
    float4 q;
    float4 value;

    __device__ __forceinline__ void begin(float with)
    {
        value = make_float4(q.x * with, q.y * with, q.z * with, q.w * with);
    }
    // Four additions in one.
    __device__ __forceinline__ void visit(unsigned voxel, float length)
    {
        if (length != 0.0f)
            asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(images + voxel), "f"(value.x * length),
                         "f"(value.y * length), "f"(value.z * length), "f"(value.w * length)
                         : "memory");
    }
    __device__ __forceinline__ void end() {}
};

// Threads of a block, and how many blocks a multiprocessor is to hold while it reads: many reads then wait at the same time.
#define BLOCK 256
#define BLOCKS 4

// a, b, c, d = A x of `num` images.
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) forward(EVENTS, const float *images, float *a, float *b, float *c,
                                   float *d, unsigned num, unsigned long long first, unsigned long long count)
{
    if (EVENT >= count)
        return;
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    Integrals integrals = {(const float4 *)images, none, none, 0.0f};
    walk_event(plan, starts, ends, pairs, intervals, has_tof, first + EVENT, integrals);
    a[first + EVENT] = integrals.total.x;
    if (num > 1)
        b[first + EVENT] = integrals.total.y;
    if (num > 2)
        c[first + EVENT] = integrals.total.z;
    if (num > 3)
        d[first + EVENT] = integrals.total.w;
}

// images += A^T a, b, c, d of `num` images. Events of weight 0 in all of them are passed over.
extern "C" __global__ void atomic(EVENTS, const float *a, const float *b, const float *c, const float *d, unsigned num,
                                  float *images, unsigned long long first, unsigned long long count)
{
    if (EVENT >= count)
        return;
    Additions additions;
    additions.images = (float4 *)images;
    additions.q.x = a[first + EVENT];
    additions.q.y = num > 1 ? b[first + EVENT] : 0.0f;
    additions.q.z = num > 2 ? c[first + EVENT] : 0.0f;
    additions.q.w = num > 3 ? d[first + EVENT] : 0.0f;
    if (additions.q.x != 0.0f || additions.q.y != 0.0f || additions.q.z != 0.0f || additions.q.w != 0.0f)
        walk_event(plan, starts, ends, pairs, intervals, has_tof, first + EVENT, additions);
}

// images = a, b, c, d: `num` images between each other.
extern "C" __global__ void interleave(const float *a, const float *b, const float *c, const float *d, unsigned num,
                                      float *images, unsigned long long len)
{
    if (INDEX >= len)
        return;
    const float4 values = make_float4(a[INDEX], num > 1 ? b[INDEX] : 0.0f, num > 2 ? c[INDEX] : 0.0f, num > 3 ? d[INDEX] : 0.0f);
    ((float4 *)images)[INDEX] = values;
}

// a, b, c, d = images, where they are seen.
extern "C" __global__ void separate(const float *images, const float *seen, float *a, float *b, float *c, float *d, unsigned num,
                                    unsigned long long len)
{
    if (INDEX >= len)
        return;
    const float4 values = ((const float4 *)images)[INDEX];
    const float is_seen = seen[INDEX];
    a[INDEX] = values.x * is_seen;
    if (num > 1)
        b[INDEX] = values.y * is_seen;
    if (num > 2)
        c[INDEX] = values.z * is_seen;
    if (num > 3)
        d[INDEX] = values.w * is_seen;
}
