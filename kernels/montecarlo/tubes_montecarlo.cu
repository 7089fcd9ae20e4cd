// Tubes of response by Monte Carlo, in double precision: the histories of src/engine/montecarlo/tubes.rs, draw by draw, so that a seed
// means the same on every device; only the last bits of logarithms, sines and contracted products differ.
#include "montecarlo_draws.cuh"
#include "montecarlo_crystals.cuh"
#include "montecarlo_track.cuh"
#include "montecarlo_start.cuh"

#define THREADS_PER_BLOCK 128
// So many that hardly any registers go to memory.
#define BLOCKS_PER_MULTIPROCESSOR 5

// How coincidences are counted.
struct Tubes {
    double spacing_mm[3];
    double bin_mm;
    double ring_spacing_mm;
    double diameter_mm;
    double depth_of_interaction_mm;
    double unit_mm3;
    double largest_mm3;
    int num[3];
    int num_radial;
    int num_ring_differences;
};

// All figures of a simulation.
struct Simulation {
    Source source;
    Crystals crystals;
    Readout readout;
    MaterialTables tables;
    Tubes tubes;
    unsigned key[2];
};

// The sums over all coincidences are in units that are larger by so many bits, as on the host.
#define TOTAL_BITS 16

// Sums of weights, of their squares on the tubes' axes, and [all counts, those outside the samples], in the units of the host.
struct Tallies {
    unsigned long long *sums;
    unsigned long long *squares;
    unsigned long long counted;
    unsigned long long outside;
};

// The middle of a crystal, from that of the head.
static __device__ __forceinline__ double position_mm(const Crystals &crystals, int axis, int index)
{
    return (index - 0.5 * (crystals.num[axis] - 1.0)) * crystals.pitch_mm[axis];
}

// Adds a coincidence to its tube and to the images of it that the tube has in itself, in equal parts.
static __device__ __forceinline__ void count(const Simulation &simulation, const Pose *poses, const Start &start,
                                             const int hits[2][2], double share, Tallies &tallies)
{
    const Tubes &tubes = simulation.tubes;
    // The line between the middles of the crystals, at the mean depth of interaction.
    double ends[2][2], rings_mm[2];
    for (int side = 0; side < 2; side++) {
        const Pose &pose = poses[start.heads[side]];
        const double distance_mm = pose.distance_mm + tubes.depth_of_interaction_mm;
        const double across_mm = position_mm(simulation.crystals, 0, hits[side][0]);
        for (int i = 0; i < 2; i++)
            ends[side][i] = distance_mm * pose.towards[i] + across_mm * pose.across[i];
        rings_mm[side] = position_mm(simulation.crystals, 1, hits[side][1]);
    }
    const double x = ends[1][0] - ends[0][0], y = ends[1][1] - ends[0][1];
    const double length_mm = hypot(x, y);
    const double along[2] = {x / length_mm, y / length_mm}, normal[2] = {-along[1], along[0]};
    const double s_mm = ends[0][0] * normal[0] + ends[0][1] * normal[1];
    const double middle_mm = 0.5 * (rings_mm[0] + rings_mm[1]);

    // Where the decay lies in the frame of the bin, in samples.
    const double tangential = round(s_mm / tubes.bin_mm);
    const double difference = (double)hits[0][1] - (double)hits[1][1];
    const int radial = (int)fabs(tangential), ring_difference = (int)fabs(difference);
    if (radial >= tubes.num_radial)
        return;
    const double *const decay = start.decay;
    const double a_mm = decay[0] * along[0] + decay[1] * along[1];
    const double slope = difference * tubes.ring_spacing_mm / tubes.diameter_mm;
    const double across_mm = decay[0] * normal[0] + decay[1] * normal[1] - tangential * tubes.bin_mm;
    const double axial_mm = decay[2] - (middle_mm - a_mm * slope);
    const double offset[3] = {
        a_mm / tubes.spacing_mm[0],
        (tangential < 0.0 ? -across_mm : across_mm) / tubes.spacing_mm[1],
        (difference < 0.0 ? -axial_mm : axial_mm) / tubes.spacing_mm[2],
    };

    const int num_across = radial == 0 ? 2 : 1, num_axial = ring_difference == 0 ? 2 : 1;
    const int num_images = 2 * num_across * num_axial;
    const double part_mm3 = start.weight_mm3 * share / num_images;
    const unsigned long long units = (unsigned long long)round(part_mm3 / tubes.unit_mm3);
    const double square = part_mm3 / tubes.unit_mm3 * (part_mm3 / tubes.largest_mm3);
    const long long tube = (long long)radial * tubes.num_ring_differences + ring_difference;
    tallies.counted += (units >> TOTAL_BITS) * num_images;
    for (int image = 0; image < num_images; image++) {
        const double turn = image & 1 ? -1.0 : 1.0;
        const double sign_across = num_across == 2 && image & 2 ? -1.0 : 1.0;
        const double sign_axial = num_axial == 2 && image & (2 * num_across) ? -1.0 : 1.0;
        const double at[3] = {
            floor(turn * offset[0] + 0.5 * tubes.num[0]),
            floor(sign_across * offset[1] + 0.5 * tubes.num[1]),
            floor(turn * sign_axial * offset[2] + 0.5 * tubes.num[2]),
        };
        bool is_inside = true;
        for (int axis = 0; axis < 3; axis++)
            is_inside = is_inside && at[axis] >= 0.0 && at[axis] < tubes.num[axis];
        if (!is_inside) {
            tallies.outside += units >> TOTAL_BITS;
            continue;
        }
        const int a = (int)at[0], b = (int)at[1], c = (int)at[2];
        atomicAdd(tallies.sums + ((tube * tubes.num[0] + a) * tubes.num[1] + b) * tubes.num[2] + c, units);
        if (b == tubes.num[1] / 2 && c == tubes.num[2] / 2)
            atomicAdd(tallies.squares + tube * tubes.num[0] + a, (unsigned long long)round(square));
    }
}

