// Tubes of response from cells to bins: `project`; see tubes.cu.

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
