// Random numbers and directions of the Monte Carlo; the definition is src/engine/montecarlo/draws.rs.

// Rest energy of the electron, which is an annihilation photon's energy.
#define ELECTRON_KEV 510.99895

// The stream of a history: Philox4x32-10 (Salmon et al. 2011), whose counter has the history's number in its upper half.
struct Random {
    unsigned key[2];
    unsigned long long stream;
    unsigned next_block;
    // Words that are still to be drawn, the next one first.
    unsigned words[4];
    int num_words;
};

struct Block {
    unsigned words[4];
};

// A block of the stream. Not inlined, since there is a draw in so many places.
static __device__ __noinline__ Block philox(unsigned block, unsigned long long stream, unsigned key0, unsigned key1)
{
    unsigned c0 = block, c1 = 0, c2 = (unsigned)stream, c3 = (unsigned)(stream >> 32);
    for (int round = 0; round < 10; round++) {
        const unsigned long long one = 0xD2511F53ull * c0, other = 0xCD9E8D57ull * c2;
        c0 = (unsigned)(other >> 32) ^ c1 ^ key0;
        c1 = (unsigned)other;
        c2 = (unsigned)(one >> 32) ^ c3 ^ key1;
        c3 = (unsigned)one;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    const Block words = {{c0, c1, c2, c3}};
    return words;
}

static __device__ __forceinline__ void open_stream(Random &random, unsigned long long stream)
{
    random.stream = stream;
    random.next_block = 0;
    random.num_words = 0;
}

// A number inside (0, 1).
static __device__ __forceinline__ double uniform(Random &random)
{
    if (random.num_words == 0) {
        const Block block = philox(random.next_block++, random.stream, random.key[0], random.key[1]);
        for (int i = 0; i < 4; i++)
            random.words[i] = block.words[i];
        random.num_words = 4;
    }
    const unsigned word = random.words[0];
    for (int i = 0; i < 3; i++)
        random.words[i] = random.words[i + 1];
    random.num_words--;
    return (word + 0.5) * (1.0 / 4294967296.0);
}

// A whole number below `num`.
static __device__ __forceinline__ int below(int num, Random &random)
{
    return min((int)(uniform(random) * num), num - 1);
}

// Two independent numbers of the standard normal distribution.
static __device__ __forceinline__ void normal_pair(double pair[2], Random &random)
{
    const double radius = sqrt(-2.0 * log(uniform(random)));
    double sine, cosine;
    sincospi(2.0 * uniform(random), &sine, &cosine);
    pair[0] = radius * cosine;
    pair[1] = radius * sine;
}

// Cosine and sine of a uniform angle.
static __device__ __forceinline__ void uniform_angle(double angle[2], Random &random)
{
    double x, y, square;
    do {
        x = 2.0 * uniform(random) - 1.0;
        y = 2.0 * uniform(random) - 1.0;
        square = x * x + y * y;
    } while (!(square >= 1e-12 && square <= 1.0));
    angle[0] = (x * x - y * y) / square;
    angle[1] = 2.0 * x * y / square;
}

// A unit vector of uniform direction.
static __device__ __forceinline__ void isotropic(double direction[3], Random &random)
{
    const double cosine = 2.0 * uniform(random) - 1.0;
    const double sine = sqrt(1.0 - cosine * cosine);
    double angle[2];
    uniform_angle(angle, random);
    direction[0] = sine * angle[0];
    direction[1] = sine * angle[1];
    direction[2] = cosine;
}

// Two unit vectors that stand upright on a unit vector and on each other.
static __device__ __forceinline__ void upright_on(const double direction[3], double u[3], double v[3])
{
    const double x = direction[0], y = direction[1], z = direction[2];
    const double sign = copysign(1.0, z);
    const double a = -1.0 / (sign + z);
    const double b = x * y * a;
    u[0] = 1.0 + sign * x * x * a;
    u[1] = sign * b;
    u[2] = -sign * x;
    v[0] = b;
    v[1] = sign + y * y * a;
    v[2] = -y;
}

static __device__ __forceinline__ void normalise(double vector[3])
{
    const double length = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    for (int i = 0; i < 3; i++)
        vector[i] /= length;
}

// Turns a unit vector to an angle of this cosine, about itself by a uniform angle.
static __device__ __forceinline__ void deflect(double direction[3], double cosine, Random &random)
{
    const double sine = sqrt(fmax(1.0 - cosine * cosine, 0.0));
    double u[3], v[3], angle[2];
    upright_on(direction, u, v);
    uniform_angle(angle, random);
    for (int i = 0; i < 3; i++)
        direction[i] = cosine * direction[i] + sine * (angle[0] * u[i] + angle[1] * v[i]);
    normalise(direction);
}
