// Sums and maxima. A group has a fixed share of the values, so that sums have the same bits on every run; it leaves short f32 sums,
// which the host adds in f64.

struct Span {
    x_at: u32,
    y_at: u32,
    len: u32,
    // The largest ratio, of poisson_ratio.
    value: f32,
}

const THREADS: u32 = 256u;
// Values of a thread.
const VALUES: u32 = 16u;

@group(0) @binding(0) var<uniform> span: Span;
@group(0) @binding(1) var<storage, read_write> partial: array<f32>;
@group(0) @binding(1) var<storage, read_write> partial_bits: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> x_bits: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> estimate: array<f32>;

var<workgroup> shared_sums: array<f32, THREADS>;
var<workgroup> shared_bits: array<u32, THREADS>;
var<workgroup> shared_terms: array<vec4f, THREADS>;
var<workgroup> shared_others: array<vec2f, THREADS>;

// The sum over a group.
fn group_sum(thread: u32, value: f32) -> f32 {
    shared_sums[thread] = value;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            shared_sums[thread] += shared_sums[thread + half];
        }
        workgroupBarrier();
    }
    return shared_sums[0];
}

// partial[group] = the sum of x y
@compute @workgroup_size(THREADS)
fn dot_product(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    var sum = 0.0;
    for (var k = 0u; k < VALUES; k++) {
        let i = (number * VALUES + k) * THREADS + thread;
        if i < span.len {
            sum += x[span.x_at + i] * y[span.y_at + i];
        }
    }
    sum = group_sum(thread, sum);
    if thread == 0u && number * VALUES * THREADS < span.len {
        partial[number] = sum;
    }
}

// The bits of an f32 as unsigned numbers in the order of the values; what is no number is the largest.
fn ordered(bits: u32) -> u32 {
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u && bits <= 0xff800000u);
}

// partial[group] = the largest x, or with a value above 0 the largest magnitude, as the bits above: f32 arithmetic need not know NaN.
@compute @workgroup_size(THREADS)
fn largest(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    var most = 0u;
    for (var k = 0u; k < VALUES; k++) {
        let i = (number * VALUES + k) * THREADS + thread;
        if i < span.len {
            let bits = x_bits[span.x_at + i];
            most = max(most, ordered(select(bits, bits & 0x7fffffffu, span.value > 0.0)));
        }
    }
    shared_bits[thread] = most;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            shared_bits[thread] = max(shared_bits[thread], shared_bits[thread + half]);
        }
        workgroupBarrier();
    }
    if thread == 0u && number * VALUES * THREADS < span.len {
        partial_bits[number] = shared_bits[0];
    }
}

// The natural logarithm of a positive normal number to 1e-7 (`ln` in src/engine/recon/em_kernels.rs).
fn logarithm(value: f32) -> f32 {
    let shifted = bitcast<u32>(value) - 0x3f3504f3u;
    let exponent = bitcast<i32>(shifted) >> 23u;
    let mantissa = bitcast<f32>((shifted & 0x007fffffu) + 0x3f3504f3u);
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    let series = 2.0 + t2 * (2.0 / 3.0 + t2 * (2.0 / 5.0 + t2 * (2.0 / 7.0 + t2 * (2.0 / 9.0))));
    return f32(exponent) * 0.6931471805599453 + t * series;
}

// estimate = x / estimate, at most `value`, where the estimate is above 0, else 0 (Belzunce et al. 2012, eq. 3, the ratio b/p); for
// each group the Poisson log-likelihood, the counts of bins with an estimate, the number of bins with counts and none, the number of
// limited ratios, and over all bins the squared differences and the estimates.
@compute @workgroup_size(THREADS)
fn poisson_ratio(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    var log_likelihood = 0.0;
    var counts = 0.0;
    var impossible = 0.0;
    var limited = 0.0;
    var squares = 0.0;
    var sum_expected = 0.0;
    for (var k = 0u; k < VALUES; k++) {
        let i = (number * VALUES + k) * THREADS + thread;
        if i >= span.len {
            continue;
        }
        let measured = x[span.x_at + i];
        let expected = estimate[span.y_at + i];
        let difference = measured - expected;
        var ratio = 0.0;
        squares += difference * difference;
        sum_expected += expected;
        // (What is no number stays none.)
        if !(expected <= 0.0) {
            ratio = measured / expected;
            if ratio > span.value {
                ratio = span.value;
                limited += 1.0;
            }
            log_likelihood += measured * logarithm(expected) - expected;
            counts += measured;
        } else if measured > 0.0 {
            impossible += 1.0;
        }
        estimate[span.y_at + i] = ratio;
    }
    shared_terms[thread] = vec4f(log_likelihood, counts, impossible, limited);
    shared_others[thread] = vec2f(squares, sum_expected);
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            shared_terms[thread] += shared_terms[thread + half];
            shared_others[thread] += shared_others[thread + half];
        }
        workgroupBarrier();
    }
    if thread == 0u && number * VALUES * THREADS < span.len {
        for (var k = 0u; k < 4u; k++) {
            partial[6u * number + k] = shared_terms[0][k];
        }
        partial[6u * number + 4u] = shared_others[0].x;
        partial[6u * number + 5u] = shared_others[0].y;
    }
}
