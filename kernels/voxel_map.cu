// Sparse linear maps between voxels; the definition is src/engine/algebra/voxel_map. A voxel (x, y, z) lies at x_part[x] + y_part[y] +
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

// Outputs of a thread along x or y, of maps of columns; their threads of a block, and their weights along an axis at most.
#define COLUMNS 4
#define MAX_THREADS 256
#define MAX_COLUMNS_WIDTH 9

// Maps along x and z at once, or along y, with the same weights everywhere, of images in columns along z. A thread has four places of a
// column: column_len is a multiple of four.
struct ColumnsShape {
    // Voxels along x, y and z.
    unsigned nx, ny, nz;
    // Places of a column, and values of an array, with those behind the last column.
    unsigned column_len, array_len;
    // Weights along any axis at most.
    unsigned width;
    // 1 if inputs outside the field of view, or which are no voxels, are something else than 0; 1 if outputs there are 0.
    unsigned is_first, is_last;
    // About the middle of MAX_COLUMNS_WIDTH, zero beyond: along x or y, and along z.
    float weights[MAX_COLUMNS_WIDTH], z_weights[MAX_COLUMNS_WIDTH];
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

__device__ __forceinline__ void add_scaled(float4 *to, float factor, float4 from)
{
    to->x += factor * from.x;
    to->y += factor * from.y;
    to->z += factor * from.z;
    to->w += factor * from.w;
}

// The sums of COLUMNS outputs, whose first input is values[0].
template <int WIDTH>
__device__ __forceinline__ void sum_along(float4 sums[COLUMNS], const ColumnsShape &map, const float4 values[COLUMNS + WIDTH - 1])
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        sums[c] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            add_scaled(&sums[c], map.weights[(MAX_COLUMNS_WIDTH - WIDTH) / 2 + k], values[c + k]);
    }
}

// Values where they count.
__device__ __forceinline__ float4 masked(float4 value, const bool counts[4])
{
    return make_float4(counts[0] ? value.x : 0.0f, counts[1] ? value.y : 0.0f, counts[2] ? value.z : 0.0f, counts[3] ? value.w : 0.0f);
}

// Sets the values behind the last column to 0.
__device__ __forceinline__ void clear_tail(float *out, const ColumnsShape &map)
{
    if (blockIdx.x + blockIdx.y > 0)
        return;
    const unsigned first = threadIdx.y * blockDim.x + threadIdx.x, count = blockDim.x * blockDim.y;
    for (unsigned k = map.nx * map.ny * map.column_len + first; k < map.array_len; k += count)
        out[k] = 0.0f;
}

template <int WIDTH>
__device__ __forceinline__ void sum_x_and_z(float *out, const float *x, const int *z_of, const unsigned *places,
                                            const uint2 *fov_rows, const ColumnsShape &map)
{
    const int REACH = WIDTH / 2, FIRST = MAX_COLUMNS_WIDTH / 2 - REACH;
    // The sums along x of this row, [column][place], each column with zeros behind.
    extern __shared__ float4 shared[];
    const int len = map.column_len, line_len = len + 4;
    float *const lines = (float *)shared + threadIdx.y * COLUMNS * line_len;
    const int y = blockIdx.y * blockDim.y + threadIdx.y, thread = threadIdx.x, num_threads = blockDim.x;
    const int first_x = blockIdx.x * COLUMNS;
    const bool is_row = y < (int)map.ny;
    const uint2 inside = is_row ? fov_rows[y] : make_uint2(0, 0);
    clear_tail(out, map);
    float4 sums[COLUMNS];
    // (All values are asked for before the first is needed.)
    const float *const from = x + ((size_t)y * map.nx + first_x) * len + 4 * thread;
    float4 values[COLUMNS + WIDTH - 1];
#pragma unroll
    for (int k = 0; k < COLUMNS + WIDTH - 1; k++) {
        const int from_x = first_x + k - REACH;
        const bool is_seen = from_x >= (int)inside.x && from_x < (int)inside.y;
        values[k] = is_seen ? *(const float4 *)(from + (k - REACH) * len) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    sum_along<WIDTH>(sums, map, values);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        *(float4 *)(lines + c * line_len + 4 * thread) = sums[c];
    for (int c = thread; c < COLUMNS; c += num_threads)
        lines[c * line_len + len] = 0.0f;
    __syncthreads();
    if (!is_row)
        return;
    // Every num_threads-th place, one after the other: neighbouring threads read and write neighbouring ones.
    for (int place = thread; place < len; place += num_threads) {
        const int z = z_of[place];
        int at[WIDTH];
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            const int from_z = z + k - REACH;
            at[k] = z >= 0 && from_z >= 0 && from_z < (int)map.nz ? (int)places[from_z] : len;
        }
        float *const to = out + ((size_t)y * map.nx + first_x) * len + place;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < WIDTH; k++)
                sum += map.z_weights[FIRST + k] * lines[c * line_len + at[k]];
            const bool is_seen = !map.is_last || (first_x + c >= (int)inside.x && first_x + c < (int)inside.y);
            if (first_x + c < (int)map.nx)
                to[c * len] = is_seen ? sum : 0.0f;
        }
    }
}

