// What a photon does in a head; the definition is src/engine/montecarlo/: track.rs, compton.rs, rayleigh.rs, materials.rs, readout.rs.

// Energy below which a photon deposits all it has.
#define CUTOFF_KEV 10.0
// Crystals that one photon's deposits are told apart in.
#define MOST_DEPOSITS 16
// Planck's constant times the speed of light.
#define KEV_ANGSTROM 12.39841984
// Full width at half maximum of a Gaussian of standard deviation 1.
#define FWHM_PER_SIGMA 2.3548200450309493

// What crystals are made of. Coefficients are [photo-electric, incoherent, coherent] for energies in even steps from the lowest
// on; squares of x and the integrals of the squared form factors up to them belong to coherent scattering.
struct MaterialTables {
    double lowest_kev;
    double steps_per_kev;
    int num_energies;
    int num_squares;
};

struct Material {
    const double *per_mm;
    const double *squares;
    const double *cumulative;
    MaterialTables tables;
};

struct Attenuation {
    double photoelectric_per_mm, incoherent_per_mm, total_per_mm;
};

// How energy is measured, and which is kept.
struct Readout {
    double energy_resolution;
    double window_kev[2];
};

// Energy that stayed in a head: in all, and of each crystal in the order in which they were met.
struct Deposits {
    double sum_kev;
    int num;
    int crystal[MOST_DEPOSITS];
    double energy_kev[MOST_DEPOSITS];
};

static __device__ __forceinline__ Attenuation attenuation_at(const Material &material, double energy_kev)
{
    const double place = (energy_kev - material.tables.lowest_kev) * material.tables.steps_per_kev;
    const int at = min(max((int)place, 0), material.tables.num_energies - 2);
    const double share = fmin(fmax(place - at, 0.0), 1.0);
    const double *const below = material.per_mm + 3 * at, *const above = below + 3;
    double per_mm[3];
    for (int process = 0; process < 3; process++)
        per_mm[process] = below[process] + share * (above[process] - below[process]);
    const Attenuation attenuation = {per_mm[0], per_mm[1], per_mm[0] + per_mm[1] + per_mm[2]};
    return attenuation;
}

// Energy after Compton scattering, and the cosine of its angle.
static __device__ __forceinline__ double compton(double energy_kev, double &cosine, Random &random)
{
    const double alpha = energy_kev / ELECTRON_KEV;
    const double most = 1.0 + 2.0 * alpha;
    double eta, share, accept;
    do {
        const double branch = uniform(random), place = uniform(random);
        accept = uniform(random);
        const bool forward = branch * (most + 8.0) <= most;
        eta = forward ? 1.0 + 2.0 * alpha * place : most / (1.0 + 2.0 * alpha * place);
        cosine = 1.0 - (eta - 1.0) / alpha;
        share = forward ? 4.0 * (1.0 / eta - 1.0 / (eta * eta)) : 0.5 * (cosine * cosine + 1.0 / eta);
    } while (!(accept <= share));
    return energy_kev / eta;
}

// The y at x on the line through points of ascending x; beyond an end that of the end.
static __device__ __forceinline__ double interpolated(const double *xs, const double *ys, int num, double x)
{
    int above = 0, end = num;
    while (above < end) {
        const int middle = (above + end) / 2;
        if (xs[middle] < x)
            above = middle + 1;
        else
            end = middle;
    }
    above = min(max(above, 1), num - 1);
    const double share = fmin(fmax((x - xs[above - 1]) / (xs[above] - xs[above - 1]), 0.0), 1.0);
    return ys[above - 1] + share * (ys[above] - ys[above - 1]);
}

// Cosine of the angle of coherent scattering.
static __device__ __forceinline__ double rayleigh(const Material &material, double energy_kev, Random &random)
{
    const double largest_square = (energy_kev / KEV_ANGSTROM) * (energy_kev / KEV_ANGSTROM);
    const double all = interpolated(material.squares, material.cumulative, material.tables.num_squares, largest_square);
    double cosine, accept;
    do {
        const double place = uniform(random);
        accept = uniform(random);
        const double square = interpolated(material.cumulative, material.squares, material.tables.num_squares, place * all);
        cosine = fmax(1.0 - 2.0 * square / largest_square, -1.0);
    } while (!(accept <= 0.5 * (1.0 + cosine * cosine)));
    return cosine;
}

static __device__ __forceinline__ void deposit(Deposits &deposits, double energy_kev, int crystal)
{
    deposits.sum_kev += energy_kev;
    for (int i = 0; i < deposits.num; i++) {
        if (deposits.crystal[i] == crystal) {
            deposits.energy_kev[i] += energy_kev;
            return;
        }
    }
    if (deposits.num < MOST_DEPOSITS) {
        deposits.crystal[deposits.num] = crystal;
        deposits.energy_kev[deposits.num] = energy_kev;
        deposits.num++;
    }
}

// Moves a photon to where it interacts, and lets it: whether anything of it goes on.
static __device__ __forceinline__ bool interact(const Material &material, const Flight &flight, Photon &photon,
                                                Attenuation &attenuation, Deposits &deposits, Random &random)
{
    for (int axis = 0; axis < 3; axis++)
        photon.position_mm[axis] += flight.mm * photon.direction[axis];
    const double kind = uniform(random) * attenuation.total_per_mm;
    double cosine = 1.0;
    if (kind < attenuation.photoelectric_per_mm + attenuation.incoherent_per_mm) {
        double left_kev = 0.0;
        if (!(kind < attenuation.photoelectric_per_mm)) {
            left_kev = compton(photon.energy_kev, cosine, random);
            if (left_kev < CUTOFF_KEV)
                left_kev = 0.0;
        }
        deposit(deposits, photon.energy_kev - left_kev, flight.crystal[0] | flight.crystal[1] << 16);
        if (left_kev == 0.0)
            return false;
        photon.energy_kev = left_kev;
        attenuation = attenuation_at(material, left_kev);
    } else {
        cosine = rayleigh(material, photon.energy_kev, random);
    }
    deflect(photon.direction, cosine, random);
    return true;
}

// Whether a head reports what a photon left in it, and the crystal that it goes to: that of the largest deposit.
static __device__ __forceinline__ bool detect(const Readout &readout, const Deposits &deposits, int crystal[2], Random &random)
{
    if (deposits.sum_kev <= 0.0)
        return false;
    double energy_kev = deposits.sum_kev;
    if (readout.energy_resolution != 0.0) {
        const double sigma_kev = readout.energy_resolution * sqrt(deposits.sum_kev * ELECTRON_KEV) / FWHM_PER_SIGMA;
        double pair[2];
        normal_pair(pair, random);
        energy_kev = deposits.sum_kev + sigma_kev * pair[0];
    }
    double largest_kev = 0.0;
    int found = 0;
    for (int i = 0; i < deposits.num; i++) {
        if (deposits.energy_kev[i] > largest_kev) {
            largest_kev = deposits.energy_kev[i];
            found = deposits.crystal[i];
        }
    }
    crystal[0] = found & 0xffff;
    crystal[1] = found >> 16;
    return readout.window_kev[0] <= energy_kev && energy_kev <= readout.window_kev[1];
}
