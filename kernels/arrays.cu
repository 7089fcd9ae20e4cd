// Element by element: the same arithmetic as the host's in src/engine/algebra/host.rs.

#define INDEX ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x)

// x = value
extern "C" __global__ void fill(float *x, float value, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] = value;
}

// x *= y
extern "C" __global__ void multiply(float *x, const float *y, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] *= y[INDEX];
}

// x += scale y, rounded after each operation as on the host
extern "C" __global__ void add_scaled(float *x, float scale, const float *y, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] = __fadd_rn(x[INDEX], __fmul_rn(scale, y[INDEX]));
}

// out = scale (a - b) + c, without c if has_c is 0, rounded after each operation as on the host
extern "C" __global__ void scaled_difference(float *out, float scale, const float *a, const float *b, const float *c,
                                             unsigned has_c, unsigned long long len)
{
    if (INDEX >= len)
        return;
    const float scaled = __fmul_rn(scale, __fsub_rn(a[INDEX], b[INDEX]));
    out[INDEX] = has_c ? __fadd_rn(scaled, c[INDEX]) : scaled;
}

// x = max(x, y)
extern "C" __global__ void raise(float *x, const float *y, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] = fmaxf(x[INDEX], y[INDEX]);
}

// x = fixed / scale: what 64-bit fixed point has added up
extern "C" __global__ void from_fixed(float *x, const unsigned long long *fixed, double inverse_scale, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] = (float)((long long)fixed[INDEX] * inverse_scale);
}

// out[i] = x[index[i]]: an image in the order of a volume
extern "C" __global__ void gather(float *out, const float *x, const unsigned *index, unsigned long long len)
{
    if (INDEX < len)
        out[INDEX] = x[index[INDEX]];
}

// x = 0 outside the x that a row y sees, in an image [z, y, x]; one thread per (y, x)
extern "C" __global__ void zero_unseen(float *x, const int2 *fov_rows, unsigned nx, unsigned ny, unsigned nz)
{
    if (INDEX >= (unsigned long long)nx * ny)
        return;
    const int2 inside = fov_rows[INDEX / nx];
    const int at = (int)(INDEX % nx);
    if (at >= inside.x && at < inside.y)
        return;
    for (unsigned z = 0; z < nz; z++)
        x[z * (unsigned long long)nx * ny + INDEX] = 0.0f;
}

// out[row][column] = table[row.x + column.x] table[row.y + column.y]
extern "C" __global__ void pair_products(float *out, const float *table, const uint2 *rows, const uint2 *columns,
                                         unsigned num_columns, unsigned long long len)
{
    if (INDEX >= len)
        return;
    const uint2 row = rows[INDEX / num_columns], column = columns[INDEX % num_columns];
    out[INDEX] = table[row.x + column.x] * table[row.y + column.y];
}

// The value of y for value i of x: each row of y, `row` values long, is for `repeats` consecutive rows of x.
__device__ __forceinline__ float of_row(const float *y, unsigned long long i, unsigned row, unsigned repeats)
{
    return y[i / row / repeats * row + i % row];
}

// x *= y, each row of y for several of x
extern "C" __global__ void multiply_rows(float *x, const float *y, unsigned row, unsigned repeats, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] *= of_row(y, INDEX, row, repeats);
}

// x += y, each row of y for several of x
extern "C" __global__ void add_rows(float *x, const float *y, unsigned row, unsigned repeats, unsigned long long len)
{
    if (INDEX < len)
        x[INDEX] += of_row(y, INDEX, row, repeats);
}
