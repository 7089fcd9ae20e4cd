// The response of a ring of crystals to the functions of an image, in double precision: the histories of src/engine/montecarlo/response.rs
// and src/engine/montecarlo/ring.rs, draw by draw, so that a seed means the same on every device but for last bits.
#include "montecarlo_draws.cuh"
#include "montecarlo_crystals.cuh"
#include "montecarlo_track.cuh"

#define THREADS_PER_BLOCK 128
#define MOST_LAYERS 4
// Layers of modules that a line can meet at most.
#define MOST_MET 16
#define PI 3.141592653589793

// A ring of modules. Each layer has its crystals, and from the axis to its face `front_mm`.
struct Ring {
    Crystals layers[MOST_LAYERS];
    double front_mm[MOST_LAYERS];
    double radius_mm;
    double half_length_mm;
    double energy_resolution;
    double threshold_kev;
    int num_modules;
    int num_layers;
};

// The cells of a grid and the function in each; a reach of 0 tells that the cells are the functions. Of cubes `num_squares` lie between
// the axis and a side, those whose middles are outside a radius being empty; of polar cells it is 0.
struct Functions {
    double spacing_mm;
    double reach_mm;
    double squares_radius_mm;
    int num_steps;
    int num_half_slices;
    int num_rings;
    int num_in_slice;
    int num_squares;
    // The basic functions that are tallied.
    int first_basic;
    int num_basic;
};

// All figures of a simulation.
struct Simulation {
    Ring ring;
    Functions functions;
    MaterialTables tables;
    // Where decays happen: out to this radius, from this height to this one.
    double extent_mm[3];
    // Units of a weight of 1.
    double units;
    unsigned long long num_lors;
    int num_crystals;
    unsigned key[2];
};

// What lies in memory: cosine and sine of each module's angle, cells of each ring of the wedge and where they begin, the
// function's values, the image of each crystal under the inverse of each symmetry.
struct Tables {
    const double *turns;
    const int *num_cells;
    const int *first_cell;
    const float *values;
    const unsigned *undone;
    unsigned *sums;
    unsigned *squares;
};

struct Met {
    double enters_mm;
    int module, layer;
};

struct Slab {
    double enters, leaves;
};

static __device__ __forceinline__ Slab slab(double at, double along, double low, double high)
{
    const double inverse = 1.0 / (fabs(along) < FLATTEST ? copysign(FLATTEST, along) : along);
    const double a = (low - at) * inverse, b = (high - at) * inverse;
    const Slab found = {a < b ? a : b, a < b ? b : a};
    return found;
}

// The layers of modules that a line meets, in order.
static __device__ int met_by(const Ring &ring, const Tables &tables, const Photon &photon, Met *all)
{
    int num = 0;
    const double *const p = photon.position_mm, *const d = photon.direction;
    const double *const half = ring.layers[0].half_head_mm;
    const Slab along_axis = slab(p[2], d[2], -half[1], half[1]);
    for (int module = 0; module < ring.num_modules; module++) {
        const double cosine = tables.turns[2 * module], sine = tables.turns[2 * module + 1];
        const double towards = p[0] * cosine + p[1] * sine, goes = d[0] * cosine + d[1] * sine;
        const double across = p[1] * cosine - p[0] * sine, drifts = d[1] * cosine - d[0] * sine;
        Slab within = slab(across, drifts, -half[0], half[0]);
        within.enters = fmax(fmax(within.enters, along_axis.enters), 0.0);
        within.leaves = fmin(within.leaves, along_axis.leaves);
        if (within.enters >= within.leaves)
            continue;
        for (int layer = 0; layer < ring.num_layers; layer++) {
            const Slab depth = slab(towards - ring.front_mm[layer], goes, 0.0, ring.layers[layer].crystal_mm[2]);
            const double enters = fmax(within.enters, depth.enters);
            if (enters < fmin(within.leaves, depth.leaves) && num < MOST_MET) {
                int at = num;
                for (; at > 0 && all[at - 1].enters_mm > enters; at--)
                    all[at] = all[at - 1];
                all[at].enters_mm = enters;
                all[at].module = module;
                all[at].layer = layer;
                num++;
            }
        }
    }
    return num;
}

