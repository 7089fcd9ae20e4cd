// Sparse linear maps between voxels; the definition is src/algebra/voxel_map. A voxel (x, y, z) lies at x_part[x] + y_part[y] +
// z_part[z]; the tables `from` and `to` have all parts of x, then of y, then of z.

#include "voxel_of.cuh"

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

// Weights of a uniform map at most.
#define MAX_WIDTH 17

// A map along an axis with the same weights everywhere, between arrays of one order whose neighbours along each axis lie a fixed
// distance apart.
struct UniformShape {
    // Values along the axis, in groups of OUTPUTS, and along the others.
    unsigned num, num_groups, num_others, num_thirds;
    // Places between neighbours along the axis and along the others.
    unsigned stride, other_stride, third_stride;
    unsigned width;
    // 1 if neighbours along the axis lie next to each other, 0 if those along the other do.
    unsigned groups_are_first;
    // Which of the axis (0), the other (1) and the third (2) are x and y; 1 if outputs outside the field of view are 0.
    unsigned x_is, y_is, is_masked;
    // Zero behind the last one.
    float weights[MAX_WIDTH];
};

// Columns that a thread fetches of a row, and threads of a block at most.
#define FETCHES 3
#define MAX_THREADS 1024

// Maps along x, y and z, one after the other, each with the same weights everywhere, of images in columns along z.
struct ColumnsShape {
    // Voxels along x, y and z.
    unsigned nx, ny, nz;
    // Places of a column.
    unsigned column_len;
    // Rows of a block.
    unsigned num_rows;
    // Weights along any of the axes at most.
    unsigned width;
    // About the middle of MAX_WIDTH, zero beyond.
    float x_weights[MAX_WIDTH], y_weights[MAX_WIDTH], z_weights[MAX_WIDTH];
};

// A map in every transaxial plane.
struct InPlaneShape {
    unsigned nx, ny, nz;
    unsigned z_is_fastest;
};

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

// The sums of a thread's outputs, whose first input is `start`, of maps with up to WIDTH weights. All values are asked for before the
// first is needed.
template <int WIDTH>
__device__ __forceinline__ void sum_up(float sums[OUTPUTS], const float *x, const UniformShape &map, int start)
{
    float values[WIDTH + OUTPUTS - 1];
#pragma unroll
    for (int k = 0; k < WIDTH + OUTPUTS - 1; k++) {
        const unsigned input = (unsigned)(start + k);
        values[k] = k < (int)map.width + OUTPUTS - 1 && input < map.num ? x[input * map.stride] : 0.0f;
    }
#pragma unroll
    for (int output = 0; output < OUTPUTS; output++)
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            sums[output] += map.weights[k] * values[output + k];
}

// The same sums as along_axis, with all numbers of the map among the parameters; one thread for OUTPUTS of them
extern "C" __global__ void along_axis_uniform(float *out, const float *x, const uint2 *fov_rows, UniformShape map)
{
    const unsigned per_third = map.num_groups * map.num_others;
    if (INDEX >= per_third)
        return;
    const unsigned group = map.groups_are_first ? INDEX % map.num_groups : INDEX / map.num_others;
    const unsigned other = map.groups_are_first ? INDEX / map.num_groups : INDEX % map.num_others;
    const unsigned third = blockIdx.y;
    const unsigned place = other * map.other_stride + third * map.third_stride, output = group * OUTPUTS;
    bool is_seen[OUTPUTS], is_any_seen = false;
    float sums[OUTPUTS];
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++) {
        sums[k] = 0.0f;
        is_seen[k] = output + k < map.num;
        if (map.is_masked && is_seen[k]) {
            const unsigned at_x = map.x_is == 0 ? output + k : map.x_is == 1 ? other : third;
            const unsigned at_y = map.y_is == 0 ? output + k : map.y_is == 1 ? other : third;
            const uint2 inside = fov_rows[at_y];
            is_seen[k] = at_x >= inside.x && at_x < inside.y;
        }
        is_any_seen |= is_seen[k];
    }
    if (is_any_seen) {
        const int start = (int)output - (int)(map.width / 2);
        if (map.width <= 5)
            sum_up<5>(sums, x + place, map, start);
        else if (map.width <= 9)
            sum_up<9>(sums, x + place, map, start);
        else
            sum_up<MAX_WIDTH>(sums, x + place, map, start);
    }
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
        if (output + k < map.num)
            out[place + (output + k) * map.stride] = is_seen[k] ? sums[k] : 0.0f;
}

