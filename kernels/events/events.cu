// Projection onto events with one thread per event. The definition is src/engine/operator/events.rs; the walk is that of
// src/engine/operator/event_path.rs.
//
// Images are [y][x][z]: the threads of a warp hold events whose lines meet the same (x, y) one after the other, at different z,
// which are neighbours in memory.
//
// Some 260 voxels lie on a line through 256 x 256 x 47. What limits the kernels is how many pieces of 32 bytes the L2 cache can
// be asked for (1.6e11 reads and 1.06e11 additions a second on an H200): one for each voxel where the events come in random
// order, so that they take 1.66 and 2.55 ns an event (without time of flight events_quads.cu asks for half as many); fewer where
// the threads of a warp ask for the same pieces, 0.36 ns to read, which is then limited by the arithmetic, some 25 operations a
// voxel. Threads that add to the same voxel at the same time wait for each other: 1.4 ns, where event_beams.cu cannot add for
// them. Next to that the events themselves, 8 bytes each, are small.

#include "adders.cuh"
#include "events.cuh"
#include "event_walk.cuh"

struct Integral {
    enum { ADDS = 0 };
    const float *image;
    float sum;
    float total;
    float factor;

    __device__ __forceinline__ void begin(float with)
    {
        sum = 0.0f;
        factor = with;
    }
    __device__ __forceinline__ void visit(unsigned voxel, float length) { sum += length * image[voxel]; }
    __device__ __forceinline__ void end() { total += factor * sum; }
};

template <typename Adder> struct Adding {
    enum { ADDS = 1 };
    Adder image;
    float q;
    float value;

    __device__ __forceinline__ void begin(float with) { value = q * with; }
    __device__ __forceinline__ void visit(unsigned voxel, float length)
    {
        if (length != 0.0f)
            image.add(voxel, value * length);
    }
    __device__ __forceinline__ void end() {}
};

// Threads of a block, and how many blocks a multiprocessor is to hold while it reads: many reads then wait at the same time.
#define BLOCK 256
#define BLOCKS 4

// values = A x for `count` events of a subset; `pairs` and `intervals` are those of the subset, as `values` are.
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) forward(EVENTS, const float *image, float *values, unsigned long long first,
                                   unsigned long long count)
{
    if (EVENT >= count)
        return;
    Integral integral = {image, 0.0f, 0.0f, 0.0f};
    walk_event(plan, starts, ends, pairs, intervals, has_tof, first + EVENT, integral);
    values[first + EVENT] = integral.total;
}

#define BACKPROJECT                                                                                                    \
    if (EVENT >= count)                                                                                                \
        return;                                                                                                        \
    adder.q = values[first + EVENT];                                                                                   \
    if (adder.q != 0.0f)                                                                                               \
        walk_event(plan, starts, ends, pairs, intervals, has_tof, first + EVENT, adder);

// image += A^T values.
extern "C" __global__ void atomic(EVENTS, const float *values, float *image, unsigned long long first,
                                  unsigned long long count)
{
    Adding<Atomic> adder = {{image}, 0.0f, 0.0f};
    BACKPROJECT
}

extern "C" __global__ void non_atomic(EVENTS, const float *values, float *image, unsigned long long first,
                                      unsigned long long count)
{
    Adding<NonAtomic> adder = {{image}, 0.0f, 0.0f};
    BACKPROJECT
}

extern "C" __global__ void fixed(EVENTS, const float *values, unsigned long long *image, float scale,
                                 unsigned long long first, unsigned long long count)
{
    Adding<Fixed> adder = {{image, scale}, 0.0f, 0.0f};
    BACKPROJECT
}