// Flies until so much path lies inside crystals; the crystal's number is in `crystal`.
static __device__ Flight fly_in_ring(const Ring &ring, const Tables &tables, const Photon &photon, double path_mm)
{
    Met met[MOST_MET];
    const int num = met_by(ring, tables, photon, met);
    Flight flight = {false, 0.0, {0, 0}};
    for (int i = 0; i < num; i++) {
        const double cosine = tables.turns[2 * met[i].module], sine = tables.turns[2 * met[i].module + 1];
        const Crystals &crystals = ring.layers[met[i].layer];
        const double *const p = photon.position_mm, *const d = photon.direction;
        const Photon there = {
            {p[1] * cosine - p[0] * sine, p[2], p[0] * cosine + p[1] * sine - ring.front_mm[met[i].layer]},
            {d[1] * cosine - d[0] * sine, d[2], d[0] * cosine + d[1] * sine},
            photon.energy_kev,
        };
        const Flight inside = fly(crystals, there, path_mm - flight.mm);
        if (inside.interacts) {
            const int crystal = ((met[i].module * ring.num_layers + met[i].layer) * crystals.num[1] + inside.crystal[1]) *
                                    crystals.num[0] + inside.crystal[0];
            flight.interacts = true;
            flight.mm = inside.mm;
            // As deposits are numbered.
            flight.crystal[0] = crystal & 0xffff;
            flight.crystal[1] = crystal >> 16;
            return flight;
        }
        flight.mm += inside.mm;
    }
    return flight;
}

// Follows a photon whose first interaction is forced: the probability of that, 0 if it meets no crystal.
static __device__ double track(const Simulation &simulation, const Tables &tables, const Material &material, Photon photon,
                               Deposits &deposits, Random &random)
{
    deposits.sum_kev = 0.0;
    deposits.num = 0;
    Attenuation attenuation = attenuation_at(material, photon.energy_kev);
    const double length_mm = fly_in_ring(simulation.ring, tables, photon, ENDLESS_MM).mm;
    const double weight = -expm1(-attenuation.total_per_mm * length_mm);
    if (!(weight > 0.0))
        return 0.0;
    double path_mm = -log1p(-uniform(random) * weight) / attenuation.total_per_mm;
    bool has_interacted = false;
    for (;;) {
        const Flight flight = fly_in_ring(simulation.ring, tables, photon, path_mm);
        if (!flight.interacts)
            break;
        has_interacted = true;
        if (!interact(material, flight, photon, attenuation, deposits, random))
            break;
        path_mm = -log(uniform(random)) / attenuation.total_per_mm;
    }
    return has_interacted ? weight : 0.0;
}

// Which crystals report: how many, and the first two with the photon that gave most.
static __device__ int read_out(const Ring &ring, const Deposits *deposits, int crystals[2], int photons[2], Random &random)
{
    int num = 0;
    for (int photon = 0; photon < 2; photon++)
        for (int i = 0; i < deposits[photon].num; i++) {
            const int crystal = deposits[photon].crystal[i];
            double of[2] = {0.0, 0.0};
            of[photon] = deposits[photon].energy_kev[i];
            bool is_known = false;
            for (int k = 0; k < deposits[1 - photon].num; k++)
                if (deposits[1 - photon].crystal[k] == crystal) {
                    of[1 - photon] = deposits[1 - photon].energy_kev[k];
                    is_known = photon == 1;
                }
            if (is_known)
                continue;
            double energy_kev = of[0] + of[1];
            if (ring.energy_resolution > 0.0) {
                double pair[2];
                normal_pair(pair, random);
                energy_kev += ring.energy_resolution * sqrt(energy_kev * ELECTRON_KEV) / FWHM_PER_SIGMA * pair[0];
            }
            if (energy_kev >= ring.threshold_kev) {
                if (num < 2) {
                    crystals[num] = crystal;
                    photons[num] = of[1] > of[0];
                }
                num++;
            }
        }
    return num;
}

static __device__ __forceinline__ unsigned long long lor_of(unsigned one, unsigned other)
{
    const unsigned long long low = min(one, other), high = max(one, other);
    return high * (high - 1) / 2 + low;
}