// The sums of along_columns, with up to WIDTH weights along each axis.
template <int WIDTH>
__device__ __forceinline__ void sum_columns(float *out, const float *x, const int *z_of, const uint2 *fov_rows,
                                            const ColumnsShape &map)
{
    const int REACH = WIDTH / 2, FIRST = MAX_WIDTH / 2 - REACH;
    extern __shared__ float shared[];
    const int place = threadIdx.x, column = threadIdx.y, num_columns = blockDim.y;
    const int len = map.column_len, line_len = map.nz + 2 * REACH;
    // The columns of a row about the block's, [column][place]; and the block's own, summed along x, [column][z], between zeros.
    float *row = shared, *line = row + (num_columns + 2 * REACH) * len + column * line_len;
    const int x0 = blockIdx.x * num_columns, at_x = x0 + column, z = z_of[place];
    const int y0 = blockIdx.y * map.num_rows, y_end = min(y0 + (int)map.num_rows, (int)map.ny);
    for (int k = place; k < line_len; k += len)
        line[k] = 0.0f;
    // What later rows are still added to: the next WIDTH - 1 outputs.
    float sums[WIDTH];
#pragma unroll
    for (int k = 0; k < WIDTH; k++)
        sums[k] = 0.0f;
    float fetched[FETCHES];
    bool is_fetched = false;
    for (int y = y0 - REACH - 1; y < y_end + REACH; y++) {
        const bool is_there = is_fetched;
        if (is_there) {
            // (The row's last readers have passed the barrier of the row before.)
#pragma unroll
            for (int k = 0; k < FETCHES; k++)
                if (column + k * num_columns < num_columns + 2 * REACH)
                    row[(column + k * num_columns) * len + place] = fetched[k];
        }
        // The next row, while this one is summed; without a column in the field of view there is nothing to do for it.
        const int next = y + 1;
        is_fetched = false;
        if (next >= 0 && next < (int)map.ny && next < y_end + REACH) {
            const uint2 inside = fov_rows[next];
            is_fetched = (int)inside.x < x0 + num_columns + REACH && (int)inside.y > x0 - REACH && inside.x < inside.y;
            if (is_fetched) {
#pragma unroll
                for (int k = 0; k < FETCHES; k++) {
                    const int from_x = at_x + k * num_columns - REACH;
                    const bool is_seen = from_x >= (int)inside.x && from_x < (int)inside.y && from_x < x0 + num_columns + REACH;
                    fetched[k] = is_seen ? x[(next * map.nx + from_x) * len + place] : 0.0f;
                }
            }
        }
        float value = 0.0f;
        if (is_there) {
            __syncthreads();
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < WIDTH; k++)
                sum += map.x_weights[FIRST + k] * row[(column + k) * len + place];
            if (z >= 0)
                line[REACH + z] = sum;
            __syncthreads();
            if (z >= 0) {
#pragma unroll
                for (int k = 0; k < WIDTH; k++)
                    value += map.z_weights[FIRST + k] * line[z + k];
            }
        }
        if (y < y0 - REACH)
            continue;
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            sums[k] = (k + 1 < WIDTH ? sums[k + 1] : 0.0f) + map.y_weights[FIRST + WIDTH - 1 - k] * value;
        const int to_y = y - REACH;
        if (to_y >= y0 && z >= 0 && at_x < (int)map.nx) {
            const uint2 inside = fov_rows[to_y];
            const bool is_seen = at_x >= (int)inside.x && at_x < (int)inside.y;
            out[(to_y * map.nx + at_x) * len + place] = is_seen ? sums[0] : 0.0f;
        }
    }
}

// Three maps with the same weights everywhere at once, of an image that is zero outside the field of view: as is the result. A block
// has some columns along x, of num_rows rows, and walks along y; z_of has the z of each place of a column, -1 of a place that has none.
extern "C" __global__ void __launch_bounds__(MAX_THREADS) along_columns(float *out, const float *x, const int *z_of, const uint2 *fov_rows, ColumnsShape map)
{
    if (map.width <= 5)
        sum_columns<5>(out, x, z_of, fov_rows, map);
    else if (map.width <= 9)
        sum_columns<9>(out, x, z_of, fov_rows, map);
    else
        sum_columns<MAX_WIDTH>(out, x, z_of, fov_rows, map);
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
