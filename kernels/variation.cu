// Least squares with total variation; the definition is src/engine/recon/tv/kernels.rs, that of the convolution
// src/engine/operator/fourier/convolution.rs. Images are [image, z, y, x], their spectra [image, z, y, frequency of x].

#include "block_sum.cuh"

// Lines of a transform that a block does together, in shared memory. Values of a line lie apart, lines next to each other.
struct LinesShape {
    // Lines next to each other, and of a block.
    unsigned num_lines, lines_of_block;
    // Length of the transform, with values that are read and written, the others being 0 and left out.
    unsigned len, num_read, num_written;
    // Distance of the values of a line, and of groups of lines, where they are read and written.
    unsigned read_step, read_group, write_step, write_group;
    // 1 for a forward transform first, the product with the spectrum next, the inverse transform last.
    unsigned is_forward, has_product, is_inverse;
};

// Rows of real values and their half spectra.
struct RowsShape {
    unsigned num_rows, pairs_of_block;
    // Values of a row, and length of the transform; it is even.
    unsigned num, len;
};

// Samples of the spectrum of each voxel, and their half spectra.
struct SamplesShape {
    unsigned num_voxels, num_samples;
    // Frequencies from 0 on, and those of a group; the last group is filled with zeros.
    unsigned num_frequencies, group;
    // Pairs of voxels of a block.
    unsigned pairs_of_block;
};

// Voxels of each image, and what their differences weigh.
struct VariationShape {
    unsigned nx, ny, nz;
    unsigned num_axes, num_images;
    unsigned has_mask;
    float weights[3];
    // Of the differences from an image to the next; 0 = none.
    float spectral_weight;
};

// Constants of a step of the images.
struct StepShape {
    float tau, lambda;
    unsigned is_positive;
    // Of the extrapolated image, and weights of the new image in the mean and in the next point.
    float extrapolation, weight, next_weight;
};

