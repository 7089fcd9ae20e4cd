// Tubes of response, the fast pair (src/operator/tubes/ is the definition; src/cuda/tubes.rs lays out the tables).
//
// Seen from above, the samples of all tubes of a view lie on one lattice: rows along its lines, columns one tangential
// position apart. A cell is a point of it with the image's values there at all z, even and odd slices apart. The image is
// interpolated on the cells (`resample`); then bin p of a ring difference is, with r for rows, j for columns, s for taps,
//
//     sum over r, j, class, s of w[r][j][class][s] cell[r][j][class][window + p + s]
//
// (`project`), where the windows do not depend on the tangential position and the weights not on the view. A *line* is the
// half of a view with tangential indices of one sign: those of the other have the same weights, in columns that count the
// other way. `spread` and `collect` are the adjoints, line by line in reverse; every sum has one order.
//
// In `project` and `spread` a lane has some planes, or slices of each class, that follow each other: P of them need P TAPS
// multiply-adds of P + TAPS - 1 values. The lanes of a warp have all of them for P lines.

#define WARP 32
#define FULL 0xffffffffu
// Samples of a tube across, all that they and the interpolation in z reach along z, and how many of these are of one parity.
#define ACROSS 7
#define REACH 8
#define TAPS 4
// Slices of one parity in a column of the image.
#define LANES 32
#define COLUMN (2 * LANES)
// Rings at most.
#define RINGS 32
#define GROUPS (2 * RINGS - 1)

struct Plan {
    int num_radial;
    int num_rows;
    int num_differences;
    int num_groups;
    // Columns of a line: those of |tangential index| 0 ... and ACROSS / 2 beyond either end.
    int num_columns;
    int num_tangential;
    int num_planes;
    int nx;
    int ny;
    int nz;
    // Where the axis is in the image, in voxels.
    float axis_x;
    float axis_y;
    // Distances of rows and of columns, and how far from the axis something is seen, mm.
    float along_mm;
    float across_mm;
    float radius_mm;
};

// Steps of the lattice of a line in voxels, from column to column and from row to row; and voxels in steps of the lattice.
struct Line {
    float column_x, column_y, row_x, row_y;
    float x_column, y_column, x_row, y_row;
};

// The planes of a ring difference.
struct Group {
    int first_plane;
    int num_planes;
    int difference;
    int is_mirrored;
};

__device__ __forceinline__ int clamped(int value, int least, int most)
{
    return min(max(value, least), most);
}

// The line of this number among those of some views, the two of a view side by side in `lines`.
__device__ __forceinline__ Line line_of(const Line *lines, int first_view, int view_step, int number)
{
    return lines[2 * (first_view + number / 2 * view_step) + number % 2];
}

// Whether anything is seen at a point of a lattice, rows and columns counted from the axis.
__device__ __forceinline__ bool is_seen(const Plan &plan, int row, int column)
{
    const float along = row * plan.along_mm, across = column * plan.across_mm;
    return along * along + across * across < plan.radius_mm * plan.radius_mm;
}

// A point of a lattice in voxels.
__device__ __forceinline__ float2 voxel_of(const Plan &plan, const Line &line, int row, int column)
{
    return make_float2(plan.axis_x + (column * line.column_x + row * line.row_x),
                       plan.axis_y + (column * line.column_y + row * line.row_y));
}

// cells[line][row][column][place] = the image, interpolated bilinearly. A thread for two places; blocks [place, column].
extern "C" __global__ void resample(const Plan plan, const Line *lines, int first_view, int view_step,
                                    const float2 *image, float2 *cells)
{
    const int column = blockIdx.x * blockDim.y + threadIdx.y;
    if (column >= plan.num_columns)
        return;
    const int row = blockIdx.y;
    const unsigned long long cell =
        ((unsigned long long)blockIdx.z * plan.num_rows + row) * plan.num_columns + column;
    const int from_axis[2] = {row - plan.num_rows / 2, column - ACROSS / 2};
    float2 sum = make_float2(0.0f, 0.0f);
    if (is_seen(plan, from_axis[0], from_axis[1])) {
        const float2 at = voxel_of(plan, line_of(lines, first_view, view_step, blockIdx.z), from_axis[0], from_axis[1]);
        const float low_x = floorf(at.x), low_y = floorf(at.y);
#pragma unroll
        for (int corner = 0; corner < 4; corner++) {
            const int x = (int)low_x + corner % 2, y = (int)low_y + corner / 2;
            if (x < 0 || x >= plan.nx || y < 0 || y >= plan.ny)
                continue;
            const float weight = (1.0f - fabsf(at.x - x)) * (1.0f - fabsf(at.y - y));
            const float2 value = image[(y * plan.nx + x) * (COLUMN / 2) + threadIdx.x];
            sum.x += weight * value.x;
            sum.y += weight * value.y;
        }
    }
    cells[cell * (COLUMN / 2) + threadIdx.x] = sum;
}

