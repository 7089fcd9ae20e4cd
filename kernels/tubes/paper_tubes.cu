// Tubes of response, the pair of kernels of Herraiz et al. 2011, sections 2.2 and 2.3 (src/engine/operator/tubes/plain.rs is the
// definition; src/engine/cuda/tubes/paper.rs lays out the tables). Projection: one thread a LOR sums over the samples of its tube the
// coefficient times the image there. Backprojection: one thread a voxel gathers from the LORs that see it, the coefficient
// being interpolated in the tube. Image and tubes are textures, in which tubes lie a sample of zeros apart:
// tubes[along][radial, across][ring difference, axial].

#include "adders.cuh"

struct Plan {
    int num_tangential, num_planes, num_groups, num_views;
    // Views of the subset among all.
    int first_view, view_step;
    // Samples of a tube along the line, across it, along the axis.
    int num_along, num_across, num_axial;
    int nx, ny, nz;
    float along_mm, across_mm, axial_mm;
    float origin_x, origin_y, origin_z;
    float voxel_x, voxel_y, voxel_z;
    float ring_mm;
    // Volume of a voxel over that of a sample.
    float volumes;
    // Whether the GPU interpolates, with weights of eight bits, or the kernel.
    int by_hardware;
};

// Where the tube of a transaxial LOR lies; `across` points away from the axis.
struct InPlane {
    float middle_x, middle_y, along_x, along_y, across_x, across_y;
    float half_mm;
    int radial;
};

// A ring difference: z of the middle of its first plane's line, and how far the line rises to either side.
struct Group {
    int first_plane, num_planes, difference;
    float sign;
    float first_mm, rise_mm;
};

typedef unsigned long long Texture;

// A texture between the middles of its cells, which are at whole numbers; 0 outside.
__device__ __forceinline__ float interpolated(Texture texture, float x, float y, float z, int by_hardware)
{
    if (by_hardware)
        return tex3D<float>(texture, x + 0.5f, y + 0.5f, z + 0.5f);
    const float low_x = floorf(x), low_y = floorf(y), low_z = floorf(z);
    const float part_x = x - low_x, part_y = y - low_y, part_z = z - low_z;
    float sum = 0.0f;
#pragma unroll
    for (int corner = 0; corner < 8; corner++) {
        const float weight = (corner & 1 ? part_x : 1.0f - part_x) * (corner & 2 ? part_y : 1.0f - part_y) *
                             (corner & 4 ? part_z : 1.0f - part_z);
        // In the middle of a cell nothing is interpolated.
        sum += weight * tex3D<float>(texture, low_x + (corner & 1) + 0.5f, low_y + (corner >> 1 & 1) + 0.5f,
                                     low_z + (corner >> 2) + 0.5f);
    }
    return sum;
}

// Where a sample of a tube lies in the texture of tubes; samples may lie between the whole numbers.
__device__ __forceinline__ float3 in_tubes(const Plan &plan, int radial, int difference, float a, float b, float c)
{
    return make_float3(difference * (plan.num_axial + 1) + c, radial * (plan.num_across + 1) + b, a);
}

// bins[view][tangential position][plane] of `count` bins from `first` on.
extern "C" __global__ void project(const Plan plan, const InPlane *in_planes, const Group *groups, const int *group_of_plane,
                                   Texture tubes, Texture image, float *bins, unsigned long long first,
                                   unsigned long long count)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const unsigned long long bin = first + i;
    const int plane = bin % plan.num_planes;
    const int lor = (int)(bin / plan.num_planes);
    const int view = plan.first_view + lor / plan.num_tangential * plan.view_step;
    const InPlane here = in_planes[view * plan.num_tangential + lor % plan.num_tangential];
    const Group group = groups[group_of_plane[plane]];
    const float middle_mm = group.first_mm + (plane - group.first_plane) * plan.ring_mm;
    float sum = 0.0f;
    for (int a = 0; a < plan.num_along; a++) {
        const float along = (a - plan.num_along / 2) * plan.along_mm;
        const float line_mm = middle_mm + group.rise_mm * along / here.half_mm;
        for (int b = 0; b < plan.num_across; b++) {
            const float across = (b - plan.num_across / 2) * plan.across_mm;
            const float x = (here.middle_x + along * here.along_x + across * here.across_x - plan.origin_x) / plan.voxel_x;
            const float y = (here.middle_y + along * here.along_y + across * here.across_y - plan.origin_y) / plan.voxel_y;
            for (int c = 0; c < plan.num_axial; c++) {
                const float z_mm = line_mm + group.sign * (c - plan.num_axial / 2) * plan.axial_mm;
                const float3 sample = in_tubes(plan, here.radial, group.difference, a, b, c);
                // In the middle of a cell: no interpolation, by hardware or by hand.
                const float coefficient = tex3D<float>(tubes, sample.x + 0.5f, sample.y + 0.5f, sample.z + 0.5f);
                sum += coefficient * interpolated(image, x, y, (z_mm - plan.origin_z) / plan.voxel_z, plan.by_hardware);
            }
        }
    }
    bins[bin] = sum;
}

