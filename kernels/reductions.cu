// Sums and maxima. The grid has a fixed size and each thread a fixed share of the values, so that sums have the same
// bits on every run; each block leaves one partial result, and the host combines them in order.

#include "block_sum.cuh"

#define INFINITE __int_as_float(0x7f800000)

// The largest value over a block, in thread 0.
__device__ float block_max(float value)
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    const float most = partial[0];
    __syncthreads();
    return most;
}

#define EACH_VALUE(i, len)                                                                                             \
    for (unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x; i < len;                       \
         i += (unsigned long long)gridDim.x * THREADS)

// partial[block] = sum of x y
extern "C" __global__ void dot(const float *x, const float *y, double *partial, unsigned long long len)
{
    double sum = 0.0;
    EACH_VALUE(i, len)
    sum += (double)x[i] * (double)y[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

// partial[block] = sum of x y, each row of y, `row` values long, for `repeats` consecutive rows of x
extern "C" __global__ void dot_rows(const float *x, const float *y, double *partial, unsigned row, unsigned repeats,
                                    unsigned long long len)
{
    double sum = 0.0;
    EACH_VALUE(i, len)
    sum += (double)x[i] * (double)y[i / row / repeats * row + i % row];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

// partial[block] = largest x
extern "C" __global__ void largest(const float *x, double *partial, unsigned long long len)
{
    float most = -INFINITE;
    EACH_VALUE(i, len)
    most = fmaxf(most, x[i]);
    most = block_max(most);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = most;
}

// partial[block] = largest |x|
extern "C" __global__ void largest_magnitude(const float *x, double *partial, unsigned long long len)
{
    float most = 0.0f;
    EACH_VALUE(i, len)
    most = fmaxf(most, fabsf(x[i]));
    most = block_max(most);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = most;
}

// x = max(floor, x + step_size preconditioner direction), rounded after each operation as on the host; for each block the sums of the
// squares of preconditioner direction and of the x before
extern "C" __global__ void climb(float *x, const float *floor, float step_size, const float *preconditioner,
                                 const float *direction, double *partial, unsigned long long len)
{
    double of_steps = 0.0, of_x = 0.0;
    EACH_VALUE(i, len)
    {
        const float step = __fmul_rn(preconditioner[i], direction[i]), before = x[i];
        of_steps += (double)step * (double)step;
        of_x += (double)before * (double)before;
        x[i] = fmaxf(__fadd_rn(before, __fmul_rn(step_size, step)), floor[i]);
    }
    of_steps = block_sum(of_steps);
    of_x = block_sum(of_x);
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = of_steps;
        partial[2 * blockIdx.x + 1] = of_x;
    }
}

// Values that a thread of the next one reads at once.
#define AT_ONCE 4

// estimate = y / estimate, at most `most`, where the estimate is above 0, else 0 (Belzunce et al. 2012, eq. 3, the ratio b/p); for
// each block the Poisson log-likelihood, the counts of bins with an estimate, the number of bins with counts and none, the number of
// limited ratios, and over all bins the squared differences and the estimates.
extern "C" __global__ void poisson_ratio(const float *y, float *estimate, float most, double *partial, unsigned long long len)
{
    double log_likelihood = 0.0, counts = 0.0, squares = 0.0, sum_expected = 0.0;
    unsigned impossible = 0, limited = 0;
    const unsigned long long stride = (unsigned long long)gridDim.x * THREADS;
    for (unsigned long long i = (unsigned long long)blockIdx.x * THREADS + threadIdx.x; i < len; i += AT_ONCE * stride) {
        // All are on their way before the first is used. What lies beyond the end adds nothing.
        float all_measured[AT_ONCE], all_expected[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const bool is_there = i + k * stride < len;
            all_measured[k] = is_there ? y[i + k * stride] : 0.0f;
            all_expected[k] = is_there ? estimate[i + k * stride] : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const float measured = all_measured[k], expected = all_expected[k], difference = measured - expected;
            float ratio = 0.0f;
            squares += (double)(difference * difference);
            sum_expected += (double)expected;
            // (What is no number stays none.)
            if (!(expected <= 0.0f)) {
                ratio = measured / expected;
                if (ratio > most) {
                    ratio = most;
                    limited++;
                }
                log_likelihood += (double)(measured * logf(expected) - expected);
                counts += (double)measured;
            } else if (measured > 0.0f) {
                impossible++;
            }
            if (i + k * stride < len)
                estimate[i + k * stride] = ratio;
        }
    }
    log_likelihood = block_sum(log_likelihood);
    counts = block_sum(counts);
    const double num_impossible = block_sum((double)impossible);
    const double num_limited = block_sum((double)limited);
    squares = block_sum(squares);
    sum_expected = block_sum(sum_expected);
    if (threadIdx.x == 0) {
        double *const out = partial + 6 * blockIdx.x;
        out[0] = log_likelihood;
        out[1] = counts;
        out[2] = num_impossible;
        out[3] = num_limited;
        out[4] = squares;
        out[5] = sum_expected;
    }
}

// For each region, one block each: the weighted sums of values and of their squares, the smallest and the largest value.
// Region b has the places first[b] ... first[b + 1].
extern "C" __global__ void roi_sums(const float *x, const unsigned *index, const float *weight, const unsigned *first,
                                    double *sums)
{
    double sum_of_weights = 0.0, sum = 0.0, sum_of_squares = 0.0;
    float least = INFINITE, most = -INFINITE;
    for (unsigned i = first[blockIdx.x] + threadIdx.x; i < first[blockIdx.x + 1]; i += THREADS) {
        const float value = x[index[i]];
        const double w = weight[i], v = value;
        sum_of_weights += w;
        sum += w * v;
        sum_of_squares += w * v * v;
        least = fminf(least, value);
        most = fmaxf(most, value);
    }
    sum_of_weights = block_sum(sum_of_weights);
    sum = block_sum(sum);
    sum_of_squares = block_sum(sum_of_squares);
    least = -block_max(-least);
    most = block_max(most);
    if (threadIdx.x == 0) {
        double *const out = sums + 5 * blockIdx.x;
        out[0] = sum_of_weights;
        out[1] = sum;
        out[2] = sum_of_squares;
        out[3] = least;
        out[4] = most;
    }
}