// Sums of two places of a voxel, line by line: in one order, or in 64-bit fixed point, to which each line is rounded, so that it does
// not matter which device has which lines.
struct FloatSum {
    float2 sum;

    __device__ __forceinline__ void end_line() {}
};

struct FixedSum {
    float2 sum;
    float scale;
    longlong2 total;

    __device__ __forceinline__ void end_line()
    {
        total.x += __float2ll_rn(scale * sum.x);
        total.y += __float2ll_rn(scale * sum.y);
        sum = make_float2(0.0f, 0.0f);
    }
};

// Two places of a voxel: those of this thread.
struct Here {
    int x, y, voxel;
    // Whether there is something at either place.
    bool is_seen[2];
};

__device__ __forceinline__ bool find_here(const Plan &plan, const int2 *fov_rows, Here &here)
{
    here.x = blockIdx.x * blockDim.y + threadIdx.y, here.y = blockIdx.y;
    if (here.x >= plan.nx)
        return false;
    here.voxel = (here.y * plan.nx + here.x) * (COLUMN / 2) + threadIdx.x;
    const int2 inside = fov_rows[here.y];
    const bool is_inside = here.x >= inside.x && here.x < inside.y;
    const int place = 2 * threadIdx.x, z = 2 * (place % LANES) + place / LANES;
    here.is_seen[0] = is_inside && z < plan.nz;
    here.is_seen[1] = is_inside && z + 2 < plan.nz;
    return true;
}

// What some lines give to two places of a voxel: the transpose of `resample`.
template <class Sum>
__device__ __forceinline__ void add_lines(const Plan &plan, const Line *lines, int first_view, int view_step, int num_lines,
                                          const float2 *cells, const Here &here, Sum &sum)
{
    const float from_x = here.x - plan.axis_x, from_y = here.y - plan.axis_y;
    const int middle = plan.num_rows / 2;
    for (int number = 0; here.is_seen[0] && number < num_lines; number++) {
        const Line line = line_of(lines, first_view, view_step, number);
        const float2 *const first =
            cells + (unsigned long long)number * plan.num_rows * plan.num_columns * (COLUMN / 2) + threadIdx.x;
        const float column = from_x * line.x_column + from_y * line.y_column;
        const float row = from_x * line.x_row + from_y * line.y_row;
        const float columns = fabsf(line.x_column) + fabsf(line.y_column), rows = fabsf(line.x_row) + fabsf(line.y_row);
        const int last_row = min((int)floorf(row + rows), plan.num_rows - 1 - middle);
        const int last_column = min((int)floorf(column + columns), plan.num_radial - 1 + ACROSS / 2);
        for (int r = max((int)ceilf(row - rows), -middle); r <= last_row; r++)
            for (int c = max((int)ceilf(column - columns), -(ACROSS / 2)); c <= last_column; c++) {
                const float2 at = voxel_of(plan, line, r, c);
                const float weight =
                    fmaxf(1.0f - fabsf(at.x - here.x), 0.0f) * fmaxf(1.0f - fabsf(at.y - here.y), 0.0f);
                if (weight > 0.0f && is_seen(plan, r, c)) {
                    const float2 value = first[((r + middle) * plan.num_columns + c + ACROSS / 2) * (COLUMN / 2)];
                    sum.sum.x += weight * value.x;
                    sum.sum.y += weight * value.y;
                }
            }
        sum.end_line();
    }
}

#define COLLECT                                                                                                              \
    const Plan plan, const Line *lines, int first_view, int view_step, int num_lines, const int2 *fov_rows