#define LORS                                                                                                          \
    const Plan plan, const InPlane *in_planes, const Group *groups, Texture tubes, const float *bins, const int2 *fov_rows

// What all LORs give to a voxel, transaxial LOR by transaxial LOR, but for the volumes; nothing outside the field of view.
template <class Sum> __device__ __forceinline__ void gather(LORS, unsigned long long voxel, Sum &sum)
{
    const int x = voxel % plan.nx, y = (int)(voxel / plan.nx) % plan.ny, z = (int)(voxel / plan.nx / plan.ny);
    const int2 inside = fov_rows[y];
    const bool is_seen = x >= inside.x && x < inside.y;
    const float x_mm = plan.origin_x + x * plan.voxel_x, y_mm = plan.origin_y + y * plan.voxel_y;
    const float z_mm = plan.origin_z + z * plan.voxel_z;
    const int middle[3] = {plan.num_along / 2, plan.num_across / 2, plan.num_axial / 2};
    const float reach_mm = (middle[2] + 1) * plan.axial_mm;
    for (int lor = 0; is_seen && lor < plan.num_views * plan.num_tangential; lor++) {
        const int view = plan.first_view + lor / plan.num_tangential * plan.view_step;
        const InPlane here = in_planes[view * plan.num_tangential + lor % plan.num_tangential];
        const float from_x = x_mm - here.middle_x, from_y = y_mm - here.middle_y;
        const float along = from_x * here.along_x + from_y * here.along_y;
        const float across = from_x * here.across_x + from_y * here.across_y;
        const float a = along / plan.along_mm + middle[0], b = across / plan.across_mm + middle[1];
        if (!(a > -1.0f && a < plan.num_along && b > -1.0f && b < plan.num_across))
            continue;
        const float *const of_lor = bins + (unsigned long long)lor * plan.num_planes;
        for (int g = 0; g < plan.num_groups; g++) {
            const Group group = groups[g];
            // How far the voxel is above the line of the first plane.
            const float above_mm = z_mm - (group.first_mm + group.rise_mm * along / here.half_mm);
            const int last = min((int)floorf((above_mm + reach_mm) / plan.ring_mm), group.num_planes - 1);
            for (int p = max((int)ceilf((above_mm - reach_mm) / plan.ring_mm), 0); p <= last; p++) {
                const float c = group.sign * (above_mm - p * plan.ring_mm) / plan.axial_mm + middle[2];
                const float3 sample = in_tubes(plan, here.radial, group.difference, a, b, c);
                sum.sum += of_lor[group.first_plane + p] *
                           interpolated(tubes, sample.x, sample.y, sample.z, plan.by_hardware);
            }
        }
        sum.end_part();
    }
}

#define VOXEL (first + (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)

// image[z][y][x] of `count` voxels from `first` on.
extern "C" __global__ void backproject(LORS, float *image, unsigned long long first, unsigned long long count)
{
    if (VOXEL >= first + count)
        return;
    FloatSum<float> sum = {0.0f};
    gather(plan, in_planes, groups, tubes, bins, fov_rows, VOXEL, sum);
    image[VOXEL] = plan.volumes * sum.sum;
}

extern "C" __global__ void backproject_fixed(LORS, unsigned long long *image, float scale, unsigned long long first,
                                             unsigned long long count)
{
    if (VOXEL >= first + count)
        return;
    FixedSum<float> sum = {0.0f, plan.volumes * scale, 0};
    gather(plan, in_planes, groups, tubes, bins, fov_rows, VOXEL, sum);
    image[VOXEL] = (unsigned long long)sum.total;
}