// A coincidence. Shares are rounded down after `rounding` of [0, 1) was added, so that their mean is right however small they are.
struct Coincidence {
    int crystals[2];
    double weight;
    double rounding;
};

// Adds a coincidence to an element.
static __device__ __forceinline__ void add_to(const Simulation &simulation, const Tables &tables, const Coincidence &counted,
                                              int basic, int symmetry, double value)
{
    const int number = basic - simulation.functions.first_basic;
    if (number < 0 || number >= simulation.functions.num_basic)
        return;
    const unsigned *const undone = tables.undone + symmetry * simulation.num_crystals;
    const unsigned long long element = number * simulation.num_lors + lor_of(undone[counted.crystals[0]], undone[counted.crystals[1]]);
    const double share = counted.weight * value;
    atomicAdd(tables.sums + element, (unsigned)(share * simulation.units + counted.rounding));
    atomicAdd(tables.squares + element, (unsigned)(share * share * simulation.units + counted.rounding));
}

// The same of the function of a polar cell.
static __device__ void add(const Simulation &simulation, const Tables &tables, const Coincidence &counted, int ring, long long number,
                           int slice, double value)
{
    const Functions &functions = simulation.functions;
    const int num_turns = simulation.ring.num_modules, num = tables.num_cells[ring];
    const long long whole = 2ll * num_turns * num;
    const int around = (int)((number % whole + whole) % whole);
    const int half_turn = around / num, place = around % num;
    const bool is_mirrored = half_turn % 2 == 1, is_flipped = slice < functions.num_half_slices;
    const int turn = (half_turn + 1) / 2 % num_turns;
    const int in_slice = tables.first_cell[ring] + (is_mirrored ? num - 1 - place : place);
    const int half_slice = is_flipped ? functions.num_half_slices - 1 - slice : slice - functions.num_half_slices;
    const int symmetry = (2 * is_flipped + is_mirrored) * num_turns + turn;
    add_to(simulation, tables, counted, half_slice * functions.num_in_slice + in_slice, symmetry, value);
}

// Adds a coincidence to the cubes that contain an image of its decay: those under the turns that cubes do not have.
static __device__ void add_to_cubes(const Simulation &simulation, const Tables &tables, const double decay[3],
                                    const Coincidence &counted)
{
    const Functions &functions = simulation.functions;
    const int num_turns = simulation.ring.num_modules, num = functions.num_squares;
    const int slice = (int)floor(decay[2] / functions.spacing_mm);
    if (slice < 0 || slice >= functions.num_half_slices)
        return;
    for (int turn = 0; turn < num_turns / 2; turn++) {
        const double cosine = tables.turns[2 * turn], sine = tables.turns[2 * turn + 1];
        const int x = (int)floor((decay[0] * cosine - decay[1] * sine) / functions.spacing_mm);
        const int y = (int)floor((decay[0] * sine + decay[1] * cosine) / functions.spacing_mm);
        const int along_x = x < 0 ? -1 - x : x, along_y = y < 0 ? -1 - y : y;
        if (along_x >= num || along_y >= num ||
            hypot((along_x + 0.5) * functions.spacing_mm, (along_y + 0.5) * functions.spacing_mm) > functions.squares_radius_mm)
            continue;
        // A half turn changes both signs, the mirror that of y.
        const bool is_turned = x < 0, is_mirrored = (x < 0) != (y < 0);
        const int symmetry = is_mirrored * num_turns + (is_turned * (num_turns / 2) + num_turns - turn) % num_turns;
        add_to(simulation, tables, counted, (slice * num + along_y) * num + along_x, symmetry, 1.0);
    }
}

static __device__ __forceinline__ double value_at(const Functions &functions, const float *values, double square_mm2)
{
    const double place = square_mm2 / (functions.reach_mm * functions.reach_mm) * functions.num_steps;
    if (place >= functions.num_steps)
        return 0.0;
    const int step = (int)place;
    const double low = values[step], high = values[step + 1];
    return low + (place - step) * (high - low);
}

