// Penalties on the differences of neighbouring voxels; the definition is src/engine/recon/penalty, the formulas in f32 are those of
// src/engine/recon/penalty/host.rs. A voxel (x, y, z) lies at x_part[x] + y_part[y] + z_part[z]; the table `places` has all parts of x, then
// of y, then of z.

#include "block_sum.cuh"
#include "voxel_of.cuh"

#define INDEX ((unsigned)(blockIdx.x * blockDim.x + threadIdx.x))

// Potentials: relative differences, quadratic, log-cosh.
#define RELATIVE_DIFFERENCE 0
#define QUADRATIC 1
#define LOG_COSH 2

// Quantities: the potential and its derivatives by the first value.
#define VALUE 0
#define SLOPE 1
#define CURVATURE 2

// A penalty and its image.
struct PenaltyShape {
    // Voxels along x, y and z.
    unsigned nx, ny, nz;
    // 1 if neighbours along z lie next to each other, 0 if those along x do.
    unsigned z_is_fastest;
    unsigned potential;
    // 0 if kappa is 1 everywhere.
    unsigned has_kappa;
    // Factor of the sums.
    float scale;
    // Gamma and epsilon of relative differences, delta and 1 / delta of log-cosh.
    float first, second;
    // At a + 2 b + 4 c the weight of neighbours a, b and c voxels away along x, y and z.
    float weights[8];
};

// tanh t / t for t from 0 to 1
__device__ float tanh_over_small(float t)
{
    const float t2 = t * t;
    return (945.0f + t2 * (105.0f + t2)) / (945.0f + t2 * (420.0f + 15.0f * t2));
}

// tanh t for t from 0 to 1
__device__ float tanh_of_small(float t)
{
    return t * tanh_over_small(t);
}

// artanh u for u from 0 to 0.22
__device__ float artanh_of_small(float u)
{
    const float u2 = u * u;
    return u * (1.0f + u2 * (1.0f / 3.0f + u2 * (1.0f / 5.0f + u2 * (1.0f / 7.0f + u2 * (1.0f / 9.0f)))));
}

// A quantity of a pair.
template <int potential, int quantity> __device__ float term(float x, float other, float first, float second)
{
    const float difference = x - other;
    if (potential == RELATIVE_DIFFERENCE) {
        const float divisor = x + other + first * fabsf(difference) + second;
        const float inverse = divisor > 0.0f ? 1.0f / divisor : 0.0f;
        if (quantity == VALUE)
            return difference * (difference * inverse);
        const float ratio = (2.0f * other + second) * inverse;
        return (quantity == SLOPE ? difference * inverse : inverse) * (1.0f + ratio);
    }
    if (potential == QUADRATIC)
        return quantity == VALUE ? 0.5f * difference * difference : quantity == SLOPE ? difference : 1.0f;
    const float t = fabsf(difference) * second, exponential = expf(-2.0f * t);
    if (quantity == VALUE) {
        const float half = tanh_of_small(0.5f * t);
        const float ln_cosh = t <= 1.0f ? 2.0f * artanh_of_small(half * half)
                                        : t - 0.693147180559945f + 2.0f * artanh_of_small(exponential / (2.0f + exponential));
        return first * (first * ln_cosh);
    }
    const float above = 1.0f + exponential;
    if (quantity == SLOPE) {
        const float tanh = t <= 1.0f ? tanh_of_small(t) : (1.0f - exponential) / above;
        return first * (x < other ? -tanh : tanh);
    }
    return t <= 1.0f ? tanh_over_small(t) : (1.0f - exponential) / (t * above);
}

