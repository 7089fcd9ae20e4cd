// Tubes of response from bins to cells: `spread`, and `scatter`, which threads may add to the same cell by; see tubes.cu.

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
            const Adder column = {in_row + across * COLUMN + window.of_class(parity) * LANES};
#pragma unroll
            for (int s = 0; s < TAPS; s++) {
                const int place = window.lane(parity) + plane + s;
                if (place >= 0 && place < LANES)
                    column.add(place, taps[s] * bin);
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
