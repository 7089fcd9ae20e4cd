// The image of functions on a grid of a ring (src/engine/algebra/ring_basis is the definition).

// A slice of functions near a slice of voxels: where its coefficients begin, and the square of the distance, mm^2.
struct SliceNear {
    unsigned offset;
    float above_mm2;
};

// out[z][y][x] = sum over the functions near a voxel of coefficient times value. `first`, `near`: for each (x, y) of the plane the
// places of its functions and the squares of their distances; `first_slice`, `slices`: the same for each z. `values` = the
// function's values over the square of the distance, `steps_per_mm2` apart; none where functions are cells.
extern "C" __global__ void evaluate(const unsigned *first, const unsigned *near, const float *squares,
                                    const unsigned *first_slice, const SliceNear *slices, const float *values,
                                    float steps_per_mm2, int num_steps, const float *x, float *out, unsigned num_in_plane)
{
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.y;
    if (at >= num_in_plane)
        return;
    float sum = 0.0f;
    for (unsigned s = first_slice[z]; s < first_slice[z + 1]; s++) {
        const SliceNear slice = slices[s];
        for (unsigned k = first[at]; k < first[at + 1]; k++) {
            float value = 1.0f;
            if (num_steps > 0) {
                const float place = (squares[k] + slice.above_mm2) * steps_per_mm2;
                const int step = (int)place;
                value = place < num_steps ? values[step] + (place - step) * (values[step + 1] - values[step]) : 0.0f;
            }
            sum += value * x[slice.offset + near[k]];
        }
    }
    out[(unsigned long long)z * num_in_plane + at] = sum;
}
