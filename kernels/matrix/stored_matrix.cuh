// A stored matrix with all symmetries at once (src/engine/operator/stored_matrix is the definition; src/engine/cuda/stored_matrix.rs lays out
// the tables). Images are x[basic][symmetry], data are y[orbit][symmetry]: place a of an orbit is the line a i of its first line i.
//
// The fast pair: `forward` and `gather` take each element once, for all symmetries, whose values lie together.
// The paper's layout (Cabello et al. 2012, section 3.1): `forward_by_lor`, and `scatter_...`, which differ in how they add: a thread
// a line, which loops over the symmetries and over the elements.
//
// What includes this says how many SYMMETRIES there are, how many rows of an orbit and elements of a column a block works on at once
// (ROWS_AT_ONCE, COLUMNS_AT_ONCE), and into how many parts it cuts a row (PARTS_OF_ROW).

#define QUADS (SYMMETRIES / 4)
#define FORWARD_THREADS (ROWS_AT_ONCE * PARTS_OF_ROW * QUADS)

struct Plan {
    int num_orbits;
    int num_basic;
    // Basic functions of the two central slices come first.
    int num_central;
    float scale;
};

// What the kernels of a thread or a block for each line read: the line of each place and the first place of its line,
// [orbit][symmetry]; products[h][g] = g h, undone[a][g] = the h with g h = a; where the elements of each line begin.
#define OF_LINES                                                                                                       \
    const unsigned *lors, const unsigned char *firsts, const unsigned char *products, const unsigned char *undone,      \
        const unsigned long long *first, const unsigned *elements
#define GIVEN lors, firsts, products, undone, first, elements

__device__ __forceinline__ int basic_of(unsigned element) { return element >> 15; }

// The value of the lower 15 bits: 5 of exponent, 10 of mantissa.
__device__ __forceinline__ float value_of(unsigned bits) { return __uint_as_float(0x30000000u + ((bits & 0x7fffu) << 13)); }

// y = A x. A block an orbit; QUADS threads a part of a row of it, which takes every PARTS_OF_ROWth element.
extern "C" __global__ void __launch_bounds__(FORWARD_THREADS) forward(const Plan plan, OF_LINES, const float4 *x, float *y)
{
    __shared__ float rows[ROWS_AT_ONCE][PARTS_OF_ROW][SYMMETRIES];
    __shared__ float sums[SYMMETRIES];
    const int orbit = blockIdx.x, quad = threadIdx.x % QUADS;
    const int part = threadIdx.x / QUADS % PARTS_OF_ROW, row = threadIdx.x / (QUADS * PARTS_OF_ROW);
    const unsigned char *const first_places = firsts + orbit * SYMMETRIES;
    for (int place = threadIdx.x; place < SYMMETRIES; place += FORWARD_THREADS)
        sums[place] = 0.0f;
    for (int from = 0; from < SYMMETRIES; from += ROWS_AT_ONCE) {
        const int h = from + row;
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (h < SYMMETRIES && first_places[h] == h) {
            const unsigned lor = lors[orbit * SYMMETRIES + h];
            const unsigned long long end = first[lor + 1];
            for (unsigned long long e = first[lor] + part; e < end; e += PARTS_OF_ROW) {
                const unsigned element = elements[e];
                const float value = value_of(element);
                const float4 of_x = x[basic_of(element) * QUADS + quad];
                sum.x += value * of_x.x;
                sum.y += value * of_x.y;
                sum.z += value * of_x.z;
                sum.w += value * of_x.w;
            }
        }
        float *const to = rows[row][part] + 4 * quad;
        to[0] = sum.x, to[1] = sum.y, to[2] = sum.z, to[3] = sum.w;
        __syncthreads();
        if (PARTS_OF_ROW > 1) {
            for (int i = threadIdx.x; i < ROWS_AT_ONCE * SYMMETRIES; i += FORWARD_THREADS) {
                const int r = i / SYMMETRIES, g = i % SYMMETRIES;
                for (int other = 1; other < PARTS_OF_ROW; other++)
                    rows[r][0][g] += rows[r][other][g];
            }
            __syncthreads();
        }
        // Row after row, so that sums have one order.
        for (int r = 0; r < ROWS_AT_ONCE && from + r < SYMMETRIES; r++) {
            if (threadIdx.x < SYMMETRIES)
                sums[products[(from + r) * SYMMETRIES + threadIdx.x]] += rows[r][0][threadIdx.x];
            __syncthreads();
        }
    }
    // Places of one line are one datum.
    if (threadIdx.x < SYMMETRIES) {
        const int here = first_places[threadIdx.x];
        float sum = 0.0f;
        if (here == threadIdx.x)
            for (int place = here; place < SYMMETRIES; place++)
                sum += first_places[place] == here ? sums[place] : 0.0f;
        y[orbit * SYMMETRIES + threadIdx.x] = plan.scale * sum;
    }
}

