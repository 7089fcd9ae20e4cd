// The walk of an event's lines through the voxels of an image, with the weights of its time of flight; after events.cuh. The definition
// is src/engine/operator/event_path.rs.

__device__ __forceinline__ float polynomial(const float *terms, float v)
{
    float sum = 0.0f;
#pragma unroll
    for (int k = NUM_TERMS - 1; k >= 0; k--)
        sum = sum * v + terms[k];
    return sum;
}

__device__ __forceinline__ float cumulative(const TofTerms &tof, float t)
{
    t = fminf(fmaxf(t, -tof.reach), tof.reach);
    return t * polynomial(tof.cumulative, t * t * tof.scale - 1.0f);
}

__device__ __forceinline__ float density(const TofTerms &tof, float t)
{
    return polynomial(tof.density, t * t * tof.scale - 1.0f);
}

// What pieces of a path weigh beside their length: nothing, the density of d, its mean over an interval.
struct Whole {
    __device__ __forceinline__ float of(const TofTerms &, float) const { return 1.0f; }
};

struct Density {
    float seen;

    __device__ __forceinline__ float of(const TofTerms &tof, float middle) const
    {
        return density(tof, seen - middle * tof.per_sigma);
    }
};

struct Interval {
    float low, high;

    __device__ __forceinline__ float of(const TofTerms &tof, float middle) const
    {
        return cumulative(tof, high - middle * tof.per_sigma) - cumulative(tof, low - middle * tof.per_sigma);
    }
};

// A path, in mm from where it begins.
struct Path {
    float next[3];
    float pitch[3];
    int stride[3];
    int voxel;
    float leave;
    // Steps that end at a face across x or y, and at one across z, at most.
    int num_steps;
    int num_z_steps;
};

// Voxels that are visited before the path is looked at again: their values are asked for together.
#define UNROLL 4

// One voxel after the other.
template <typename Weight, typename Visitor>
__device__ __forceinline__ void walk_each(const Plan &plan, const Path &path, const Weight &weight, Visitor &visitor)
{
    // Crossings are counted and multiplied, not added up: a sum would drift.
    float next_x = path.next[0], next_y = path.next[1], next_z = path.next[2];
    float passed_x = 0.0f, passed_y = 0.0f, passed_z = 0.0f;
    float at = 0.0f;
    int voxel = path.voxel;
    const int num_steps = path.num_steps + path.num_z_steps;
    for (int step = 0; step < num_steps; step += UNROLL) {
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const float end = fminf(fminf(fminf(next_x, next_y), next_z), path.leave);
            // A path that has ended is anywhere, with no length.
            const unsigned inside = min((unsigned)voxel, plan.num_voxels - 1);
            visitor.visit(inside, (end - at) * weight.of(plan.tof, 0.5f * (end + at)));
            at = end;
            if (next_x <= end) {
                passed_x += 1.0f;
                voxel += path.stride[0];
                next_x = path.next[0] + passed_x * path.pitch[0];
            }
            if (next_y <= end) {
                passed_y += 1.0f;
                voxel += path.stride[1];
                next_y = path.next[1] + passed_y * path.pitch[1];
            }
            if (next_z <= end) {
                passed_z += 1.0f;
                voxel += path.stride[2];
                next_z = path.next[2] + passed_z * path.pitch[2];
            }
        }
    }
}

// A step ends at a face across x or y; those across z, which are few, cut it. The threads of a warp, whose lines are alike, so add
// to the same (x, y) at the same time, which the L2 cache does together.
template <typename Weight, typename Visitor>
__device__ __forceinline__ void walk_in_step(const Plan &plan, const Path &path, const Weight &weight, Visitor &visitor)
{
    float next_x = path.next[0], next_y = path.next[1], next_z = path.next[2];
    float passed_x = 0.0f, passed_y = 0.0f, passed_z = 0.0f;
    float at = 0.0f;
    int voxel = path.voxel;
    for (int step = 0; step < path.num_steps; step++) {
        const float end = fminf(fminf(next_x, next_y), path.leave);
        while (next_z < end) {
            const unsigned inside = min((unsigned)voxel, plan.num_voxels - 1);
            visitor.visit(inside, (next_z - at) * weight.of(plan.tof, 0.5f * (next_z + at)));
            at = next_z;
            passed_z += 1.0f;
            voxel += path.stride[2];
            next_z = path.next[2] + passed_z * path.pitch[2];
        }
        const unsigned inside = min((unsigned)voxel, plan.num_voxels - 1);
        visitor.visit(inside, (end - at) * weight.of(plan.tof, 0.5f * (end + at)));
        at = end;
        if (next_x <= end) {
            passed_x += 1.0f;
            voxel += path.stride[0];
            next_x = path.next[0] + passed_x * path.pitch[0];
        }
        if (next_y <= end) {
            passed_y += 1.0f;
            voxel += path.stride[1];
            next_y = path.next[1] + passed_y * path.pitch[1];
        }
    }
}

