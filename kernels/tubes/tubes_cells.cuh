// Tubes of response between image and cells: `resample`, and its transpose `collect`; see tubes.cu.

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

// What some lines give to two places of a voxel, line by line: the transpose of `resample`.
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
        sum.end_part();
    }
}

#define VIEWS                                                                                                              \
    const Plan plan, const Line *lines, int first_view, int view_step, int num_lines, const int2 *fov_rows

// image[y][x][place] += these lines. A thread for two places; blocks [place, x].
extern "C" __global__ void collect(VIEWS, const float2 *cells, float2 *image)
{
    Here here;
    if (!find_here(plan, fov_rows, here))
        return;
    FloatSum<float2> sum = {image[here.voxel]};
    add_lines(plan, lines, first_view, view_step, num_lines, cells, here, sum);
    image[here.voxel] = make_float2(here.is_seen[0] ? sum.sum.x : 0.0f, here.is_seen[1] ? sum.sum.y : 0.0f);
}

// image[y][x][place] += these lines, at a scale.
extern "C" __global__ void collect_fixed(VIEWS, const float2 *cells, ulonglong2 *image, float scale)
{
    Here here;
    if (!find_here(plan, fov_rows, here) || !here.is_seen[0])
        return;
    const ulonglong2 before = image[here.voxel];
    FixedSum<float2> sum = {make_float2(0.0f, 0.0f), scale, make_longlong2(before.x, before.y)};
    add_lines(plan, lines, first_view, view_step, num_lines, cells, here, sum);
    image[here.voxel] = make_ulonglong2(sum.total.x, here.is_seen[1] ? sum.total.y : 0);
}
