// Ways to add to the values of an image, and to make the sum of one.

// The next two are predicated instructions: of an `if` the compiler makes a branch, which costs more than what it skips. Nothing
// else in a kernel reads or writes images that it adds to like this.

// *voxel += value, where it is asked for.
__device__ __forceinline__ void add_if(bool is_asked, float *voxel, float value)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p red.global.add.f32 [%1], %2; }" ::"r"((int)is_asked), "l"(voxel),
                 "f"(value));
}

__device__ __forceinline__ void add_if(bool is_asked, unsigned long long *voxel, unsigned long long value)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p red.global.add.u64 [%1], %2; }" ::"r"((int)is_asked), "l"(voxel),
                 "l"(value));
}

// The same pointer into global memory, which the compiler keeps instead of making it anew from its parts.
template <typename T> __device__ __forceinline__ T *kept(T *pointer)
{
    asm volatile("" : "+l"(pointer));
    __builtin_assume(__isGlobal(pointer));
    return pointer;
}

struct Atomic {
    float *image;

    // The same from a place of the image on.
    __device__ __forceinline__ Atomic from(int place) const
    {
        const Atomic moved = {kept(image + place)};
        return moved;
    }

    template <typename Place> __device__ __forceinline__ void add(Place place, float value) const { atomicAdd(image + place, value); }

    __device__ __forceinline__ void add(bool is_voxel, int at, float value) const { add_if(is_voxel, image + at, value); }
};

// Load, add, store: what other threads add in between is lost (Belzunce et al. 2012, section 2.4).
struct NonAtomic {
    float *image;

    __device__ __forceinline__ NonAtomic from(int place) const
    {
        const NonAtomic moved = {kept(image + place)};
        return moved;
    }

    template <typename Place> __device__ __forceinline__ void add(Place place, float value) const
    {
        volatile float *const sum = image + place;
        *sum = *sum + value;
    }

    __device__ __forceinline__ void add(bool is_voxel, int at, float value) const
    {
        volatile float *const sum = image + at;
        if (is_voxel && value != 0.0f)
            *sum = *sum + value;
    }
};

// 64-bit fixed point: integers add up to the same sum in any order.
struct Fixed {
    unsigned long long *image;
    float scale;

    __device__ __forceinline__ Fixed from(int place) const
    {
        const Fixed moved = {kept(image + place), scale};
        return moved;
    }

    template <typename Place> __device__ __forceinline__ void add(Place place, float value) const
    {
        atomicAdd(image + place, (unsigned long long)__float2ll_rn(value * scale));
    }

    __device__ __forceinline__ void add(bool is_voxel, int at, float value) const
    {
        add_if(is_voxel, image + at, (unsigned long long)__float2ll_rn(value * scale));
    }
};

// A sum that one thread makes, of one value or of two, part by part: in one order, or in 64-bit fixed point, to which each part is
// rounded, so that it does not matter which device has which parts.
template <typename Value> struct FloatSum {
    Value sum;

    __device__ __forceinline__ void end_part() {}
};

template <typename Value> struct FixedSum;

template <> struct FixedSum<float> {
    float sum;
    float scale;
    long long total;

    __device__ __forceinline__ void end_part()
    {
        total += __float2ll_rn(scale * sum);
        sum = 0.0f;
    }
};

template <> struct FixedSum<float2> {
    float2 sum;
    float scale;
    longlong2 total;

    __device__ __forceinline__ void end_part()
    {
        total.x += __float2ll_rn(scale * sum.x);
        total.y += __float2ll_rn(scale * sum.y);
        sum = make_float2(0.0f, 0.0f);
    }
};