// Adds a coincidence to all functions that are not 0 at its decay.
static __device__ void count(const Simulation &simulation, const Tables &tables, const double decay[3], const Coincidence &counted)
{
    const Functions &functions = simulation.functions;
    const double spacing = functions.spacing_mm, reach = functions.reach_mm;
    if (functions.num_squares > 0) {
        add_to_cubes(simulation, tables, decay, counted);
        return;
    }
    const double radius = hypot(decay[0], decay[1]), angle = atan2(decay[1], decay[0]);
    if (reach == 0.0) {
        const int ring = (int)(radius / spacing), slice = (int)floor(decay[2] / spacing) + functions.num_half_slices;
        if (ring < functions.num_rings && slice >= 0 && slice < 2 * functions.num_half_slices) {
            const double each = PI / (simulation.ring.num_modules * tables.num_cells[ring]);
            add(simulation, tables, counted, ring, (long long)floor(angle / each), slice, 1.0);
        }
        return;
    }
    const double middle = functions.num_half_slices - 0.5;
    const int last_slice = (int)fmin(floor((decay[2] + reach) / spacing + middle), 2.0 * functions.num_half_slices - 1.0);
    for (int slice = (int)fmax(ceil((decay[2] - reach) / spacing + middle), 0.0); slice <= last_slice; slice++) {
        const double z = (slice + 0.5 - functions.num_half_slices) * spacing;
        const double above = (decay[2] - z) * (decay[2] - z);
        const double in_plane = sqrt(fmax(reach * reach - above, 0.0));
        const int last_ring = (int)fmin(floor((radius + in_plane) / spacing - 0.5), functions.num_rings - 1.0);
        for (int ring = (int)fmax(ceil((radius - in_plane) / spacing - 0.5), 0.0); ring <= last_ring; ring++) {
            const double ring_mm = (ring + 0.5) * spacing;
            const double cosine = (radius * radius + ring_mm * ring_mm - in_plane * in_plane) / (2.0 * radius * ring_mm);
            const double each = PI / (simulation.ring.num_modules * tables.num_cells[ring]);
            long long from = 0, end = 2ll * simulation.ring.num_modules * tables.num_cells[ring];
            if (cosine > -1.0) {
                const double half = acos(fmin(cosine, 1.0));
                from = (long long)ceil((angle - half) / each - 0.5);
                end = (long long)floor((angle + half) / each - 0.5) + 1;
            }
            for (long long number = from; number < end; number++) {
                const double off = (number + 0.5) * each - angle;
                const double square = fmax(radius * radius + ring_mm * ring_mm - 2.0 * radius * ring_mm * cos(off), 0.0);
                const double value = value_at(functions, tables.values, square + above);
                if (value > 0.0)
                    add(simulation, tables, counted, ring, number, slice, value);
            }
        }
    }
}

// One decay in the wedge and its two photons; totals[0] and [1] get the units of what is counted and what is rejected as multiple.
static __device__ void follow(const Simulation &simulation, const Tables &tables, const Material &material, Random &random,
                              unsigned long long totals[3])
{
    const Ring &ring = simulation.ring;
    const double radius = simulation.extent_mm[0] * sqrt(uniform(random));
    const double turn = uniform(random) * PI / ring.num_modules;
    double sine, cosine;
    sincos(turn, &sine, &cosine);
    const double decay[3] = {radius * cosine, radius * sine, simulation.extent_mm[1] + uniform(random) * (simulation.extent_mm[2] - simulation.extent_mm[1])};

    // A direction with which both photons may reach crystals, even in the sine of its slope.
    sincospi(2.0 * uniform(random), &sine, &cosine);
    const double along = decay[0] * cosine + decay[1] * sine;
    const double square = ring.radius_mm * ring.radius_mm - (decay[0] * decay[0] + decay[1] * decay[1] - along * along);
    const double half_chord = sqrt(fmax(square, 0.0));
    const double there = fmax(half_chord - along, 1e-9), back = fmax(half_chord + along, 1e-9);
    const double end = ring.half_length_mm, z = decay[2];
    const double steepest = fmin((end - z) / there, (end + z) / back);
    const double flattest = fmax((-end - z) / there, (z - end) / back);
    const double low = flattest / hypot(flattest, 1.0), high = steepest / hypot(steepest, 1.0);
    const double slope = low + uniform(random) * (high - low);
    if (!(high > low))
        return;
    const double flat = sqrt(fmax(1.0 - slope * slope, 0.0));
    double weight = 0.5 * (high - low);

    Deposits deposits[2];
    for (int photon = 0; photon < 2; photon++) {
        const double way = photon == 0 ? 1.0 : -1.0;
        const Photon flies = {{decay[0], decay[1], decay[2]}, {way * flat * cosine, way * flat * sine, way * slope}, ELECTRON_KEV};
        weight *= track(simulation, tables, material, flies, deposits[photon], random);
        if (!(weight > 0.0))
            return;
    }
    Coincidence counted;
    int photons[2];
    const int num = read_out(ring, deposits, counted.crystals, photons, random);
    const unsigned long long units = (unsigned long long)round(weight * simulation.units);
    if (num > 2) {
        totals[1] += units;
    } else if (num == 2 && photons[0] != photons[1]) {
        totals[0] += units;
        totals[2]++;
        counted.weight = weight;
        counted.rounding = uniform(random);
        count(simulation, tables, decay, counted);
    }
}