// image[y][x][place] += these lines. A thread for two places; blocks [place, x].
extern "C" __global__ void collect(COLLECT, const float2 *cells, float2 *image)
{
    Here here;
    if (!find_here(plan, fov_rows, here))
        return;
    FloatSum sum = {image[here.voxel]};
    add_lines(plan, lines, first_view, view_step, num_lines, cells, here, sum);
    image[here.voxel] = make_float2(here.is_seen[0] ? sum.sum.x : 0.0f, here.is_seen[1] ? sum.sum.y : 0.0f);
}

// image[y][x][place] += these lines, at a scale.
extern "C" __global__ void collect_fixed(COLLECT, const float2 *cells, ulonglong2 *image, float scale)
{
    Here here;
    if (!find_here(plan, fov_rows, here) || !here.is_seen[0])
        return;
    const ulonglong2 before = image[here.voxel];
    FixedSum sum = {make_float2(0.0f, 0.0f), scale, make_longlong2(before.x, before.y)};
    add_lines(plan, lines, first_view, view_step, num_lines, cells, here, sum);
    image[here.voxel] = make_ulonglong2(sum.total.x, here.is_seen[1] ? sum.total.y : 0);
}

// Where the slices of plane 0 begin, for the taps of even and odd place: class and lane of each, as 2 lane + class in 16 bits.
struct Window {
    int code;

    __device__ __forceinline__ int of_class(int parity) const { return (code >> (16 * parity)) & 1; }
    __device__ __forceinline__ int lane(int parity) const { return (int)(short)(code >> (16 * parity)) >> 1; }
};

// The weights of a sample in shared memory, as they lie in `weights`: for either parity TAPS of them, and behind these the same
// in reverse, for ring differences below 0.
#define SAMPLE (REACH / 4)
#define BOTH_WAYS 2

__device__ __forceinline__ float4 reversed(const float4 &taps)
{
    return make_float4(taps.w, taps.z, taps.y, taps.x);
}

__device__ __forceinline__ void unpack(float (&taps)[TAPS], const float4 &from)
{
    taps[0] = from.x, taps[1] = from.y, taps[2] = from.z, taps[3] = from.w;
}

// Planes of a lane of `project`, which are also the lines of a warp; the values that they need; the lanes of a line.
#define PLANES 4
#define PLANE_VALUES (PLANES + TAPS - 1)
#define LINE_LANES (LANES / PLANES)
// |tangential indices| of a block of `project`, the columns that they reach, and the warps of the block.
#define RADIALS 2
#define PROJECT_COLUMNS (RADIALS + ACROSS - 1)
#define PROJECT_WARPS 11
#define PROJECT_THREADS (WARP * PROJECT_WARPS)
// A class of a cell in shared memory, with zeros around it that windows beyond its ends read.
#define ROOM ((PLANE_VALUES + 3) / 4 * 4)
#define CLASS (ROOM + LANES + ROOM)
#define CELL (2 * CLASS)
// Lines lie so that the lanes of a warp read from different banks.
#define LINE_PITCH (PROJECT_COLUMNS * CELL + 1)
#define ROW_PITCH (PLANES * LINE_PITCH + LANES / 2 - PLANES)
#define DIFFERENCE_WEIGHTS (RADIALS * ACROSS * REACH)
// Rows that are in shared memory at once.
#define ROWS 2
#define ROW_CELLS (PLANES * PROJECT_COLUMNS * COLUMN)
#define CELLS_EACH ((ROWS * ROW_CELLS + PROJECT_THREADS - 1) / PROJECT_THREADS)
#define WEIGHTS_EACH ((ROWS * PROJECT_WARPS * DIFFERENCE_WEIGHTS / 4 + PROJECT_THREADS - 1) / PROJECT_THREADS)

// What a warp of `project` does in one and in the other half of its time: if its planes are many, one group in one row after
// the other; if they are few, two groups, one after the other, each half of the lanes in a row of its own.
struct Slot {
    // -1 = none.
    int groups[2];
    int are_mirrored[2];
    // Which of the block's ring differences.
    int difference;
    int is_small;
};

