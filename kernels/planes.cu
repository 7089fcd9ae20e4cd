// Backprojection of planes: every voxel gathers one interpolated value of each filtered projection (Qiao et al. 2015). The
// definition is src/engine/operator/planes/.

// A position this much outside a projection, in samples, is on its end, and this much short of half-way, half-way.
#define ROUNDING 1e-9

// The paper's kernel, K.1 to K.18: double precision, one thread for each voxel, a block for each row of the object, the
// object in global memory. Its coordinates are ours: voxel i lies at (i - origin) voxel_mm along each axis.
extern "C" __global__ void paper(double *object, const double *projections, const double *directions, double3 voxel_mm,
                                 double3 origin, double d_proj, double centre, int num_projections, int num_points)
{
    const unsigned m = threadIdx.x, n = blockIdx.x, k = blockIdx.y;
    const unsigned long long voxel = ((unsigned long long)k * gridDim.x + n) * blockDim.x + m;
    const double x = (m - origin.x) * voxel_mm.x;
    const double y = (n - origin.y) * voxel_mm.y;
    const double z = (k - origin.z) * voxel_mm.z;
    const double last = num_points - 1;
    for (int kk = 0; kk < num_projections; kk++) {
        const double t = x * directions[3 * kk] + y * directions[3 * kk + 1] + z * directions[3 * kk + 2];
        double at = t / d_proj + centre;
        if (at >= -ROUNDING && at <= last + ROUNDING) {
            at = fmin(fmax(at, 0.0), last);
            const double below = floor(at), above = ceil(at);
            const double *const projection = projections + (long long)kk * num_points;
            const double value = projection[(int)below];
            object[voxel] += value + (projection[(int)above] - value) * (at - below);
        }
    }
}

// image = sum, in single precision
extern "C" __global__ void narrow(float *image, const double *sum, unsigned long long len)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len)
        image[i] = (float)sum[i];
}

// The fast kernels: single precision; a block holds a tile of voxels, each thread a column of DEPTH of them. Of each
// projection only the samples that the tile can meet are brought to shared memory (its window), each with the difference to
// the next: a value costs one read and one multiplication. Positions u are counted from the window's start, in samples,
// and distances of voxels from the tile's middle, so that they are small and f32 suffices.
//
// Where a projection jumps, f32 does not suffice: at its ends, and half-way between samples for the nearest one. There
// positions are integers in units of 2^-40 of a sample, which add up without rounding.
#define TILE_X 32
#define TILE_Y 8
// Projections whose windows are brought at a time; there is room for two such batches.
#define BATCH 32

// A position in units of 2^-40 of a sample.
typedef long long Fine;
#define FINE_BITS 40

// What all tiles have in common.
struct Plan {
    int size[3];
    int num_points;
    // Samples of a window: enough for a tile in any direction.
    int window;
};

// Where a projection is read, in samples: for voxel (0, 0, 0), and how much farther for the next one along each axis, the
// latter also in fine units.
struct Plane {
    double corner;
    double along[3];
    Fine fine[3];
};

// How much of a tile lies on a projection.
enum Part { NONE, SOME, ALL };

// Where the tile lies on a projection: u of its middle, and what a voxel along x, y, z adds. The same exactly, from the
// tile's first voxel, and u of the first sample with what rounding may do.
struct __align__(16) Slope {
    float middle, x, y, z;
    int part;
    Fine corner, fine_x, fine_y, fine_z;
    Fine first;
};

__device__ __forceinline__ Fine fine(double u)
{
    return __double2ll_rn(u * (double)(1LL << FINE_BITS));
}

// Adding 2^23, rounding down, leaves the whole part of a number from 0 to 2^23 in the lowest bits, above those of 2^23.
#define SHIFT 8388608.0f
#define SHIFT_BITS 0x4b000000u

// What to add to a position to find the nearest sample by rounding down.
#define HALF_WAY ((Fine)((0.5 + ROUNDING) * (double)(1LL << FINE_BITS)))

extern __shared__ __align__(16) unsigned char memory[];

// The piece of a number of a window that begins at this byte of the shared memory. The bytes of SHIFT_BITS pieces may have
// been taken off the beginning beforehand, for numbers that have them: addresses wrap round.
template <typename Piece>
__device__ __forceinline__ const Piece *piece_at(unsigned window, unsigned number)
{
    return (const Piece *)(memory + (window + (unsigned)sizeof(Piece) * number));
}

// A sample; beyond the ends the first or the last.
__device__ __forceinline__ float sample(const float *values, int i, int num_points)
{
    return values[min(max(i, 0), num_points - 1)];
}

// How projections are read. A piece is what is kept of a sample; beyond the ends it is what a position may need that is on
// an end and has been rounded to outside.

// Straight lines between the samples.
struct Linear {
    typedef float2 Piece;
    // Whether every position is needed exactly.
    static const bool IS_FINE = false;