// x = the transpose of A q, from the elements of each basic function: `places` = [orbit][symmetry] of an element's line. A block a
// basic function.
extern "C" __global__ void __launch_bounds__(COLUMNS_AT_ONCE * SYMMETRIES)
    gather(const Plan plan, const unsigned char *firsts, const unsigned char *products, const unsigned long long *first,
           const unsigned *places, const unsigned short *values, const float *q, float *x)
{
    __shared__ unsigned char shared_products[SYMMETRIES * SYMMETRIES];
    __shared__ float partial[COLUMNS_AT_ONCE][SYMMETRIES];
    for (int i = threadIdx.x; i < SYMMETRIES * SYMMETRIES; i += COLUMNS_AT_ONCE * SYMMETRIES)
        shared_products[i] = products[i];
    __syncthreads();
    const int basic = blockIdx.x, g = threadIdx.x % SYMMETRIES, column = threadIdx.x / SYMMETRIES;
    const unsigned long long end = first[basic + 1];
    float sum = 0.0f;
    for (unsigned long long e = first[basic] + column; e < end; e += COLUMNS_AT_ONCE) {
        const unsigned place = places[e], h = place % SYMMETRIES, of_orbit = place - h;
        const unsigned gh = shared_products[h * SYMMETRIES + g];
        sum += value_of(values[e]) * q[of_orbit + firsts[of_orbit + gh]];
    }
    partial[column][g] = sum;
    __syncthreads();
    if (column == 0) {
        for (int other = 1; other < COLUMNS_AT_ONCE; other++)
            sum += partial[other][g];
        x[basic * SYMMETRIES + g] = plan.scale * sum;
    }
}

// y = A x, a thread a line.
extern "C" __global__ void forward_by_lor(const Plan plan, OF_LINES, const float *x, float *y)
{
    const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= plan.num_orbits * SYMMETRIES)
        return;
    const unsigned a = place % SYMMETRIES, of_orbit = place - a;
    float sum = 0.0f;
    if (firsts[place] == a)
        for (int g = 0; g < SYMMETRIES; g++) {
            const unsigned lor = lors[of_orbit + undone[a * SYMMETRIES + g]];
            for (unsigned long long e = first[lor]; e < first[lor + 1]; e++) {
                const unsigned element = elements[e];
                sum += value_of(element) * x[basic_of(element) * SYMMETRIES + g];
            }
        }
    y[place] = plan.scale * sum;
}

// Atomic in the two central slices, where most lines meet.
struct CentralAtomic {
    float *image;
    // Values of the two slices, which come first.
    int num_central;

    __device__ __forceinline__ void add(int place, float value) const
    {
        const Atomic atomic = {image};
        const NonAtomic non_atomic = {image};
        if (place < num_central)
            atomic.add(place, value);
        else
            non_atomic.add(place, value);
    }
};

// x += the transpose of A q, a thread a line; `order` = the places in the order in which threads take them, if any.
template <typename Adder>
__device__ __forceinline__ void scatter(const Plan &plan, OF_LINES, const unsigned *order, const float *q, const Adder &x)
{
    const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= plan.num_orbits * SYMMETRIES)
        return;
    const unsigned place = order ? order[number] : number;
    const unsigned a = place % SYMMETRIES, of_orbit = place - a;
    const float factor = plan.scale * q[place];
    if (firsts[place] != a || factor == 0.0f)
        return;
    for (int g = 0; g < SYMMETRIES; g++) {
        const unsigned lor = lors[of_orbit + undone[a * SYMMETRIES + g]];
        for (unsigned long long e = first[lor]; e < first[lor + 1]; e++) {
            const unsigned element = elements[e];
            x.add(basic_of(element) * SYMMETRIES + g, value_of(element) * factor);
        }
    }
}

extern "C" __global__ void scatter_atomic(const Plan plan, OF_LINES, const float *q, float *x)
{
    const Atomic adder = {x};
    scatter(plan, GIVEN, 0, q, adder);
}

extern "C" __global__ void scatter_non_atomic(const Plan plan, OF_LINES, const float *q, float *x)
{
    const NonAtomic adder = {x};
    scatter(plan, GIVEN, 0, q, adder);
}

extern "C" __global__ void scatter_central_atomic(const Plan plan, OF_LINES, const unsigned *order, const float *q,
                                                  float *x)
{
    const CentralAtomic adder = {x, plan.num_central * SYMMETRIES};
    scatter(plan, GIVEN, order, q, adder);
}

// x from the elements of each basic function, as the paper's second file has them: a thread a function.
extern "C" __global__ void gather_by_function(const Plan plan, const unsigned char *firsts, const unsigned char *products,
                                              const unsigned long long *first, const unsigned *places,
                                              const unsigned short *values, const float *q, float *x)
{
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x, g = index % SYMMETRIES, basic = index / SYMMETRIES;
    if (basic >= plan.num_basic)
        return;
    float sum = 0.0f;
    for (unsigned long long e = first[basic]; e < first[basic + 1]; e++) {
        const unsigned place = places[e], h = place % SYMMETRIES, of_orbit = place - h;
        sum += value_of(values[e]) * q[of_orbit + firsts[of_orbit + products[h * SYMMETRIES + g]]];
    }
    x[index] = plan.scale * sum;
}