// Adds the samples of a row: `cells` = those of this lane's line, `weights` = [radial][across].
__device__ __forceinline__ void add_row(float (&sums)[RADIALS][PLANES], const float *cells, const Window &window, int from,
                                        const float4 *weights)
{
    const float *values[2];
#pragma unroll
    for (int parity = 0; parity < 2; parity++) {
        const int lane = clamped(window.lane(parity) + from, -PLANE_VALUES, LANES);
        values[parity] = cells + window.of_class(parity) * CLASS + ROOM + lane;
    }
#pragma unroll
    for (int column = 0; column < PROJECT_COLUMNS; column++) {
#pragma unroll
        for (int parity = 0; parity < 2; parity++) {
            float value[PLANE_VALUES];
#pragma unroll
            for (int k = 0; k < PLANE_VALUES; k++)
                value[k] = values[parity][column * CELL + k];
#pragma unroll
            for (int r = 0; r < RADIALS; r++)
                if (column >= r && column < r + ACROSS) {
                    float taps[TAPS];
                    unpack(taps, weights[(r * ACROSS + column - r) * SAMPLE + parity]);
#pragma unroll
                    for (int s = 0; s < TAPS; s++)
#pragma unroll
                        for (int k = 0; k < PLANES; k++)
                            sums[r][k] += taps[s] * value[k + s];
                }
        }
    }
}

// What a block of `project` reads.
struct Block {
    const Plan &plan;
    const float4 *weights;
    const float *cells;
    // The block's ring differences, -1 behind the last.
    const int *differences;
    int radial;
    int first_line;
    int num_lines;
    // The row behind the last.
    int end;
};

// Some rows on their way into shared memory: each thread has a share of them.
struct Ahead {
    float cells[CELLS_EACH];
    float4 weights[WEIGHTS_EACH];