// Follows the histories from `first` to `end` and adds them to the tallies; `totals` holds the sums of all that are counted and
// of those outside the samples, `num_taken` how many histories threads have taken so far (0 at the start).
//
// A turn of the loop is one flight of each thread's photon. A thread whose history has ended takes the next one in the next
// turn, so that neither a warp nor the device waits for the longest history. The first flight of a photon measures how much
// crystal lies before it, which its first interaction is forced into.
extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK, BLOCKS_PER_MULTIPROCESSOR)
    tubes(const Simulation simulation, const Pose *poses, const HeadPair *pairs, const double *per_mm, const double *squares,
          const double *cumulative, unsigned long long first, unsigned long long end, unsigned long long *num_taken,
          unsigned long long *sums, unsigned long long *sums_of_squares, unsigned long long *totals)
{
    const Material material = {per_mm, squares, cumulative, simulation.tables};
    Tallies tallies = {sums, sums_of_squares, 0, 0};
    Random random;
    random.key[0] = simulation.key[0];
    random.key[1] = simulation.key[1];
    Start start;
    Photon photon;
    Attenuation attenuation;
    Deposits deposits;
    int hits[2][2];
    double path_mm = 0.0, share = 1.0, weight = 1.0;
    // The photon that is followed, or is next; whether it flies, and whether for the first time.
    int side = 0;
    bool flies = false, is_first = false;
    for (;;) {
        if (!flies) {
            if (side == 0) {
                const unsigned long long history = first + atomicAdd(num_taken, 1ull);
                if (history >= end)
                    break;
                open_stream(random, history);
                flies = begin(simulation.source, poses, pairs, start, random);
                share = 1.0;
            } else {
                flies = true;
            }
            if (flies) {
                photon = photon_of(start, side, poses);
                attenuation = attenuation_at(material, ELECTRON_KEV);
                deposits.sum_kev = 0.0;
                deposits.num = 0;
                path_mm = ENDLESS_MM;
                is_first = true;
            }
        }
        if (flies) {
            const Flight flight = fly(simulation.crystals, photon, path_mm);
            if (is_first) {
                is_first = false;
                weight = -expm1(-attenuation.total_per_mm * flight.mm);
                flies = weight > 0.0;
                if (flies)
                    path_mm = -log1p(-uniform(random) * weight) / attenuation.total_per_mm;
                else
                    side = 0;
            } else if (flight.interacts && interact(material, flight, photon, attenuation, deposits, random)) {
                path_mm = -log(uniform(random)) / attenuation.total_per_mm;
            } else {
                flies = false;
                if (!detect(simulation.readout, deposits, hits[side], random)) {
                    side = 0;
                } else {
                    share *= weight;
                    if (side == 1)
                        count(simulation, poses, start, hits, share, tallies);
                    side ^= 1;
                }
            }
        }
    }
    if (tallies.counted > 0)
        atomicAdd(totals, tallies.counted);
    if (tallies.outside > 0)
        atomicAdd(totals + 1, tallies.outside);
}