// out = x summed along x, then along z, of an image whose values outside the field of view count as 0. A block has all places of
// COLUMNS columns of some rows. z_of has the z of each place of a column, -1 of one that has none; places those of all z. All values
// of out are written.
extern "C" __global__ void __launch_bounds__(MAX_THREADS)
    along_x_and_z(float *out, const float *x, const int *z_of, const unsigned *places, const uint2 *fov_rows, ColumnsShape map)
{
    if (map.width <= 5)
        sum_x_and_z<5>(out, x, z_of, places, fov_rows, map);
    else
        sum_x_and_z<MAX_COLUMNS_WIDTH>(out, x, z_of, places, fov_rows, map);
}

template <int WIDTH>
__device__ __forceinline__ void sum_y(float *out, const float *x, const int *z_of, const uint2 *fov_rows, const ColumnsShape &map)
{
    const int REACH = WIDTH / 2;
    const int row_len = map.nx * map.column_len, index = 4 * INDEX, place = index % map.column_len;
    clear_tail(out, map);
    if (index >= row_len)
        return;
    const int at_x = index / map.column_len, first_y = blockIdx.y * COLUMNS;
    bool is_voxel[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        is_voxel[j] = z_of[place + j] >= 0;
    float4 sums[COLUMNS];
    float4 values[COLUMNS + WIDTH - 1];
#pragma unroll
    for (int k = 0; k < COLUMNS + WIDTH - 1; k++) {
        const int y = first_y + k - REACH;
        bool is_seen = y >= 0 && y < (int)map.ny;
        if (map.is_first && is_seen)
            is_seen = at_x >= (int)fov_rows[y].x && at_x < (int)fov_rows[y].y;
        values[k] = is_seen ? *(const float4 *)(x + y * row_len + index) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (map.is_first)
            values[k] = masked(values[k], is_voxel);
    }
    sum_along<WIDTH>(sums, map, values);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const int y = first_y + c;
        if (y >= (int)map.ny)
            continue;
        const uint2 inside = fov_rows[y];
        const bool is_seen = !map.is_last || (at_x >= (int)inside.x && at_x < (int)inside.y);
        *(float4 *)(out + y * row_len + index) = is_seen ? sums[c] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
}

// out = x summed along y; one thread for four places of COLUMNS columns. All values of out are written.
extern "C" __global__ void __launch_bounds__(MAX_THREADS)
    along_y(float *out, const float *x, const int *z_of, const uint2 *fov_rows, ColumnsShape map)
{
    if (map.width <= 5)
        sum_y<5>(out, x, z_of, fov_rows, map);
    else
        sum_y<MAX_COLUMNS_WIDTH>(out, x, z_of, fov_rows, map);
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
