// Sparse linear maps between voxels; the definition is src/algebra/voxel_map. A voxel (x, y, z) lies at x_part[x] + y_part[y] +
// z_part[z]; the tables `from` and `to` have all parts of x, then of y, then of z.

// Outputs of a thread, next to each other along the axis.
#define OUTPUTS 4

#define INDEX ((unsigned)(blockIdx.x * blockDim.x + threadIdx.x))

// A map along an axis.
struct AlongShape {
    // Outputs along x, y and z.
    unsigned nx, ny, nz;
    unsigned axis;
    // Inputs along the axis, and weights of a row.
    unsigned num_inputs, width;
    // Weights from output to output, and from column to column.
    unsigned row_step, column_step;
    // 1 if neighbours along z lie next to each other, 0 if those along x do.
    unsigned z_is_fastest;
    // 1 if outputs outside the field of view are 0.
    unsigned is_masked;
};

// A map in every transaxial plane.
struct InPlaneShape {
    unsigned nx, ny, nz;
    unsigned z_is_fastest;
};

// The voxel of a number, in a space of this size.
__device__ uint3 voxel_of(unsigned number, uint3 size, unsigned z_is_fastest)
{
    if (z_is_fastest)
        return make_uint3(number / size.z % size.x, number / size.z / size.x, number % size.z);
    return make_uint3(number % size.x, number / size.x % size.y, number / size.x / size.y);
}

// out[..., i, ...] = sum over k of w[i][k] x[..., first[i] + k, ...]; one thread for OUTPUTS of them
extern "C" __global__ void along_axis(float *out, const float *x, const unsigned *from, const unsigned *to, const uint2 *fov_rows,
                                      const int *first, const float *weights, AlongShape map, unsigned len)
{
    if (INDEX >= len)
        return;
    uint3 size = make_uint3(map.nx, map.ny, map.nz);
    uint3 threads = size;
    const unsigned axis = map.axis;
    if (axis == 0)
        threads.x = (size.x + OUTPUTS - 1) / OUTPUTS;
    else if (axis == 1)
        threads.y = (size.y + OUTPUTS - 1) / OUTPUTS;
    else
        threads.z = (size.z + OUTPUTS - 1) / OUTPUTS;
    const uint3 at = voxel_of(INDEX, threads, map.z_is_fastest);
    // The parts of the places, of the axis and of the others.
    const unsigned from_nx = axis == 0 ? map.num_inputs : size.x, from_ny = axis == 1 ? map.num_inputs : size.y;
    const unsigned *to_y = to + size.x, *to_z = to_y + size.y, *from_y = from + from_nx, *from_z = from_y + from_ny;
    unsigned output, num_outputs, from_place, to_place;
    const unsigned *from_axis, *to_axis;
    if (axis == 0) {
        output = at.x * OUTPUTS, num_outputs = size.x, from_axis = from, to_axis = to;
        from_place = from_y[at.y] + from_z[at.z], to_place = to_y[at.y] + to_z[at.z];
    } else if (axis == 1) {
        output = at.y * OUTPUTS, num_outputs = size.y, from_axis = from_y, to_axis = to_y;
        from_place = from[at.x] + from_z[at.z], to_place = to[at.x] + to_z[at.z];
    } else {
        output = at.z * OUTPUTS, num_outputs = size.z, from_axis = from_z, to_axis = to_z;
        from_place = from[at.x] + from_y[at.y], to_place = to[at.x] + to_y[at.y];
    }
    float sums[OUTPUTS];
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
        sums[k] = 0.0f;
    if (map.row_step == 0) {
        // Outputs share their weights: each input is read once, and w[k] goes from output to output.
        const float *row = weights + (at.y * size.x + at.x) * map.column_step;
        float w[OUTPUTS];
#pragma unroll
        for (int k = 0; k < OUTPUTS; k++)
            w[k] = 0.0f;
        const int start = first[output];
        for (int k = 0; k < (int)map.width + OUTPUTS - 1; k++) {
#pragma unroll
            for (int other = OUTPUTS - 1; other > 0; other--)
                w[other] = w[other - 1];
            w[0] = k < (int)map.width ? row[k] : 0.0f;
            const int input = start + k;
            if (input < 0 || input >= (int)map.num_inputs)
                continue;
            const float value = x[from_place + from_axis[input]];
#pragma unroll
            for (int other = 0; other < OUTPUTS; other++)
                sums[other] += w[other] * value;
        }
    } else {
#pragma unroll
        for (int other = 0; other < OUTPUTS; other++) {
            if (output + other >= num_outputs)
                continue;
            const float *row = weights + (output + other) * map.row_step;
            const int start = first[output + other];
            for (int k = 0; k < (int)map.width; k++) {
                const int input = start + k;
                if (input >= 0 && input < (int)map.num_inputs)
                    sums[other] += row[k] * x[from_place + from_axis[input]];
            }
        }
    }
#pragma unroll
    for (int other = 0; other < OUTPUTS; other++) {
        if (output + other >= num_outputs)
            continue;
        const unsigned at_x = axis == 0 ? output + other : at.x, at_y = axis == 1 ? output + other : at.y;
        const uint2 inside = fov_rows[at_y];
        const bool is_seen = !map.is_masked || (at_x >= inside.x && at_x < inside.y);
        out[to_place + to_axis[output + other]] = is_seen ? sums[other] : 0.0f;
    }
}

// out[c][z] = sum of w x[c'][z] over the terms of column c; one thread for each voxel
extern "C" __global__ void in_plane(float *out, const float *x, const unsigned *places, const unsigned *first,
                                    const unsigned *columns, const float *weights, InPlaneShape map, unsigned len)
{
    if (INDEX >= len)
        return;
    const uint3 at = voxel_of(INDEX, make_uint3(map.nx, map.ny, map.nz), map.z_is_fastest);
    const unsigned *y_places = places + map.nx, column = at.y * map.nx + at.x;
    const unsigned z_place = y_places[map.ny + at.z];
    float sum = 0.0f;
    for (unsigned term = first[column]; term < first[column + 1]; term++) {
        const unsigned input = columns[term];
        sum += weights[term] * x[places[input % map.nx] + y_places[input / map.nx] + z_place];
    }
    out[places[at.x] + y_places[at.y] + z_place] = sum;
}