    static __device__ __forceinline__ Piece piece(const float *values, int i, int num_points)
    {
        const float value = sample(values, i, num_points);
        return make_float2(value, i < 0 ? 0.0f : sample(values, i + 1, num_points) - value);
    }

    static __device__ __forceinline__ unsigned before(unsigned window)
    {
        return window - (unsigned)sizeof(Piece) * SHIFT_BITS;
    }

    static __device__ __forceinline__ float add(float sum, unsigned before, float u, Fine)
    {
        const float shifted = __fadd_rd(u, SHIFT);
        const Piece piece = *piece_at<Piece>(before, __float_as_uint(shifted));
        return fmaf(piece.y, u - (shifted - SHIFT), sum) + piece.x;
    }
};

// The nearest sample.
struct Nearest {
    typedef float Piece;
    // Whether every position is needed exactly.
    static const bool IS_FINE = true;

    static __device__ __forceinline__ Piece piece(const float *values, int i, int num_points)
    {
        return sample(values, i, num_points);
    }

    static __device__ __forceinline__ unsigned before(unsigned window)
    {
        return window;
    }

    static __device__ __forceinline__ float add(float sum, unsigned before, float, Fine u)
    {
        return sum + *piece_at<Piece>(before, (unsigned)((u + HALF_WAY) >> FINE_BITS));
    }
};

// The cubic spline whose coefficients the samples are; beyond an end they go on in a straight line.
struct Cubic {
    typedef float Piece;
    // Whether every position is needed exactly.
    static const bool IS_FINE = false;

    static __device__ __forceinline__ Piece piece(const float *values, int i, int num_points)
    {
        if (i == -1 && num_points > 1)
            return 2.0f * values[0] - values[1];
        if (i == num_points && num_points > 1)
            return 2.0f * values[num_points - 1] - values[num_points - 2];
        return sample(values, i, num_points);
    }

    static __device__ __forceinline__ unsigned before(unsigned window)
    {
        return window - (unsigned)sizeof(Piece) * SHIFT_BITS;
    }

    static __device__ __forceinline__ float add(float sum, unsigned before, float u, Fine)
    {
        const float shifted = __fadd_rd(u, SHIFT);
        const Piece *const at = piece_at<Piece>(before, __float_as_uint(shifted));
        const float f = u - (shifted - SHIFT), g = 1.0f - f;
        const float last = g * g * g, here = 4.0f - 3.0f * f * f * (1.0f + g);
        const float next = 4.0f - 3.0f * g * g * (1.0f + f), after = f * f * f;
        return sum + (last * at[-1] + here * at[0] + next * at[1] + after * at[2]) * (1.0f / 6.0f);
    }
};

// What a block knows of its tile.
template <int DEPTH>
struct Tile {
    int first[3];
    double middle_voxel[3];
    // Half its extent, voxels.
    static __device__ __forceinline__ double half(int axis)
    {
        return 0.5 * ((axis == 0 ? TILE_X : axis == 1 ? TILE_Y : DEPTH) - 1);
    }
};

// Brings the windows of some projections, and where the tile lies on them; each warp some.
template <typename Interpolation, int DEPTH>
__device__ __forceinline__ void prepare(const Plan &plan, const Tile<DEPTH> &tile, const float *projections,
                                        const Plane *planes, int count, double last, Slope *slopes,
                                        typename Interpolation::Piece *windows)
{
    for (int p = threadIdx.y; p < count; p += TILE_Y) {
        const Plane &plane = planes[p];
        double middle = plane.corner, reach = 0.0;
#pragma unroll
        for (int a = 0; a < 3; a++) {
            middle += plane.along[a] * tile.middle_voxel[a];
            reach += fabs(plane.along[a]) * tile.half(a);
        }
        // One sample before the first that is met, and two behind the last, for cubic interpolation and rounding.
        const int start = __double2int_rd(middle - reach) - 2;
        const float *const values = projections + (long long)p * plan.num_points;
        for (int i = threadIdx.x; i < plan.window; i += TILE_X)
            windows[p * plan.window + i] = Interpolation::piece(values, start + i, plan.num_points);
        if (threadIdx.x == 0) {
            const bool meets = middle + reach >= -ROUNDING && middle - reach <= last + ROUNDING;
            const bool leaves = middle - reach < -ROUNDING || middle + reach > last + ROUNDING;
            Slope slope;
            slope.middle = (float)(middle - start);
            slope.x = (float)plane.along[0];
            slope.y = (float)plane.along[1];
            slope.z = (float)plane.along[2];
            slope.part = meets ? leaves ? SOME : ALL : NONE;
            if (Interpolation::IS_FINE || slope.part == SOME) {
                double corner = plane.corner;
                for (int a = 0; a < 3; a++)
                    corner += plane.along[a] * tile.first[a];
                slope.corner = fine(corner - start);
                slope.fine_x = plane.fine[0];
                slope.fine_y = plane.fine[1];
                slope.fine_z = plane.fine[2];
                slope.first = fine(-start - ROUNDING);
            }
            slopes[p] = slope;
        }
    }
}

