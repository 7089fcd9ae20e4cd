// x = x * correction / sensitivity where the sensitivity is above `least`, else 0: the update of MLEM and OSEM
// (Belzunce et al. 2012, eq. 4). The same arithmetic, in the same order, as `em_update` in src/recon/em_kernels.rs.

extern "C" __global__ void em_update(float *x, const float *correction, const float *sensitivity,
                                     float least, unsigned long long len)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= len)
        return;
    const float s = sensitivity[i];
    const float c = correction[i] < 0.0f ? 0.0f : correction[i];
    x[i] = s > least ? x[i] * c / s : 0.0f;
}
