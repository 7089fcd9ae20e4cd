// Sums over a block of THREADS threads.

#define THREADS 256

// The sum over a block, in thread 0.
__device__ double block_sum(double value)
{
    __shared__ double partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    const double sum = partial[0];
    __syncthreads();
    return sum;
}