// image += the projections, for one tile per block, one projection after the other: the result does not depend on how many of them
// a launch has.
template <typename Interpolation, int DEPTH>
__device__ __forceinline__ void add_planes(const Plan &plan, const float *projections, const Plane *planes,
                                           int num_projections, float *image)
{
    typedef typename Interpolation::Piece Piece;
    // While the projections of one batch are added, the next one is brought.
    const unsigned batch_bytes = BATCH * ((unsigned)sizeof(Slope) + (unsigned)plan.window * (unsigned)sizeof(Piece));
    Tile<DEPTH> tile;
    tile.first[0] = blockIdx.x * TILE_X;
    tile.first[1] = blockIdx.y * TILE_Y;
    tile.first[2] = blockIdx.z * DEPTH;
    for (int a = 0; a < 3; a++)
        tile.middle_voxel[a] = tile.first[a] + tile.half(a);
    const int x = tile.first[0] + threadIdx.x, y = tile.first[1] + threadIdx.y;
    const float from_middle_x = threadIdx.x - 0.5f * (TILE_X - 1), from_middle_y = threadIdx.y - 0.5f * (TILE_Y - 1);
    const double last = plan.num_points - 1;
    const unsigned long long length = fine(last + 2.0 * ROUNDING);
    const long long plane_len = (long long)plan.size[1] * plan.size[0];
    float *const column = image + tile.first[2] * plane_len + (long long)y * plan.size[0] + x;
    const int depth = x < plan.size[0] && y < plan.size[1] ? min(DEPTH, plan.size[2] - tile.first[2]) : 0;
    float sums[DEPTH];
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        sums[k] = k < depth ? column[k * plane_len] : 0.0f;
    unsigned batch = 0;
    for (int next = 0, count = 0;; next += BATCH) {
        const int next_count = min(BATCH, num_projections - next);
        const unsigned other = batch_bytes - batch;
        if (next_count > 0) {
            Slope *const slopes = (Slope *)(memory + other);
            prepare<Interpolation, DEPTH>(plan, tile, projections + (long long)next * plan.num_points, planes + next,
                                          next_count, last, slopes, (Piece *)(slopes + BATCH));
        }
        const Slope *const slopes = (const Slope *)(memory + batch);
        for (int p = 0; p < count; p++) {
            const Slope &slope = slopes[p];
            const int part = slope.part;
            if (part == NONE)
                continue;
            const unsigned window = batch + BATCH * (unsigned)sizeof(Slope) + p * plan.window * (unsigned)sizeof(Piece);
            const unsigned before = Interpolation::before(window);
            const float u_z = slope.z;
            const float u = slope.middle + from_middle_x * slope.x + from_middle_y * slope.y - 0.5f * (DEPTH - 1) * u_z;
            if (part == ALL && !Interpolation::IS_FINE) {
#pragma unroll
                for (int k = 0; k < DEPTH; k++)
                    sums[k] = Interpolation::add(sums[k], before, u + k * u_z, 0);
                continue;
            }
            const Fine fine_u = slope.corner + threadIdx.x * slope.fine_x + threadIdx.y * slope.fine_y;
            const Fine fine_z = slope.fine_z;
            if (part == ALL) {
#pragma unroll
                for (int k = 0; k < DEPTH; k++)
                    sums[k] = Interpolation::add(sums[k], before, u + k * u_z, fine_u + k * fine_z);
                continue;
            }
            const Fine start = slope.first;
#pragma unroll
            for (int k = 0; k < DEPTH; k++)
                if ((unsigned long long)(fine_u + k * fine_z - start) <= length)
                    sums[k] = Interpolation::add(sums[k], before, u + k * u_z, fine_u + k * fine_z);
        }
        if (next_count <= 0)
            break;
        __syncthreads();
        batch = other;
        count = next_count;
    }
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        if (k < depth)
            column[k * plane_len] = sums[k];
}

#define PLANES const Plan plan, const float *projections, const Plane *planes, int num_projections
#define BOUNDS __launch_bounds__(TILE_X *TILE_Y, 4)

// Deep tiles share more of what is prepared for each; small images have too few of them to keep all multiprocessors busy.
extern "C" __global__ void BOUNDS linear(PLANES, float *image)
{
    add_planes<Linear, 8>(plan, projections, planes, num_projections, image);
}

extern "C" __global__ void BOUNDS linear_deep(PLANES, float *image)
{
    add_planes<Linear, 16>(plan, projections, planes, num_projections, image);
}

extern "C" __global__ void BOUNDS nearest(PLANES, float *image)
{
    add_planes<Nearest, 8>(plan, projections, planes, num_projections, image);
}

extern "C" __global__ void BOUNDS cubic(PLANES, float *image)
{
    add_planes<Cubic, 8>(plan, projections, planes, num_projections, image);
}
