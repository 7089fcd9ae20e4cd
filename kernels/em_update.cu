// Updates of MLEM and OSEM on images. The same arithmetic, in the same order, as in src/engine/recon/em_kernels.rs.

#define INDEX ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)

// x = x * correction / sensitivity where the sensitivity is above 0, else x (Belzunce et al. 2012, eq. 4)
extern "C" __global__ void em_update(float *x, const float *correction, const float *sensitivity, unsigned long long len)
{
    if (INDEX >= len)
        return;
    const float s = sensitivity[INDEX];
    const float c = correction[INDEX] < 0.0f ? 0.0f : correction[INDEX];
    if (s > 0.0f)
        x[INDEX] = x[INDEX] * c / s;
}

// Sets to 0 what is at most `least` of the largest value of its column, one thread per column: value k of column c of a block of
// `width` columns lies at c + k * width, and the blocks follow each other.
extern "C" __global__ void drop_rounding(float *sensitivity, float least, unsigned len, unsigned long long width,
                                         unsigned long long count)
{
    if (INDEX >= count)
        return;
    float *const column = sensitivity + INDEX / width * (width * len) + INDEX % width;
    float largest = 0.0f;
    for (unsigned k = 0; k < len; k++)
        largest = fmaxf(largest, column[k * width]);
    largest *= least;
    for (unsigned k = 0; k < len; k++)
        if (column[k * width] <= largest)
            column[k * width] = 0.0f;
}

// out = x where the sensitivity is above 0, else 0
extern "C" __global__ void seen(float *out, const float *x, const float *sensitivity, unsigned long long len)
{
    if (INDEX < len)
        out[INDEX] = sensitivity[INDEX] > 0.0f ? x[INDEX] : 0.0f;
}
