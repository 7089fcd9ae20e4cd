// What the kernels of events have in common: lines, and the faces of voxels that they cross. The definition is
// src/engine/operator/events.rs.

#define NUM_TERMS 12

// Polynomials of the time of flight's kernel (TofTerms).
struct TofTerms {
    float reach;
    float scale;
    float per_sigma;
    float cumulative[NUM_TERMS];
    float density[NUM_TERMS];
};

// What all events have in common.
struct Plan {
    int size[3];
    int stride[3];
    unsigned num_voxels;
    unsigned num_crystals;
    unsigned num_rays;
    float share;
    // Of the circle that holds all voxels that are seen, mm.
    double path_radius_mm;
    // mm of the first voxel's lower faces, and voxels per mm.
    double low_mm[3];
    double per_mm[3];
    // FACE_TOLERANCE_VOXELS, END_MARGIN and LEAST_WIDTH of the definition.
    double face_tolerance;
    double end_margin;
    double sigma_mm;
    double reach_mm;
    double least_width_mm;
    TofTerms tof;
};

// A line between two crystals: in voxels, of which number i spans i ... i + 1, and in parts of itself.
struct Line {
    double u[3], du[3];
    // Where it is in the circle.
    double enter, leave;
    double length_mm;
};

// Whether the line meets the circle that holds all voxels that are seen.
__device__ __forceinline__ bool is_seen(const Plan &plan, const double3 start, const double3 end, Line &line)
{
    const double along[3] = {end.x - start.x, end.y - start.y, end.z - start.z};
    const double a = along[0] * along[0] + along[1] * along[1];
    const double half_b = along[0] * start.x + along[1] * start.y;
    const double c = start.x * start.x + start.y * start.y - plan.path_radius_mm * plan.path_radius_mm;
    const double discriminant = half_b * half_b - a * c;
    if (!(a > 0.0 && discriminant > 0.0))
        return false;
    const double root = sqrt(discriminant);
    line.length_mm = sqrt(a + along[2] * along[2]);
    line.enter = fmax((-half_b - root) / a, 0.0);
    line.leave = fmin((-half_b + root) / a, 1.0);
    const double from[3] = {start.x, start.y, start.z};
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        line.u[axis] = (from[axis] - plan.low_mm[axis]) * plan.per_mm[axis];
        line.du[axis] = along[axis] * plan.per_mm[axis];
    }
    return line.enter < line.leave;
}

// Along an axis whose faces a line does not cross: its row, or the lower of the two that it runs between.
struct Row {
    bool is_fixed, is_face;
    int row;
};

__device__ __forceinline__ Row row_of(const Plan &plan, double u, double du)
{
    const double middle = u + 0.5 * du, nearest = rint(middle);
    Row row;
    row.is_fixed = fabs(du) < plan.face_tolerance;
    row.is_face = row.is_fixed && fabs(middle - nearest) <= plan.face_tolerance;
    row.row = row.is_face ? (int)nearest - 1 : (int)floor(middle);
    return row;
}

// The faces that a line crosses along an axis: the row that it is in at `enter`, and, in parts of the line, where it leaves that
// row and how far on the next face is.
struct Faces {
    int row, step;
    double next, pitch;
};

// `low` and `high`: the rows that it can be in.
__device__ __forceinline__ Faces faces_of(double u, double du, double enter, int low, int high)
{
    const bool forwards = du > 0.0;
    const double inverse = 1.0 / du;
    Faces faces;
    faces.step = forwards ? 1 : -1;
    faces.pitch = fabs(inverse);
    faces.row = min(max((int)floor(u + enter * du), low), high);
    faces.next = (faces.row + (forwards ? 1 : 0) - u) * inverse;
    // Rounding at the entry can leave the row one behind.
    while (faces.next <= enter) {
        faces.row += faces.step;
        faces.next += faces.pitch;
    }
    return faces;
}

// How often a line is walked along its first AXES axes: once, or along each of the rows that it runs between.
template <int AXES> __device__ __forceinline__ int num_walks(const Plan &plan, const Line &line)
{
    int num = 1;
#pragma unroll
    for (int axis = 0; axis < AXES; axis++)
        num *= row_of(plan, line.u[axis], line.du[axis]).is_face ? 2 : 1;
    return num;
}

// One of these walks: its rows, and the part of the line that is in the image along these axes.
template <int AXES> struct Walk {
    Row rows[AXES];
    double enter, leave;

    // Whether it meets the image between two places of the line.
    __device__ __forceinline__ bool begin(const Plan &plan, const Line &line, double from, double to, int which)
    {
        enter = from;
        leave = to;
        bool is_inside = true;
#pragma unroll
        for (int axis = 0; axis < AXES; axis++) {
            Row &row = rows[axis];
            row = row_of(plan, line.u[axis], line.du[axis]);
            if (row.is_face) {
                row.row += which % 2;
                which /= 2;
            }
            if (row.is_fixed) {
                is_inside = is_inside && row.row >= 0 && row.row < plan.size[axis];
                continue;
            }
            const double inverse = 1.0 / line.du[axis];
            const double first = -line.u[axis] * inverse, last = (plan.size[axis] - line.u[axis]) * inverse;
            enter = fmax(enter, fmin(first, last));
            leave = fmin(leave, fmax(first, last));
        }
        return is_inside && enter < leave;
    }
};

// Where a ray begins or ends.
__device__ __forceinline__ double3 point(const double *points, const Plan &plan, unsigned ray, unsigned crystal)
{
    const double *const at = points + 3ull * (ray * (unsigned long long)plan.num_crystals + crystal);
    return make_double3(at[0], at[1], at[2]);
}

// What every kernel is told of its subset: its pairs of crystals, and intervals of d where the time of flight is known.
#define EVENTS                                                                                                         \
    const Plan plan, const double *starts, const double *ends, const uint2 *pairs, const float2 *intervals, int has_tof
#define EVENT ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)