    __device__ __forceinline__ void fetch(const Block &block, int first_row)
    {
        const Plan &plan = block.plan;
#pragma unroll
        for (int k = 0; k < CELLS_EACH; k++) {
            const int i = threadIdx.x + k * PROJECT_THREADS;
            const int row = first_row + i / ROW_CELLS, line = block.first_line + i / (ROW_CELLS / PLANES) % PLANES;
            const unsigned long long cell = ((unsigned long long)line * plan.num_rows + row) * plan.num_columns + block.radial;
            const bool is_there = i < ROWS * ROW_CELLS && row < block.end && line < block.num_lines;
            cells[k] = is_there ? block.cells[cell * COLUMN + i % (ROW_CELLS / PLANES)] : 0.0f;
        }
        const int each = ACROSS * REACH / 4;
#pragma unroll
        for (int k = 0; k < WEIGHTS_EACH; k++) {
            const int i = threadIdx.x + k * PROJECT_THREADS;
            const int radial = block.radial + i / each % RADIALS;
            const int row = first_row + i / (RADIALS * each * PROJECT_WARPS);
            const int difference = block.differences[i / (RADIALS * each) % PROJECT_WARPS];
            const bool is_there = i < ROWS * PROJECT_WARPS * RADIALS * each && difference >= 0 && row < block.end;
            weights[k] = is_there ? block.weights[((radial * plan.num_rows + row) * plan.num_differences + difference) * each + i % each]
                                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }

    __device__ __forceinline__ void store(float *shared_cells, float4 *shared_weights) const
    {
#pragma unroll
        for (int k = 0; k < CELLS_EACH; k++) {
            const int i = threadIdx.x + k * PROJECT_THREADS;
            const int row = i / ROW_CELLS, line = i / (ROW_CELLS / PLANES) % PLANES, column = i / COLUMN % PROJECT_COLUMNS;
            if (i < ROWS * ROW_CELLS)
                shared_cells[row * ROW_PITCH + line * LINE_PITCH + column * CELL + i / LANES % 2 * CLASS + ROOM + i % LANES] =
                    cells[k];
        }
#pragma unroll
        for (int k = 0; k < WEIGHTS_EACH; k++) {
            const int i = threadIdx.x + k * PROJECT_THREADS;
            if (i < ROWS * PROJECT_WARPS * DIFFERENCE_WEIGHTS / 4) {
                shared_weights[i] = weights[k];
                shared_weights[i + ROWS * PROJECT_WARPS * DIFFERENCE_WEIGHTS / 4] = reversed(weights[k]);
            }
        }
    }
};

// bins[view][tangential position][plane] = the sums over the cells. Blocks: [quad of lines and part of the groups, tangential
// indices]; `weights` = w[radial][row][difference][across][tap], `rows` = the rows that a tangential index sees.
extern "C" __global__ void __launch_bounds__(PROJECT_THREADS)
    project(const Plan plan, const Group *groups, const Slot *slots, const int *differences, int num_parts,
            const float4 *weights, const int *windows, const int2 *rows, const float *cells, float *bins, int num_lines)
{
    extern __shared__ float4 shared[];
    float4 *const shared_weights = shared;
    float *const shared_cells = (float *)(shared + BOTH_WAYS * ROWS * PROJECT_WARPS * DIFFERENCE_WEIGHTS / 4);
    const int part = blockIdx.x % num_parts, first_line = blockIdx.x / num_parts * PLANES;
    const int radial = blockIdx.y * RADIALS;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const Slot slot = slots[part * PROJECT_WARPS + warp];
    const int2 range = rows[radial];
    const Block block = {plan, weights, cells, differences + part * PROJECT_WARPS, radial, first_line, num_lines, range.y};

    for (int i = threadIdx.x; i < ROWS * ROW_PITCH; i += PROJECT_THREADS)
        shared_cells[i] = 0.0f;

    const int place = lane % LINE_LANES, line = lane / LINE_LANES;
    const int half = place / (LINE_LANES / 2);
    const int from = PLANES * (slot.is_small ? place % (LINE_LANES / 2) : place);
    // Of the two turns: the group, the row among those in shared memory, and where its weights lie.
    const int other_group = slot.is_small ? slot.groups[1] : slot.groups[0];
    const int r0 = slot.is_small ? half : 0, r1 = slot.is_small ? half : 1;
    const int ways = ROWS * PROJECT_WARPS;
    const int w0 = (r0 * PROJECT_WARPS + slot.difference + (slot.are_mirrored[0] ? ways : 0)) * (DIFFERENCE_WEIGHTS / 4);
    const int w1 = (r1 * PROJECT_WARPS + slot.difference +
                    ((slot.is_small ? slot.are_mirrored[1] : slot.are_mirrored[0]) ? ways : 0)) *
                   (DIFFERENCE_WEIGHTS / 4);
    float sums0[RADIALS][PLANES], sums1[RADIALS][PLANES];
#pragma unroll
    for (int r = 0; r < RADIALS; r++)
#pragma unroll
        for (int k = 0; k < PLANES; k++)
            sums0[r][k] = sums1[r][k] = 0.0f;
    Ahead ahead;
    ahead.fetch(block, range.x);
#pragma unroll 1
    for (int row = range.x; row < range.y; row += ROWS) {
        __syncthreads();
        ahead.store(shared_cells, shared_weights);
        __syncthreads();
        ahead.fetch(block, row + ROWS);
        const float *const here = shared_cells + line * LINE_PITCH;
        if (slot.groups[0] >= 0) {
            const Window window = {windows[slot.groups[0] * plan.num_rows + min(row + r0, plan.num_rows - 1)]};
            add_row(sums0, here + r0 * ROW_PITCH, window, from, shared_weights + w0);
        }
        if (other_group >= 0) {
            const Window window = {windows[other_group * plan.num_rows + min(row + r1, plan.num_rows - 1)]};
            add_row(sums1, here + r1 * ROW_PITCH, window, from, shared_weights + w1);
        }
    }

    // What the other half of the lanes, or of the rows, has.
#pragma unroll
    for (int r = 0; r < RADIALS; r++)
#pragma unroll
        for (int k = 0; k < PLANES; k++) {
            const float first = sums0[r][k] + __shfl_xor_sync(FULL, sums0[r][k], LINE_LANES / 2);
            const float second = sums1[r][k] + __shfl_xor_sync(FULL, sums1[r][k], LINE_LANES / 2);
            sums0[r][k] = !slot.is_small ? sums0[r][k] + sums1[r][k] : half ? second : first;
        }
    const int number = first_line + line, side = number % 2;
    const int group_number = slot.is_small && half ? slot.groups[1] : slot.groups[0];
    if (group_number < 0 || number >= num_lines)
        return;
    const Group group = groups[group_number];
#pragma unroll
    for (int r = 0; r < RADIALS; r++) {
        const int index = side ? -(radial + r) : radial + r, position = plan.num_tangential / 2 + index;
        if (radial + r >= plan.num_radial || (side && index == 0) || position < 0 || position >= plan.num_tangential)
            continue;
        float *const out = bins + ((unsigned long long)(number / 2) * plan.num_tangential + position) * plan.num_planes +
                           group.first_plane + from;
#pragma unroll
        for (int k = 0; k < PLANES; k++)
            if (from + k < group.num_planes)
                out[k] = sums0[r][k];
    }
}

// Slices of each class of a lane of `spread`, which are also the lines of a warp, and the values that they need.
#define SLICES 4
#define SLICE_VALUES (SLICES + TAPS - 1)
#define SPREAD_WARPS 8
#define SPREAD_THREADS (WARP * SPREAD_WARPS)
// The bins of a line in shared memory: SLICE_VALUES zeros before and behind every group.
#define BINS (RINGS * RINGS + (GROUPS + 1) * SLICE_VALUES)
#define BINS_PITCH (BINS / 4 * 4 + 1)

__device__ __forceinline__ void add_group(float (&sums)[ACROSS][2][SLICES], const float *bins, int num_planes,
                                          const Window &window, int from, const float4 *weights)
{
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const int parity = window.of_class(0) == c ? 0 : 1;
        const int first = clamped(from - window.lane(parity) - (TAPS - 1), -SLICE_VALUES, num_planes);
        float value[SLICE_VALUES];
#pragma unroll
        for (int k = 0; k < SLICE_VALUES; k++)
            value[k] = bins[first + k];
#pragma unroll
        for (int b = 0; b < ACROSS; b++) {
            float taps[TAPS];
            unpack(taps, weights[b * SAMPLE + parity]);
#pragma unroll
            for (int s = 0; s < TAPS; s++)
#pragma unroll
                for (int k = 0; k < SLICES; k++)
                    sums[b][c][k] += taps[s] * value[k - s + TAPS - 1];
        }
    }
}

