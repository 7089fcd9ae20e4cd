// Relaxation rates of voxels by variable projection, one thread for each voxel, in f64; the definition is src/engine/measure/oximetry/fit.rs.
// Images are one behind the other in the order of the times.

#define INDEX ((unsigned)(blockIdx.x * blockDim.x + threadIdx.x))

// Largest number of times, as in src/engine/cuda/images/voxel_fits.rs.
#define MAX_TIMES 32

// In place of the rate: reasons why a voxel has none, as in src/engine/cuda/images/voxel_fits.rs.
#define NOT_FINITE (-1.0f)
#define OUT_OF_RANGE (-2.0f)
#define NOT_CONVERGED (-3.0f)

// Images and the limits of the search.
struct FitShape {
    unsigned num_voxels;
    unsigned num_times;
    // Rates of the dictionary.
    unsigned num_entries;
    // 1 of a recovery, whose curve has a constant; 0 of a decay.
    unsigned has_constant;
    unsigned max_steps;
    unsigned max_halvings;
    double step_tolerance;
    double rounding;
    double max_factor;
};

// Values of a voxel at the times.
struct Values {
    const float *first;
    unsigned step;

    __device__ double operator[](unsigned time) const { return first[(size_t)time * step]; }
};

// The model at a rate.
struct State {
    double rate, constant, factor, residual, information, step;
};

__device__ State state_at(double rate, const Values &values, const double *times, const FitShape &fit)
{
    double curve[MAX_TIMES];
    double mean_value = 0.0, mean_curve = 0.0;
    for (unsigned i = 0; i < fit.num_times; i++) {
        curve[i] = exp(-rate * times[i]);
        mean_curve += curve[i];
        mean_value += values[i];
    }
    mean_curve = fit.has_constant ? mean_curve / fit.num_times : 0.0;
    mean_value = fit.has_constant ? mean_value / fit.num_times : 0.0;
    double square = 0.0, product = 0.0;
    for (unsigned i = 0; i < fit.num_times; i++) {
        const double e = curve[i] - mean_curve;
        square += e * e;
        product += e * (values[i] - mean_value);
    }
    const double factor = product / square;
    const double constant = mean_value - factor * mean_curve;
    // The derivative of the curve by the rate, without its mean and its part along the curve.
    double mean = 0.0, along = 0.0;
    for (unsigned i = 0; i < fit.num_times; i++)
        mean += -factor * times[i] * curve[i];
    mean = fit.has_constant ? mean / fit.num_times : 0.0;
    for (unsigned i = 0; i < fit.num_times; i++)
        along += (curve[i] - mean_curve) * (-factor * times[i] * curve[i] - mean);
    along /= square;
    State state = {rate, constant, factor, 0.0, 0.0, 0.0};
    double slope = 0.0;
    for (unsigned i = 0; i < fit.num_times; i++) {
        const double g = -factor * times[i] * curve[i] - mean - along * (curve[i] - mean_curve);
        const double r = values[i] - constant - factor * curve[i];
        state.residual += r * r;
        state.information += g * g;
        slope += g * r;
    }
    state.step = slope / state.information;
    return state;
}

__device__ double clamped(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

// The number of the rate of the dictionary whose curve fits best; `num_entries` of none.
__device__ unsigned best_entry(const Values &values, const double *curves, double rounding, const FitShape &fit)
{
    const double sign = fit.has_constant ? -1.0 : 1.0;
    double best = rounding;
    unsigned found = fit.num_entries;
    for (unsigned entry = 0; entry < fit.num_entries; entry++) {
        double product = 0.0;
        for (unsigned i = 0; i < fit.num_times; i++)
            product += curves[entry * fit.num_times + i] * values[i];
        product *= sign;
        if (product > best) {
            best = product;
            found = entry;
        }
    }
    return found;
}

// Fits the voxels that are not masked. `fits` has five values for each voxel, one kind behind the other: rate or reason, amplitude,
// inversion, and the roots of residual and information, whose squares may lie outside the range of f32.
extern "C" __global__ void fit_rates(float *fits, const float *images, const unsigned char *is_masked, const double *times,
                                     const double *rates, const double *curves, FitShape fit)
{
    const unsigned voxel = INDEX;
    if (voxel >= fit.num_voxels || is_masked[voxel])
        return;
    const Values values = {images + voxel, fit.num_voxels};
    double squares = 0.0;
    bool is_finite = true;
    for (unsigned i = 0; i < fit.num_times; i++) {
        squares += values[i] * values[i];
        is_finite = is_finite && isfinite(values[i]);
    }
    if (!is_finite) {
        fits[voxel] = NOT_FINITE;
        return;
    }
    const unsigned entry = best_entry(values, curves, fit.rounding * sqrt(squares), fit);
    float outcome = OUT_OF_RANGE;
    if (entry < fit.num_entries) {
        const double low = rates[0], high = rates[fit.num_entries - 1];
        State state = state_at(rates[entry], values, times, fit);
        outcome = NOT_CONVERGED;
        for (unsigned steps = 0; steps < fit.max_steps; steps++) {
            const double now = state.rate;
            if (!isfinite(state.step)) {
                outcome = OUT_OF_RANGE;
                break;
            }
            if (fabs(state.step) <= fit.step_tolerance * now) {
                const double amplitude = fit.has_constant ? state.constant : state.factor;
                outcome = amplitude > 0.0 ? (float)now : OUT_OF_RANGE;
                break;
            }
            double next = clamped(clamped(now + state.step, now / fit.max_factor, now * fit.max_factor), low, high);
            if (next == now) {
                outcome = OUT_OF_RANGE;
                break;
            }
            const double limit = state.residual + fit.rounding * squares;
            State tried = state_at(next, values, times, fit);
            for (unsigned halvings = 0; halvings < fit.max_halvings && !(tried.residual <= limit); halvings++) {
                next = 0.5 * (now + next);
                tried = state_at(next, values, times, fit);
            }
            state = tried;
        }
        const size_t num = fit.num_voxels;
        fits[voxel + num] = (float)(fit.has_constant ? state.constant : state.factor);
        fits[voxel + 2 * num] = (float)(-0.5 * state.factor / state.constant);
        fits[voxel + 3 * num] = (float)sqrt(state.residual);
        fits[voxel + 4 * num] = (float)sqrt(state.information);
    }
    fits[voxel] = outcome;
}