template <typename Weight, typename Visitor>
__device__ __forceinline__ void walk(const Plan &plan, const Path &path, const Weight &weight, Visitor &visitor)
{
    if (Visitor::ADDS)
        walk_in_step(plan, path, weight, visitor);
    else
        walk_each(plan, path, weight, visitor);
}

// A walk of a line that counts for a share of its event.
template <typename Visitor>
__device__ __forceinline__ void walk_path(const Plan &plan, const Line &line, const Walk<3> &along, double share, bool has_tof,
                                          double low, double high, Visitor &visitor)
{
    Path path;
    path.voxel = 0;
    const double end = (along.leave - along.enter) * line.length_mm * (1.0 - plan.end_margin);
    path.leave = (float)end;
    path.num_steps = 2;
    path.num_z_steps = 0;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        path.next[a] = 3.4e38f;
        path.pitch[a] = 0.0f;
        path.stride[a] = 0;
        if (along.rows[a].is_fixed) {
            path.voxel += along.rows[a].row * plan.stride[a];
            continue;
        }
        const Faces faces = faces_of(line.u[a], line.du[a], along.enter, 0, plan.size[a] - 1);
        path.voxel += faces.row * plan.stride[a];
        path.stride[a] = faces.step * plan.stride[a];
        const double next_mm = (faces.next - along.enter) * line.length_mm, pitch_mm = faces.pitch * line.length_mm;
        path.next[a] = (float)next_mm;
        path.pitch[a] = (float)pitch_mm;
        const int num_faces = next_mm < end ? 1 + (int)((end - next_mm) / pitch_mm) : 0;
        path.num_steps += a < 2 ? num_faces : 0;
        path.num_z_steps += a < 2 ? 0 : num_faces;
    }
    if (!has_tof) {
        visitor.begin((float)share);
        walk(plan, path, Whole(), visitor);
        visitor.end();
        return;
    }
    const double l = (along.enter - 0.5) * line.length_mm;
    const double width = high - low;
    if (width > plan.least_width_mm) {
        visitor.begin((float)(share / width));
        Interval interval = {(float)((low - l) / plan.sigma_mm), (float)((high - l) / plan.sigma_mm)};
        walk(plan, path, interval, visitor);
    } else {
        visitor.begin((float)share);
        Density density = {(float)((0.5 * (low + high) - l) / plan.sigma_mm)};
        walk(plan, path, density, visitor);
    }
    visitor.end();
}

template <typename Visitor>
__device__ __forceinline__ void walk_line(const Plan &plan, const double3 start, const double3 end, bool has_tof, double low,
                                          double high, Visitor &visitor)
{
    Line line;
    if (!is_seen(plan, start, end, line))
        return;
    double enter = line.enter, leave = line.leave;
    if (has_tof) {
        enter = fmax(enter, 0.5 + (low - plan.reach_mm) / line.length_mm);
        leave = fmin(leave, 0.5 + (high + plan.reach_mm) / line.length_mm);
    }
    const int num = num_walks<3>(plan, line);
    for (int which = 0; which < num; which++) {
        Walk<3> along;
        if (along.begin(plan, line, enter, leave, which))
            walk_path(plan, line, along, (double)plan.share / num, has_tof, low, high, visitor);
    }
}

// Walks all rays of a thread's event.
template <typename Visitor>
__device__ __forceinline__ void walk_event(const Plan &plan, const double *starts, const double *ends, const uint2 *pairs,
                                           const float2 *intervals, int has_tof, unsigned long long event, Visitor &visitor)
{
    const uint2 pair = pairs[event];
    const float2 interval = has_tof ? intervals[event] : make_float2(0.0f, 0.0f);
    for (unsigned ray = 0; ray < plan.num_rays; ray++)
        walk_line(plan, point(starts, plan, ray, pair.x), point(ends, plan, ray, pair.y), has_tof, interval.x, interval.y, visitor);
}