// What a block of `spread` reads.
struct Row {
    const Plan &plan;
    const float4 *weights;
    const float *bins;
    const int *places;
    int row;
    int first_line;
    int num_lines;
    // Weights of a tangential index.
    int num_weights;
};

// Threads that bring the bins of a line into shared memory, and bins that each has on their way.
#define LINE_THREADS (SPREAD_THREADS / SLICES)
#define BINS_EACH 2

// A piece of the bins and weights of a tangential index on its way into shared memory: each thread has a share of it.
struct Piece {
    float bins[BINS_EACH];
    float4 weights;

    __device__ __forceinline__ void fetch(const Row &row, int radial, int piece)
    {
        const Plan &plan = row.plan;
        const int number = row.first_line + threadIdx.x / LINE_THREADS, side = number % 2;
        const int position = plan.num_tangential / 2 + (side ? -radial : radial);
        const bool is_there =
            number < row.num_lines && !(side && radial == 0) && position >= 0 && position < plan.num_tangential;
        const float *const in =
            row.bins + ((unsigned long long)(number / 2) * plan.num_tangential + position) * plan.num_planes;
#pragma unroll
        for (int k = 0; k < BINS_EACH; k++) {
            const int plane = (piece * BINS_EACH + k) * LINE_THREADS + threadIdx.x % LINE_THREADS;
            bins[k] = is_there && plane < plan.num_planes ? in[plane] : 0.0f;
        }
        const int i = piece * SPREAD_THREADS + threadIdx.x;
        if (i < row.num_weights)
            weights = row.weights[(radial * plan.num_rows + row.row) * row.num_weights + i];
    }

    __device__ __forceinline__ void store(const Row &row, int piece, float *shared_bins, float4 *shared_weights) const
    {
#pragma unroll
        for (int k = 0; k < BINS_EACH; k++) {
            const int plane = (piece * BINS_EACH + k) * LINE_THREADS + threadIdx.x % LINE_THREADS;
            if (plane < row.plan.num_planes)
                shared_bins[threadIdx.x / LINE_THREADS * BINS_PITCH + row.places[plane]] = bins[k];
        }
        const int i = piece * SPREAD_THREADS + threadIdx.x;
        if (i < row.num_weights) {
            shared_weights[i] = weights;
            shared_weights[i + RINGS * ACROSS * SAMPLE] = reversed(weights);
        }
    }
};

