// What the kernels of tubes.cu have in common: lattices, groups of planes, windows, weights.

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