__device__ float2 sum(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

__device__ float2 difference(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

__device__ float2 product(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// a + factor b
__device__ float2 with(float2 a, float factor, float2 b)
{
    return make_float2(a.x + factor * b.x, a.y + factor * b.y);
}

// i factor a
__device__ float2 turned(float factor, float2 a)
{
    return make_float2(-factor * a.y, factor * a.x);
}

// Transforms of 2, 3, 4, 5 and 8 values, with exp(sign 2 pi i / radix).
template <int radix> __device__ void butterfly(float2 *v, float sign)
{
    if (radix == 2) {
        const float2 second = v[1];
        v[1] = difference(v[0], second);
        v[0] = sum(v[0], second);
    } else if (radix == 3) {
        const float2 both = sum(v[1], v[2]), side = turned(sign * 0.866025404f, difference(v[1], v[2]));
        const float2 middle = with(v[0], -0.5f, both);
        v[0] = sum(v[0], both);
        v[1] = sum(middle, side);
        v[2] = difference(middle, side);
    } else if (radix == 4) {
        const float2 even = sum(v[0], v[2]), even_side = difference(v[0], v[2]);
        const float2 odd = sum(v[1], v[3]), odd_side = turned(sign, difference(v[1], v[3]));
        v[0] = sum(even, odd);
        v[1] = sum(even_side, odd_side);
        v[2] = difference(even, odd);
        v[3] = difference(even_side, odd_side);
    } else if (radix == 8) {
        const float root = 0.707106781f;
        float2 even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
        butterfly<4>(even, sign);
        butterfly<4>(odd, sign);
        odd[1] = product(odd[1], make_float2(root, sign * root));
        odd[2] = turned(sign, odd[2]);
        odd[3] = product(odd[3], make_float2(-root, sign * root));
#pragma unroll
        for (int k = 0; k < 4; k++) {
            v[k] = sum(even[k], odd[k]);
            v[k + 4] = difference(even[k], odd[k]);
        }
    } else {
        const float c1 = 0.309016994f, c2 = -0.809016994f, s1 = sign * 0.951056516f, s2 = sign * 0.587785252f;
        const float2 a1 = sum(v[1], v[4]), a2 = sum(v[2], v[3]), b1 = difference(v[1], v[4]), b2 = difference(v[2], v[3]);
        const float2 m1 = with(with(v[0], c1, a1), c2, a2), m2 = with(with(v[0], c2, a1), c1, a2);
        const float2 n1 = sum(turned(s1, b1), turned(s2, b2)), n2 = difference(turned(s2, b1), turned(s1, b2));
        v[0] = sum(v[0], sum(a1, a2));
        v[1] = sum(m1, n1);
        v[2] = sum(m2, n2);
        v[3] = difference(m2, n2);
        v[4] = difference(m1, n1);
    }
}

// Lines in shared memory: value i of a line lies at i value_step + line line_step.
struct Lines {
    unsigned len, num, value_step, line_step;
};

// A pass of the transform (Stockham: the order of the values needs no pass of its own). `done` = product of the radices before.
template <int radix> __device__ void pass(float2 *out, const float2 *in, const float2 *roots, Lines lines, unsigned done, float sign)
{
    const unsigned each = lines.len / radix, step = each / done;
    for (unsigned index = threadIdx.x; index < each * lines.num; index += THREADS) {
        const unsigned j = index / lines.num, line = index % lines.num * lines.line_step;
        const unsigned k = j % done;
        float2 v[radix];
#pragma unroll
        for (int r = 0; r < radix; r++) {
            v[r] = in[line + (j + r * each) * lines.value_step];
            if (r > 0 && k > 0) {
                const float2 root = roots[r * k * step];
                v[r] = product(v[r], make_float2(root.x, -sign * root.y));
            }
        }
        butterfly<radix>(v, sign);
        const unsigned first = (j - k) * radix + k;
#pragma unroll
        for (int r = 0; r < radix; r++)
            out[line + (first + r * done) * lines.value_step] = v[r];
    }
    __syncthreads();
}

// A pass of any radix, by sums.
__device__ void pass_by_sums(float2 *out, const float2 *in, const float2 *roots, Lines lines, unsigned radix, unsigned done, float sign)
{
    const unsigned each = lines.len / radix, step = each / done;
    for (unsigned index = threadIdx.x; index < lines.len * lines.num; index += THREADS) {
        const unsigned place = index / lines.num, line = index % lines.num * lines.line_step;
        const unsigned j = place % each, r = place / each, k = j % done;
        const unsigned turn = (k + r * done) * step;
        float2 total = in[line + j * lines.value_step];
        for (unsigned q = 1, at = turn; q < radix; q++) {
            total = sum(total, product(in[line + (j + q * each) * lines.value_step], make_float2(roots[at].x, -sign * roots[at].y)));
            at += turn;
            if (at >= lines.len)
                at -= lines.len;
        }
        out[line + ((j - k) * radix + k + r * done) * lines.value_step] = total;
    }
    __syncthreads();
}

// Transforms of lines, fast with factors 2, 3 and 5; sign -1 = forward. Returns where they are: a or b.
__device__ float2 *transform(float2 *a, float2 *b, const float2 *roots, Lines lines, float sign)
{
    for (unsigned done = 1; done < lines.len;) {
        const unsigned rest = lines.len / done;
        unsigned radix = 5;
        if (rest % 8 == 0) {
            pass<8>(b, a, roots, lines, done, sign);
            radix = 8;
        } else if (rest % 4 == 0) {
            pass<4>(b, a, roots, lines, done, sign);
            radix = 4;
        } else if (rest % 2 == 0) {
            pass<2>(b, a, roots, lines, done, sign);
            radix = 2;
        } else if (rest % 3 == 0) {
            pass<3>(b, a, roots, lines, done, sign);
            radix = 3;
        } else if (rest % 5 == 0) {
            pass<5>(b, a, roots, lines, done, sign);
        } else {
            for (radix = 7; rest % radix != 0;)
                radix += 2;
            pass_by_sums(b, a, roots, lines, radix, done, sign);
        }
        done *= radix;
        float2 *const other = a;
        a = b;
        b = other;
    }
    return a;
}

extern __shared__ float2 memory[];

// The spectra at k and at -k of two real rows that were transformed as one of complex values: that of the first row ...
__device__ float2 of_first(float2 here, float2 there)
{
    return make_float2(0.5f * (here.x + there.x), 0.5f * (here.y - there.y));
}

// ... and that of the second.
__device__ float2 of_second(float2 here, float2 there)
{
    return make_float2(0.5f * (here.y + there.y), 0.5f * (there.x - here.x));
}

// Half spectra of rows: two rows are one of complex values. roots[i] = exp(-2 pi i / len).
extern "C" __global__ void rows_to_spectra(float2 *spectra, const float *rows, const float2 *roots, RowsShape all)
{
    const unsigned first = blockIdx.x * all.pairs_of_block, half = all.len / 2 + 1;
    const unsigned num = min(all.pairs_of_block, (all.num_rows + 1) / 2 - first);
    const Lines lines = {all.len, num, 1, all.len};
    for (unsigned index = threadIdx.x; index < num * all.len; index += THREADS) {
        const unsigned x = index % all.len, row = 2 * (first + index / all.len);
        const float *const from = rows + (unsigned long long)row * all.num + x;
        const bool is_row = x < all.num;
        memory[index] = make_float2(is_row ? from[0] : 0.0f, is_row && row + 1 < all.num_rows ? from[all.num] : 0.0f);
    }
    __syncthreads();
    const float2 *const done = transform(memory, memory + all.pairs_of_block * all.len, roots, lines, -1.0f);
    for (unsigned index = threadIdx.x; index < num * half; index += THREADS) {
        const unsigned k = index % half, pair = index / half, row = 2 * (first + pair);
        const float2 here = done[pair * all.len + k], there = done[pair * all.len + (k == 0 ? 0 : all.len - k)];
        float2 *const to = spectra + (unsigned long long)row * half + k;
        to[0] = of_first(here, there);
        if (row + 1 < all.num_rows)
            to[half] = of_second(here, there);
    }
}

// Rows of half spectra.
extern "C" __global__ void spectra_to_rows(float *rows, const float2 *spectra, const float2 *roots, RowsShape all)
{
    const unsigned first = blockIdx.x * all.pairs_of_block, half = all.len / 2 + 1;
    const unsigned num = min(all.pairs_of_block, (all.num_rows + 1) / 2 - first);
    const Lines lines = {all.len, num, 1, all.len};
    for (unsigned index = threadIdx.x; index < num * half; index += THREADS) {
        const unsigned k = index % half, pair = index / half, row = 2 * (first + pair);
        const float2 *const from = spectra + (unsigned long long)row * half + k;
        const float2 a = from[0], b = row + 1 < all.num_rows ? from[half] : make_float2(0.0f, 0.0f);
        memory[pair * all.len + k] = make_float2(a.x - b.y, a.y + b.x);
        if (k > 0 && k + k < all.len)
            memory[pair * all.len + all.len - k] = make_float2(a.x + b.y, b.x - a.y);
    }
    __syncthreads();
    const float2 *const done = transform(memory, memory + all.pairs_of_block * all.len, roots, lines, 1.0f);
    for (unsigned index = threadIdx.x; index < num * all.num; index += THREADS) {
        const unsigned x = index % all.num, pair = index / all.num, row = 2 * (first + pair);
        const float2 value = done[pair * all.len + x];
        float *const to = rows + (unsigned long long)row * all.num + x;
        to[0] = value.x;
        if (row + 1 < all.num_rows)
            to[all.num] = value.y;
    }
}

// Half spectra of the samples of voxels: two voxels next to each other are one row of complex values.
extern "C" __global__ void samples_to_spectra(float2 *spectra, const float *samples, const float2 *roots, SamplesShape all)
{
    const unsigned first = 2 * blockIdx.x * all.pairs_of_block, num_voxels = min(2 * all.pairs_of_block, all.num_voxels - first);
    const unsigned num = (num_voxels + 1) / 2, len = all.num_samples;
    // (A step that is odd: threads of neighbouring frequencies reach different banks of the memory.)
    const Lines lines = {len, num, all.pairs_of_block | 1, 1};
    for (unsigned index = threadIdx.x; index < num * len; index += THREADS) {
        const unsigned sample = index / num, pair = index % num;
        const float *const from = samples + (unsigned long long)sample * all.num_voxels + first + 2 * pair;
        memory[sample * lines.value_step + pair] = make_float2(from[0], 2 * pair + 1 < num_voxels ? from[1] : 0.0f);
    }
    __syncthreads();
    const float2 *const done = transform(memory, memory + len * lines.value_step, roots, lines, -1.0f);
    const unsigned num_groups = (all.num_frequencies + all.group - 1) / all.group, len_of_group = num_voxels * all.group;
    for (unsigned index = threadIdx.x; index < num_groups * len_of_group; index += THREADS) {
        const unsigned group = index / len_of_group, place = index % len_of_group;
        const unsigned voxel = place / all.group, k = group * all.group + place % all.group;
        float2 value = make_float2(0.0f, 0.0f);
        if (k < all.num_frequencies) {
            const float2 here = done[k * lines.value_step + voxel / 2];
            const float2 there = done[(k == 0 ? 0 : len - k) * lines.value_step + voxel / 2];
            value = voxel % 2 == 0 ? of_first(here, there) : of_second(here, there);
        }
        spectra[((unsigned long long)group * all.num_voxels + first) * all.group + place] = value;
    }
}

// Samples of half spectra, whose frequencies from num_frequencies on are 0.
extern "C" __global__ void spectra_to_samples(float *samples, const float2 *spectra, const float2 *roots, SamplesShape all)
{
    const unsigned first = 2 * blockIdx.x * all.pairs_of_block, num_voxels = min(2 * all.pairs_of_block, all.num_voxels - first);
    const unsigned num = (num_voxels + 1) / 2, len = all.num_samples;
    const Lines lines = {len, num, all.pairs_of_block | 1, 1};
    const float scale = 1.0f / (float)len;
    for (unsigned index = threadIdx.x; index < num * all.num_frequencies; index += THREADS) {
        const unsigned k = index % all.num_frequencies, pair = index / all.num_frequencies;
        const unsigned long long voxel = (unsigned long long)(k / all.group) * all.num_voxels + first + 2 * pair;
        const float2 *const from = spectra + voxel * all.group + k % all.group;
        const float2 a = from[0], b = 2 * pair + 1 < num_voxels ? from[all.group] : make_float2(0.0f, 0.0f);
        float2 *const to = memory + pair;
        if (k == 0) {
            // (Rounding leaves a small imaginary part.)
            to[0] = make_float2(scale * a.x, scale * b.x);
        } else {
            to[k * lines.value_step] = make_float2(scale * (a.x - b.y), scale * (a.y + b.x));
            to[(len - k) * lines.value_step] = make_float2(scale * (a.x + b.y), scale * (b.x - a.y));
        }
    }
    if (len % 2 == 0)
        for (unsigned pair = threadIdx.x; pair < num; pair += THREADS)
            memory[len / 2 * lines.value_step + pair] = make_float2(0.0f, 0.0f);
    __syncthreads();
    const float2 *const done = transform(memory, memory + len * lines.value_step, roots, lines, 1.0f);
    for (unsigned index = threadIdx.x; index < num_voxels * len; index += THREADS) {
        const unsigned sample = index / num_voxels, voxel = index % num_voxels;
        const float2 value = done[sample * lines.value_step + voxel / 2];
        samples[(unsigned long long)sample * all.num_voxels + first + voxel] = voxel % 2 == 0 ? value.x : value.y;
    }
}

// Transforms along another axis. A block may write where it has read. spectrum[i num_lines + line].
extern "C" __global__ void lines_of_spectra(float2 *to, const float2 *from, const float2 *roots, const float *spectrum,
                                            LinesShape all)
{
    const unsigned blocks = (all.num_lines + all.lines_of_block - 1) / all.lines_of_block, group = blockIdx.x / blocks;
    const unsigned first = blockIdx.x % blocks * all.lines_of_block;
    const unsigned num = min(all.lines_of_block, all.num_lines - first);
    const Lines lines = {all.len, num, num, 1};
    const float2 *const read = from + (unsigned long long)group * all.read_group + first;
    float2 *const write = to + (unsigned long long)group * all.write_group + first;
    float2 *a = memory, *b = memory + all.lines_of_block * all.len;
    for (unsigned index = threadIdx.x; index < num * all.len; index += THREADS) {
        const unsigned i = index / num;
        a[index] = i < all.num_read ? read[(unsigned long long)i * all.read_step + index % num] : make_float2(0.0f, 0.0f);
    }
    __syncthreads();
    if (all.is_forward) {
        float2 *const done = transform(a, b, roots, lines, -1.0f);
        b = done == a ? b : a;
        a = done;
    }
    if (all.has_product) {
        for (unsigned index = threadIdx.x; index < num * all.len; index += THREADS) {
            const float factor = spectrum[(unsigned long long)(index / num) * all.num_lines + first + index % num];
            a[index] = make_float2(factor * a[index].x, factor * a[index].y);
        }
        __syncthreads();
    }
    if (all.is_inverse)
        a = transform(a, b, roots, lines, 1.0f);
    for (unsigned index = threadIdx.x; index < num * all.num_written; index += THREADS)
        write[(unsigned long long)(index / num) * all.write_step + index % num] = a[index];
}

// Images that are coupled at most.
#define MAX_IMAGES 8

// The product of the spectra [image, frequency] of all images with those of the kernels: own[image, frequency] of an image with itself,
// between[pair, frequency] of (0, 1), (0, 2), (1, 2), ..., whose conjugate is that of the mirrored kernel.
extern "C" __global__ void couple(float2 *spectra, const float *own, const float2 *between, unsigned num_images, unsigned long long len)
{
    const unsigned long long index = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= len)
        return;
    float2 values[MAX_IMAGES], products[MAX_IMAGES];
    for (unsigned m = 0; m < num_images; m++) {
        values[m] = spectra[m * len + index];
        const float factor = own[m * len + index];
        products[m] = make_float2(factor * values[m].x, factor * values[m].y);
    }
    for (unsigned j = 1, pair = 0; j < num_images; j++)
        for (unsigned m = 0; m < j; m++, pair++) {
            const float2 factor = between[pair * len + index];
            products[m] = sum(products[m], product(factor, values[j]));
            products[j] = sum(products[j], product(make_float2(factor.x, -factor.y), values[m]));
        }
    for (unsigned m = 0; m < num_images; m++)
        spectra[m * len + index] = products[m];
}

// The differences to the next voxel along each axis, 0 at the last one and at the edge of the mask.
__device__ void differences(float *out, const float *image, const float *mask, unsigned voxel, const VariationShape &all)
{
    const unsigned x = voxel % all.nx, y = voxel / all.nx % all.ny, z = voxel / (all.nx * all.ny);
    const bool has_next[3] = {x + 1 < all.nx, y + 1 < all.ny, z + 1 < all.nz};
    const unsigned shift[3] = {1, all.nx, all.nx * all.ny};
    const float here = image[voxel];
    for (int axis = 0; axis < 3; axis++) {
        float value = 0.0f;
        if (has_next[axis])
            value = all.weights[axis] * (image[voxel + shift[axis]] - here);
        if (has_next[axis] && all.has_mask)
            value *= mask[voxel] * mask[voxel + shift[axis]];
        out[axis] = value;
    }
}

// field = the projection of field + scale gradient: vectors of a length above 1 get that length. Differences along spectra follow the
// vectors in the field, [image, z, y, x], and lie between -1 and 1.
extern "C" __global__ void dual_step(float *field, const float *extrapolated, const float *mask, VariationShape all, float scale)
{
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x, num_voxels = all.nx * all.ny * all.nz;
    if (index >= num_voxels * all.num_images)
        return;
    const unsigned image = index / num_voxels, voxel = index % num_voxels;
    float gradient[3];
    differences(gradient, extrapolated + (unsigned long long)image * num_voxels, mask, voxel, all);
    float *const own = field + (unsigned long long)image * all.num_axes * num_voxels + voxel;
    float length = 0.0f;
    for (unsigned axis = 0; axis < all.num_axes; axis++) {
        gradient[axis] = own[axis * (unsigned long long)num_voxels] + scale * gradient[axis];
        length += gradient[axis] * gradient[axis];
    }
    length = fmaxf(sqrtf(length), 1.0f);
    for (unsigned axis = 0; axis < all.num_axes; axis++)
        own[axis * (unsigned long long)num_voxels] = gradient[axis] / length;
    if (all.spectral_weight > 0.0f && image + 1 < all.num_images) {
        float *const along = field + (unsigned long long)all.num_axes * num_voxels * all.num_images + index;
        float step = scale * all.spectral_weight * (extrapolated[index + num_voxels] - extrapolated[index]);
        if (all.has_mask)
            step *= mask[voxel];
        *along = fminf(fmaxf(*along + step, -1.0f), 1.0f);
    }
}

// A step of the images u; for each block the sums of (u' - u)^2, u'^2, u model and u data.
extern "C" __global__ void primal_step(float *u, float *extrapolated, float *mean, float *point, const float *field,
                                       const float *residual, const float *mask, double *partial, VariationShape all, StepShape step)
{
    const unsigned num_voxels = all.nx * all.ny * all.nz;
    double change = 0.0, norm = 0.0;
    for (unsigned index = blockIdx.x * THREADS + threadIdx.x; index < num_voxels * all.num_images; index += gridDim.x * THREADS) {
        const unsigned image = index / num_voxels, voxel = index % num_voxels;
        const unsigned place[3] = {voxel % all.nx, voxel / all.nx % all.ny, voxel / (all.nx * all.ny)};
        const unsigned shift[3] = {1, all.nx, all.nx * all.ny};
        const float *const own = field + (unsigned long long)image * all.num_axes * num_voxels + voxel;
        float divergence = 0.0f;
        for (unsigned axis = 0; axis < all.num_axes; axis++) {
            const float *const component = own + axis * (unsigned long long)num_voxels;
            divergence += all.weights[axis] * (component[0] - (place[axis] > 0 ? component[-(int)shift[axis]] : 0.0f));
        }
        if (all.spectral_weight > 0.0f) {
            const float *const along = field + (unsigned long long)all.num_axes * num_voxels * all.num_images + index;
            divergence += all.spectral_weight * along[0];
            if (image > 0)
                divergence -= all.spectral_weight * along[-(int)num_voxels];
        }
        const float before = u[index];
        float after = before + step.tau * (step.lambda * divergence - residual[index]);
        if (all.has_mask)
            after *= mask[voxel];
        if (step.is_positive)
            after = fmaxf(after, 0.0f);
        u[index] = after;
        extrapolated[index] = after + step.extrapolation * (after - before);
        const float old = mean[index], next = old + step.weight * (after - old);
        mean[index] = next;
        point[index] = next + step.next_weight * (after - next);
        const double moved = (double)(next - old);
        change += moved * moved;
        norm += (double)next * (double)next;
    }
    change = block_sum(change);
    norm = block_sum(norm);
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = change;
        partial[2 * blockIdx.x + 1] = norm;
    }
}

// For each block the sum of the lengths of the gradients, and of the differences along spectra.
extern "C" __global__ void total_variation(const float *images, const float *mask, double *partial, VariationShape all)
{
    const unsigned num_voxels = all.nx * all.ny * all.nz;
    double total = 0.0;
    for (unsigned index = blockIdx.x * THREADS + threadIdx.x; index < num_voxels * all.num_images; index += gridDim.x * THREADS) {
        const unsigned image = index / num_voxels, voxel = index % num_voxels;
        float gradient[3];
        differences(gradient, images + (unsigned long long)image * num_voxels, mask, voxel, all);
        total += (double)sqrtf(gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]);
        if (all.spectral_weight > 0.0f && image + 1 < all.num_images) {
            const float size = fabsf(images[index + num_voxels] - images[index]);
            total += (double)all.spectral_weight * (double)(all.has_mask ? mask[voxel] * size : size);
        }
    }
    total = block_sum(total);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = total;
}

// The largest less the smallest of the values of all images in each voxel.
extern "C" __global__ void peak_to_peak(float *amplitudes, const float *images, unsigned num_voxels, unsigned num_images)
{
    const unsigned voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= num_voxels)
        return;
    float highest = images[voxel], lowest = highest;
    for (unsigned image = 1; image < num_images; image++) {
        const float value = images[(unsigned long long)image * num_voxels + voxel];
        highest = fmaxf(highest, value);
        lowest = fminf(lowest, value);
    }
    amplitudes[voxel] = highest - lowest;
}
