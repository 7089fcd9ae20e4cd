// Siddon's projector with one thread per bin, as in Belzunce et al. 2012, section 2: the baseline that the axial-run
// kernels are measured against. The definition is src/engine/operator/siddon.rs.
//
// The paper keeps bins radial position fastest, then view, then plane, and images x fastest, then y, then z: the threads of
// a warp hold neighbouring parallel lines, which seldom meet in a voxel at the same time.

#include "adders.cuh"

// Where a path enters the field of view and at which regular distances it crosses voxel faces (InPlanePath), in f32.
struct Path {
    float next[2];
    float pitch[2];
    float length_mm;
    float start_mm;
    float lor_mm;
    int column;
    int stride[2];
    float share;
};

// A line of a plane: where it starts in z (voxel i spans i ... i + 1) and how far it rises over the whole LOR. One that
// does not rise lies in `num_rows` rows from `row` on, with an equal share in each.
struct Line {
    float v_start;
    float rise;
    float rise_mm;
    float weight;
    int row;
    int num_rows;
};

// What all bins have in common.
struct Plan {
    int num_tangential;
    int num_planes;
    int num_rays;
    // The views of the data are first_view + k view_step, k < num_views.
    int first_view;
    int view_step;
    int num_views;
    // Which bin a thread has; see bin_of_thread.
    int order;
    unsigned nz;
    unsigned num_columns;
};

struct Bin {
    int tangential_pos, view, plane;
};

// Order 0: radial position, view, plane (the paper's); 1: plane, radial position, view; 2: as 0, shuffled by a
// multiplication that no number of bins has a factor in common with.
__device__ __forceinline__ Bin bin_of_thread(const Plan &plan, unsigned long long i)
{
    const unsigned long long nt = plan.num_tangential, nv = plan.num_views, np = plan.num_planes;
    Bin bin;
    if (plan.order == 1) {
        bin.plane = (int)(i % np);
        bin.tangential_pos = (int)(i / np % nt);
        bin.view = (int)(i / np / nt);
        return bin;
    }
    if (plan.order == 2)
        i = i * 2654435761ull % (nt * nv * np);
    bin.tangential_pos = (int)(i % nt);
    bin.view = (int)(i / nt % nv);
    bin.plane = (int)(i / nt / nv);
    return bin;
}

// Walks one line along one in-plane path, calling visitor(voxel, length) for each voxel.
template <typename Visitor>
__device__ __forceinline__ void walk(const Plan &plan, const Path &path, const Line &line, int row, Visitor &visitor)
{
    const float slope = line.rise_mm / path.lor_mm;
    const float weight = path.share * line.weight * sqrtf(1.0f + slope * slope);
    int column = path.column;
    int z = row, z_step = 0;
    float next_z = 3e38f, first_z = 3e38f, pitch_z = 0.0f;
    if (line.rise != 0.0f) {
        const float v = line.v_start + line.rise * (path.start_mm / path.lor_mm);
        const bool rises = line.rise > 0.0f;
        z = (int)floorf(v);
        z_step = rises ? 1 : -1;
        const float face = (float)(rises ? z + 1 : z);
        pitch_z = path.lor_mm / fabsf(line.rise);
        first_z = next_z = (face - v) / line.rise * path.lor_mm;
    }
    // Crossings are counted and multiplied, not added up: a sum would drift.
    float next_x = path.next[0], next_y = path.next[1];
    float passed_x = 0.0f, passed_y = 0.0f, passed_z = 0.0f;
    float at = 0.0f;
    while (at < path.length_mm) {
        const float nearest = fminf(fminf(next_x, next_y), next_z);
        const float end = fminf(nearest, path.length_mm);
        if ((unsigned)z < plan.nz && (unsigned)column < plan.num_columns)
            visitor.visit((unsigned)z * plan.num_columns + (unsigned)column, weight * (end - at));
        at = end;
        if (nearest == next_x) {
            column += path.stride[0];
            passed_x += 1.0f;
            next_x = path.next[0] + passed_x * path.pitch[0];
        } else if (nearest == next_y) {
            column += path.stride[1];
            passed_y += 1.0f;
            next_y = path.next[1] + passed_y * path.pitch[1];
        } else {
            z += z_step;
            passed_z += 1.0f;
            next_z = first_z + passed_z * pitch_z;
        }
    }
}

// Walks all lines of a thread's bin.
template <typename Visitor>
__device__ __forceinline__ void walk_bin(const Plan &plan, const Path *paths, const unsigned *lor_paths,
                                         const Line *lines, unsigned long long thread, Visitor &visitor)
{
    const Bin bin = bin_of_thread(plan, thread);
    const unsigned view = plan.first_view + plan.view_step * bin.view;
    const unsigned transaxial = view * plan.num_tangential + bin.tangential_pos;
    for (unsigned which = lor_paths[transaxial]; which < lor_paths[transaxial + 1]; which++) {
        const Path path = paths[which];
        for (int ray = 0; ray < plan.num_rays; ray++) {
            const Line line = lines[ray * plan.num_planes + bin.plane];
            for (int row = line.row; row < line.row + line.num_rows; row++)
                walk(plan, path, line, row, visitor);
        }
    }
}

struct Integral {
    const float *image;
    float sum;

    __device__ __forceinline__ void visit(unsigned voxel, float length) { sum += length * image[voxel]; }
};

template <typename Adder> struct Adding {
    Adder image;
    float value;

    __device__ __forceinline__ void visit(unsigned voxel, float length) { image.add(voxel, value * length); }
};

#define TABLES const Plan plan, const Path *paths, const unsigned *lor_paths, const Line *lines
#define THREAD (first + (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)

// bins = A x for `count` threads from `first` on.
extern "C" __global__ void forward(TABLES, const float *image, float *bins, unsigned long long first,
                                   unsigned long long count)
{
    if (THREAD >= first + count)
        return;
    Integral integral = {image, 0.0f};
    walk_bin(plan, paths, lor_paths, lines, THREAD, integral);
    bins[THREAD] = integral.sum;
}

#define BACKPROJECT                                                                                                    \
    if (THREAD >= first + count)                                                                                       \
        return;                                                                                                        \
    adder.value = bins[THREAD];                                                                                        \
    if (adder.value != 0.0f)                                                                                           \
        walk_bin(plan, paths, lor_paths, lines, THREAD, adder);

// image += A^T bins.
extern "C" __global__ void atomic(TABLES, const float *bins, float *image, unsigned long long first,
                                  unsigned long long count)
{
    Adding<Atomic> adder = {{image}, 0.0f};
    BACKPROJECT
}

extern "C" __global__ void non_atomic(TABLES, const float *bins, float *image, unsigned long long first,
                                      unsigned long long count)
{
    Adding<NonAtomic> adder = {{image}, 0.0f};
    BACKPROJECT
}

extern "C" __global__ void fixed(TABLES, const float *bins, unsigned long long *image, float scale,
                                 unsigned long long first, unsigned long long count)
{
    Adding<Fixed> adder = {{image, scale}, 0.0f};
    BACKPROJECT
}
