// x = x * correction / sensitivity where the sensitivity is positive, else 0: the update of MLEM and OSEM
// (Belzunce et al. 2012, eq. 4). The same arithmetic, in the same order, as `em_update` in src/operator/backend.rs.

extern "C" __global__ void em_update(float *x, const float *correction, const float *sensitivity,
                                     unsigned long long len)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= len)
        return;
    const float s = sensitivity[i];
    x[i] = s > 0.0f ? x[i] * correction[i] / s : 0.0f;
}