// What `spread` has twice in shared memory: for the tangential index in hand and for the next.
struct Stage {
    float4 weights[BOTH_WAYS * RINGS * ACROSS * SAMPLE];
    float bins[SLICES * BINS_PITCH];
    float partial[SPREAD_WARPS][2 * SLICES][WARP];
};

// cells = the transpose of `project`. Blocks: [quad of lines, row]; a warp has some of the groups, and what it adds to the
// ACROSS columns around a tangential index in registers, from where a column goes when no further index reaches it.
// `places` = where a plane lies among a line's bins in shared memory; `num_seen` = how many tangential indices see a row.
extern "C" __global__ void __launch_bounds__(SPREAD_THREADS, 2)
    spread(const Plan plan, const Group *groups, const float4 *weights, const int *windows, const int *places,
           const int *num_seen, const int *row_order, const float *bins, float *cells, int num_lines)
{
    extern __shared__ float4 shared[];
    Stage *const stages = (Stage *)shared;
    __shared__ int shared_windows[GROUPS];
    __shared__ Group shared_groups[GROUPS];
    __shared__ int shared_places[GROUPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int from = SLICES * (lane % (LANES / SLICES)), line = lane / (LANES / SLICES);
    const Row row = {plan, weights, bins, places, row_order[blockIdx.y], (int)blockIdx.x * SLICES, num_lines,
                     plan.num_differences * (ACROSS * SAMPLE)};
    for (int i = threadIdx.x; i < 2 * SLICES * BINS_PITCH; i += SPREAD_THREADS)
        stages[i / (SLICES * BINS_PITCH)].bins[i % (SLICES * BINS_PITCH)] = 0.0f;
    for (int i = threadIdx.x; i < plan.num_groups; i += SPREAD_THREADS) {
        shared_windows[i] = windows[i * plan.num_rows + row.row];
        shared_groups[i] = groups[i];
        shared_places[i] = places[groups[i].first_plane];
    }
    float sums[ACROSS][2][SLICES];
#pragma unroll
    for (int b = 0; b < ACROSS; b++)
#pragma unroll
        for (int c = 0; c < 2; c++)
#pragma unroll
            for (int k = 0; k < SLICES; k++)
                sums[b][c][k] = 0.0f;
    __syncthreads();

    const int num_radial = num_seen[row.row];
    // As many pieces as a warp has groups, or more if that is too few for all.
    const int num_pieces = max((plan.num_groups + SPREAD_WARPS - 1) / SPREAD_WARPS,
                               max((plan.num_planes + BINS_EACH * LINE_THREADS - 1) / (BINS_EACH * LINE_THREADS),
                                   (row.num_weights + SPREAD_THREADS - 1) / SPREAD_THREADS));
    if (num_radial > 0)
#pragma unroll 1
        for (int piece = 0; piece < num_pieces; piece++) {
            Piece next;
            next.fetch(row, 0, piece);
            next.store(row, piece, stages[0].bins, stages[0].weights);
        }
    __syncthreads();
#pragma unroll 1
    for (int column = 0; column < num_radial + ACROSS - 1; column++) {
        const int radial = column;
        Stage &stage = stages[column % 2], &other = stages[(column + 1) % 2];
        if (radial < num_radial)
#pragma unroll 1
            for (int piece = 0; piece < num_pieces; piece++) {
                Piece next;
                if (radial + 1 < num_radial)
                    next.fetch(row, radial + 1, piece);
                const int g = piece * SPREAD_WARPS + warp;
                if (g < plan.num_groups) {
                    const Group group = shared_groups[g];
                    const Window window = {shared_windows[g]};
                    const float *const in = stage.bins + line * BINS_PITCH + shared_places[g];
                    const int way = group.is_mirrored ? RINGS : 0;
                    add_group(sums, in, group.num_planes, window, from, stage.weights + (group.difference + way) * (ACROSS * SAMPLE));
                }
                if (radial + 1 < num_radial)
                    next.store(row, piece, other.bins, other.weights);
            }
        // The first of the columns is done; the others move up.
#pragma unroll
        for (int c = 0; c < 2; c++)
#pragma unroll
            for (int k = 0; k < SLICES; k++) {
                stage.partial[warp][c * SLICES + k][lane] = sums[0][c][k];
#pragma unroll
                for (int b = 0; b + 1 < ACROSS; b++)
                    sums[b][c][k] = sums[b + 1][c][k];
                sums[ACROSS - 1][c][k] = 0.0f;
            }
        __syncthreads();
        for (int i = threadIdx.x; i < SLICES * COLUMN; i += SPREAD_THREADS) {
            const int to = i / COLUMN, c = i / LANES % 2, at = i % LANES;
            float sum = 0.0f;
#pragma unroll
            for (int w = 0; w < SPREAD_WARPS; w++)
                sum += stage.partial[w][c * SLICES + at % SLICES][to * (LANES / SLICES) + at / SLICES];
            if (row.first_line + to < num_lines)
                cells[(((unsigned long long)(row.first_line + to) * plan.num_rows + row.row) * plan.num_columns + column) * COLUMN +
                      i % COLUMN] = sum;
        }
    }
}

// Adds to a cell that other threads add to as well; or without protection, so that what they add in between is lost.
struct Atomic {
    static __device__ __forceinline__ void add(float *cell, float value) { atomicAdd(cell, value); }
};

struct NonAtomic {
    static __device__ __forceinline__ void add(float *cell, float value)
    {
        volatile float *const sum = cell;
        *sum = *sum + value;
    }
};

// cells += the transpose of `project` again, the other way round: a thread a bin, which adds to all cells of its tube.
// Blocks: [line and tangential index, some of the groups]; the lanes of a warp are the planes of a group.
template <typename Adder>
__device__ __forceinline__ void scatter(const Plan &plan, const Group *groups, const float4 *weights, const int *windows,
                                        const int2 *rows, const float *bins, float *cells)
{
    const int number = blockIdx.x / plan.num_radial, radial = blockIdx.x % plan.num_radial, side = number % 2;
    const int g = blockIdx.y * blockDim.y + threadIdx.y, plane = threadIdx.x;
    const int position = plan.num_tangential / 2 + (side ? -radial : radial);
    if (g >= plan.num_groups || (side && radial == 0) || position < 0 || position >= plan.num_tangential)
        return;
    const Group group = groups[g];
    if (plane >= group.num_planes)
        return;
    const float bin =
        bins[((unsigned long long)(number / 2) * plan.num_tangential + position) * plan.num_planes + group.first_plane + plane];
    for (int row = rows[radial].x; row < rows[radial].y; row++) {
        const Window window = {windows[g * plan.num_rows + row]};
        const float4 *const of_row =
            weights + ((radial * plan.num_rows + row) * plan.num_differences + group.difference) * (ACROSS * SAMPLE);
        float *const in_row =
            cells + (((unsigned long long)number * plan.num_rows + row) * plan.num_columns + radial) * COLUMN;
        for (int sample = 0; sample < ACROSS * SAMPLE; sample++) {
            const int across = sample / SAMPLE, parity = sample % SAMPLE;
            float taps[TAPS];
            unpack(taps, group.is_mirrored ? reversed(of_row[sample]) : of_row[sample]);
            float *const column = in_row + across * COLUMN + window.of_class(parity) * LANES;
#pragma unroll
            for (int s = 0; s < TAPS; s++) {
                const int place = window.lane(parity) + plane + s;
                if (place >= 0 && place < LANES)
                    Adder::add(column + place, taps[s] * bin);
            }
        }
    }
}

extern "C" __global__ void scatter_atomic(const Plan plan, const Group *groups, const float4 *weights, const int *windows,
                                          const int2 *rows, const float *bins, float *cells)
{
    scatter<Atomic>(plan, groups, weights, windows, rows, bins, cells);
}

extern "C" __global__ void scatter_non_atomic(const Plan plan, const Group *groups, const float4 *weights, const int *windows,
                                              const int2 *rows, const float *bins, float *cells)
{
    scatter<NonAtomic>(plan, groups, weights, windows, rows, bins, cells);
}