// Follows the histories from `first` to `end`; `num_taken` = how many threads have taken so far (0 at the start).
extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK)
    response(const Simulation simulation, const double *turns, const int *num_cells, const int *first_cell, const float *values,
             const unsigned *undone, const double *per_mm, const double *squared, const double *cumulative,
             unsigned long long first, unsigned long long end, unsigned long long *num_taken, unsigned *sums, unsigned *squares,
             unsigned long long *totals)
{
    const Material material = {per_mm, squared, cumulative, simulation.tables};
    const Tables tables = {turns, num_cells, first_cell, values, undone, sums, squares};
    unsigned long long found[3] = {0, 0, 0};
    Random random;
    random.key[0] = simulation.key[0];
    random.key[1] = simulation.key[1];
    for (;;) {
        const unsigned long long history = first + atomicAdd(num_taken, 1ull);
        if (history >= end)
            break;
        open_stream(random, history);
        follow(simulation, tables, material, random, found);
    }
    for (int i = 0; i < 3; i++)
        if (found[i] > 0)
            atomicAdd(totals + i, found[i]);
}

// The largest of all sums.
extern "C" __global__ void largest_sum(const unsigned *sums, unsigned long long num, unsigned *largest)
{
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned most = 0;
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < num; at += stride)
        most = max(most, sums[at]);
    atomicMax(largest, most);
}

// For each line of response how many elements are above 0; the largest of all sums; and the effective counts of all together.
extern "C" __global__ void count_elements(const unsigned *sums, const unsigned *squares, unsigned long long num_lors,
                                          int num_basic, double units, unsigned *lens, unsigned *largest, double *effective)
{
    const unsigned long long lor = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lor >= num_lors)
        return;
    unsigned num = 0, most = 0;
    double counts = 0.0;
    for (int basic = 0; basic < num_basic; basic++) {
        const unsigned sum = sums[basic * num_lors + lor];
        if (sum > 0) {
            const double square = squares[basic * num_lors + lor];
            counts += square > 0.0 ? fmax((double)sum * sum / (square * units), 1.0) : 1.0;
            most = max(most, sum);
            num++;
        }
    }
    lens[lor] = num;
    atomicMax(largest, most);
    atomicAdd(effective, counts);
}

// The elements of each line, from `first[lor]` on: 17 bits of the basic function, of which `first_basic` is the first, and 15 of the
// value, `unit` times the tally.
extern "C" __global__ void write_elements(const unsigned *sums, unsigned long long num_lors, int first_basic, int num_basic,
                                          float unit, const unsigned long long *first, unsigned *elements)
{
    const unsigned long long lor = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (lor >= num_lors)
        return;
    unsigned long long at = first[lor];
    for (int number = 0; number < num_basic; number++) {
        const unsigned sum = sums[number * num_lors + lor];
        if (sum > 0) {
            const unsigned rounded = __float_as_uint(sum * unit) + (1u << 12);
            const unsigned code = min((max(rounded, 0x30000000u) - 0x30000000u) >> 13, 0x7fffu);
            elements[at++] = (unsigned)(first_basic + number) << 15 | code;
        }
    }
}
