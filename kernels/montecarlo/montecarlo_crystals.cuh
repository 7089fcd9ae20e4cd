// The crystals of a head, and straight flight through them; the definition is src/engine/montecarlo/crystals.rs.

// Smallest direction component that counts.
#define FLATTEST 1e-12
// A path that no head holds.
#define ENDLESS_MM 1e300

// The crystals of each head.
struct Crystals {
    double pitch_mm[2];
    double crystal_mm[3];
    double half_head_mm[2];
    int num[2];
};

// A photon in the frame of a head.
struct Photon {
    double position_mm[3];
    double direction[3];
    double energy_kev;
};

// How a straight flight ends: after `mm` the photon interacts in a crystal, or it leaves the head with `mm` of its path inside
// crystals.
struct Flight {
    bool interacts;
    double mm;
    int crystal[2];
};

// The cells that a line crosses along one axis, as lengths along the line.
struct Walk {
    int index, change;
    double near, far, next, cell;
};

static __device__ __forceinline__ double larger(double a, double b)
{
    return a > b ? a : b;
}

static __device__ __forceinline__ double smaller(double a, double b)
{
    return a < b ? a : b;
}

// The walk along an axis of a line that enters the head at a point.
static __device__ __forceinline__ Walk new_walk(const Crystals &crystals, int axis, double entry_mm, double position_mm,
                                                double inverse)
{
    const double pitch_mm = crystals.pitch_mm[axis], half_head_mm = crystals.half_head_mm[axis];
    Walk walk;
    walk.index = min(max((int)((entry_mm + half_head_mm) / pitch_mm), 0), crystals.num[axis] - 1);
    const double to_centre_mm = (walk.index + 0.5) * pitch_mm - half_head_mm - position_mm;
    const double centre = to_centre_mm * inverse, length = fabs(inverse);
    const double half_crystal = 0.5 * crystals.crystal_mm[axis] * length, half_cell = 0.5 * pitch_mm * length;
    walk.change = inverse > 0.0 ? 1 : -1;
    walk.near = centre - half_crystal;
    walk.far = centre + half_crystal;
    walk.next = centre + half_cell;
    walk.cell = pitch_mm * length;
    return walk;
}

static __device__ __forceinline__ void step(Walk &walk)
{
    walk.index += walk.change;
    walk.near += walk.cell;
    walk.far += walk.cell;
    walk.next += walk.cell;
}

// Flies until so much path lies inside crystals, from cell to cell of the grid.
static __device__ __forceinline__ Flight fly(const Crystals &crystals, const Photon &photon, double path_mm)
{
    Flight flight = {false, 0.0, {0, 0}};
    double inverse[3];
    for (int axis = 0; axis < 3; axis++) {
        const double d = photon.direction[axis];
        inverse[axis] = 1.0 / (fabs(d) < FLATTEST ? copysign(FLATTEST, d) : d);
    }
    const double lower[3] = {-crystals.half_head_mm[0], -crystals.half_head_mm[1], 0.0};
    const double upper[3] = {crystals.half_head_mm[0], crystals.half_head_mm[1], crystals.crystal_mm[2]};
    double at = 0.0, leave = ENDLESS_MM;
    for (int axis = 0; axis < 3; axis++) {
        const double a = (lower[axis] - photon.position_mm[axis]) * inverse[axis];
        const double b = (upper[axis] - photon.position_mm[axis]) * inverse[axis];
        at = larger(at, smaller(a, b));
        leave = smaller(leave, larger(a, b));
    }
    if (at >= leave)
        return flight;
    Walk walk[2];
    for (int axis = 0; axis < 2; axis++) {
        const double position_mm = photon.position_mm[axis];
        walk[axis] = new_walk(crystals, axis, position_mm + at * photon.direction[axis], position_mm, inverse[axis]);
    }
    for (;;) {
        const double begins = larger(at, larger(walk[0].near, walk[1].near));
        const double ends = smaller(leave, smaller(walk[0].far, walk[1].far));
        if (ends > begins) {
            const double left_mm = path_mm - flight.mm;
            if (ends - begins >= left_mm) {
                flight.interacts = true;
                flight.mm = begins + left_mm;
                flight.crystal[0] = walk[0].index;
                flight.crystal[1] = walk[1].index;
                return flight;
            }
            flight.mm += ends - begins;
        }
        bool is_outside;
        if (walk[0].next <= walk[1].next) {
            at = walk[0].next;
            step(walk[0]);
            is_outside = (unsigned)walk[0].index >= (unsigned)crystals.num[0];
        } else {
            at = walk[1].next;
            step(walk[1]);
            is_outside = (unsigned)walk[1].index >= (unsigned)crystals.num[1];
        }
        if (at >= leave || is_outside)
            return flight;
    }
}
