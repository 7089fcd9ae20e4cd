// Decays between rotating heads and their two photons; the definition is src/engine/montecarlo/: coincidences.rs, positron.rs.

// Where a head stands: directions towards it and across it, and its distance.
struct Pose {
    double towards[2];
    double across[2];
    double distance_mm;
};

// Two heads that are in coincidence.
struct HeadPair {
    int heads[2];
};

// The rest of what happens between a decay and the heads.
struct Source {
    // Of the positrons' range: the profile's share and its two slopes; a share below 0 where positrons annihilate at once.
    double range_share;
    double range_per_mm[2];
    // Standard deviation of the angle between the photons as projected onto a plane, radians.
    double noncollinearity_rad;
    double object_radius_mm;
    // Faces that histories pass through: width, height, distance of their rings, and how many rings.
    double face_mm[2];
    double ring_mm;
    int num_rings;
    int num_pairs;
};

// A history up to its two photons.
struct Start {
    int heads[2];
    double annihilation[3];
    double directions[2][3];
    double decay[3];
    double weight_mm3;
};

// Positrons travel from decay to annihilation as from annihilation to decay.
static __device__ __forceinline__ void travel(const Source &source, const double from[3], double to[3], Random &random)
{
    for (int i = 0; i < 3; i++)
        to[i] = from[i];
    if (source.range_share < 0.0)
        return;
    const double shorter = source.range_per_mm[0], longer = source.range_per_mm[1];
    const double of_shorter = source.range_share / shorter, of_longer = (1.0 - source.range_share) / longer;
    const bool is_short = uniform(random) * (of_shorter + of_longer) < of_shorter;
    const double one = uniform(random), other = uniform(random);
    const double range_mm = -log(one * other) / (is_short ? shorter : longer);
    double direction[3];
    isotropic(direction, random);
    for (int i = 0; i < 3; i++)
        to[i] += range_mm * direction[i];
}

// Direction of the photon that belongs to one of this direction.
static __device__ __forceinline__ void opposite(const Source &source, const double direction[3], double back[3], Random &random)
{
    for (int i = 0; i < 3; i++)
        back[i] = -direction[i];
    if (source.noncollinearity_rad == 0.0)
        return;
    double pair[2], u[3], v[3];
    normal_pair(pair, random);
    const double a = tan(source.noncollinearity_rad * pair[0]), b = tan(source.noncollinearity_rad * pair[1]);
    upright_on(back, u, v);
    for (int i = 0; i < 3; i++)
        back[i] = back[i] + a * u[i] + b * v[i];
    normalise(back);
}

// Begins a history; false where its line passes by the object.
static __device__ __forceinline__ bool begin(const Source &source, const Pose *poses, const HeadPair *pairs, Start &start,
                                             Random &random)
{
    const HeadPair pair = pairs[below(source.num_pairs, random)];
    const double num_rings = source.num_rings;
    const double difference = below(2 * source.num_rings - 1, random) - (num_rings - 1.0);
    const double num_pairs = num_rings - fabs(difference);
    const double lower = floor(uniform(random) * num_pairs);
    const double importance = (2.0 * num_rings - 1.0) * num_pairs / (num_rings * num_rings);

    double faces[2][3], towards[2][2];
    for (int side = 0; side < 2; side++) {
        const Pose &pose = poses[pair.heads[side]];
        const double across_mm = (uniform(random) - 0.5) * source.face_mm[0];
        for (int i = 0; i < 2; i++) {
            towards[side][i] = pose.towards[i];
            faces[side][i] = pose.distance_mm * pose.towards[i] + across_mm * pose.across[i];
        }
        const double ring = side == 0 ? lower + fmax(difference, 0.0) : lower - fmin(difference, 0.0);
        faces[side][2] = (ring + uniform(random)) * source.ring_mm - 0.5 * source.face_mm[1];
        start.heads[side] = pair.heads[side];
    }
    double line[3], direction[3];
    for (int i = 0; i < 3; i++)
        line[i] = faces[1][i] - faces[0][i];
    const double length_mm = sqrt(line[0] * line[0] + line[1] * line[1] + line[2] * line[2]);

    const double square = line[0] * line[0] + line[1] * line[1];
    const double half = -(faces[0][0] * line[0] + faces[0][1] * line[1]) / square;
    const double radius_mm = source.object_radius_mm;
    const double outside = faces[0][0] * faces[0][0] + faces[0][1] * faces[0][1] - radius_mm * radius_mm;
    const double root = half * half - outside / square;
    if (!(root > 0.0))
        return false;
    const double enter = half - sqrt(root), leave = half + sqrt(root);
    const double at = enter + uniform(random) * (leave - enter);
    for (int i = 0; i < 3; i++) {
        direction[i] = line[i] / length_mm;
        start.annihilation[i] = faces[0][i] + at * line[i];
        start.directions[0][i] = -direction[i];
    }
    const double face_mm2 = source.face_mm[0] * source.face_mm[1];
    double areas_mm4 = face_mm2 * face_mm2;
    for (int side = 0; side < 2; side++)
        areas_mm4 *= fabs(towards[side][0] * direction[0] + towards[side][1] * direction[1]);
    start.weight_mm3 = source.num_pairs * importance * areas_mm4 * (leave - enter) / (2.0 * 3.141592653589793 * length_mm);

    travel(source, start.annihilation, start.decay, random);
    opposite(source, start.directions[0], start.directions[1], random);
    return true;
}

// One of the photons in its head's frame.
static __device__ __forceinline__ Photon photon_of(const Start &start, int side, const Pose *poses)
{
    const Pose &pose = poses[start.heads[side]];
    const double *const p = start.annihilation, *const d = start.directions[side];
    const Photon photon = {
        {p[0] * pose.across[0] + p[1] * pose.across[1], p[2],
         p[0] * pose.towards[0] + p[1] * pose.towards[1] - pose.distance_mm},
        {d[0] * pose.across[0] + d[1] * pose.across[1], d[2], d[0] * pose.towards[0] + d[1] * pose.towards[1]},
        ELECTRON_KEV,
    };
    return photon;
}