// The sum of w kappa kappa' term over the neighbours of a voxel.
template <int potential, int quantity, bool has_kappa>
__device__ float neighbour_sum(const float *x, const float *kappa, const unsigned *places, const PenaltyShape &penalty, uint3 at)
{
    const unsigned *y_places = places + penalty.nx, *z_places = y_places + penalty.ny;
    // (Before the first it is a large number; what is no neighbour has the place of the voxel itself.)
    const bool has_before = at.x > 0, has_behind = at.x + 1 < penalty.nx;
    const unsigned x_place = places[at.x];
    const unsigned x_places[3] = {has_before ? places[at.x - 1] : x_place, x_place, has_behind ? places[at.x + 1] : x_place};
    const unsigned own_place = x_place + y_places[at.y] + z_places[at.z];
    const float own = x[own_place];
    float sum = 0.0f;
    for (int dz = -1; dz <= 1; dz++) {
        const unsigned z = at.z + dz;
        if (z >= penalty.nz)
            continue;
        const unsigned z_place = z_places[z];
#pragma unroll
        for (int dy = -1; dy <= 1; dy++) {
            const unsigned y = at.y + dy;
            if (y >= penalty.ny)
                continue;
            const unsigned row_place = y_places[y] + z_place;
#pragma unroll
            for (int dx = -1; dx <= 1; dx++) {
                const bool is_there = dx < 0 ? has_before : dx > 0 ? has_behind : (dy != 0 || dz != 0);
                if (!is_there)
                    continue;
                const unsigned place = x_places[dx + 1] + row_place;
                const int number = (dx != 0) + 2 * (dy != 0);
                const float weight = dz == 0 ? penalty.weights[number] : penalty.weights[number + 4];
                const float value = term<potential, quantity>(own, x[place], penalty.first, penalty.second);
                sum += has_kappa ? weight * kappa[place] * value : weight * value;
            }
        }
    }
    return has_kappa ? kappa[own_place] * sum : sum;
}

template <int quantity>
__device__ float sum_of(const float *x, const float *kappa, const unsigned *places, const PenaltyShape &penalty, uint3 at)
{
    const unsigned has_kappa = penalty.has_kappa;
    if (penalty.potential == RELATIVE_DIFFERENCE)
        return has_kappa ? neighbour_sum<RELATIVE_DIFFERENCE, quantity, true>(x, kappa, places, penalty, at)
                         : neighbour_sum<RELATIVE_DIFFERENCE, quantity, false>(x, kappa, places, penalty, at);
    if (penalty.potential == QUADRATIC)
        return has_kappa ? neighbour_sum<QUADRATIC, quantity, true>(x, kappa, places, penalty, at)
                         : neighbour_sum<QUADRATIC, quantity, false>(x, kappa, places, penalty, at);
    return has_kappa ? neighbour_sum<LOG_COSH, quantity, true>(x, kappa, places, penalty, at)
                     : neighbour_sum<LOG_COSH, quantity, false>(x, kappa, places, penalty, at);
}

// out += scale * the sum of a quantity in the field of view; one thread for each voxel
template <int quantity>
__device__ void add(float *out, const float *x, const float *kappa, const unsigned *places, const uint2 *fov_rows,
                    const PenaltyShape &penalty)
{
    if (INDEX >= penalty.nx * penalty.ny * penalty.nz)
        return;
    const uint3 at = voxel_of(INDEX, make_uint3(penalty.nx, penalty.ny, penalty.nz), penalty.z_is_fastest);
    const uint2 inside = fov_rows[at.y];
    if (at.x < inside.x || at.x >= inside.y)
        return;
    const unsigned *y_places = places + penalty.nx, *z_places = y_places + penalty.ny;
    out[places[at.x] + y_places[at.y] + z_places[at.z]] += penalty.scale * sum_of<quantity>(x, kappa, places, penalty, at);
}

extern "C" __global__ void add_slopes(float *out, const float *x, const float *kappa, const unsigned *places,
                                      const uint2 *fov_rows, PenaltyShape penalty)
{
    add<SLOPE>(out, x, kappa, places, fov_rows, penalty);
}

extern "C" __global__ void add_curvatures(float *out, const float *x, const float *kappa, const unsigned *places,
                                          const uint2 *fov_rows, PenaltyShape penalty)
{
    add<CURVATURE>(out, x, kappa, places, fov_rows, penalty);
}

// partial[block] = the sum of the values over all neighbours of all voxels
extern "C" __global__ void sum_values(const float *x, const float *kappa, const unsigned *places, double *partial,
                                      PenaltyShape penalty)
{
    const unsigned len = penalty.nx * penalty.ny * penalty.nz;
    const uint3 size = make_uint3(penalty.nx, penalty.ny, penalty.nz);
    double sum = 0.0;
    for (unsigned i = INDEX; i < len; i += gridDim.x * THREADS)
        sum += (double)sum_of<VALUE>(x, kappa, places, penalty, voxel_of(i, size, penalty.z_is_fastest));
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}
