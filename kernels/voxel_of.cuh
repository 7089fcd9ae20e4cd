// Numbers of voxels.

// The voxel of a number, in a space of this size.
__device__ uint3 voxel_of(unsigned number, uint3 size, unsigned z_is_fastest)
{
    if (z_is_fastest)
        return make_uint3(number / size.z % size.x, number / size.z / size.x, number % size.z);
    return make_uint3(number % size.x, number / size.x % size.y, number / size.x / size.y);
}
