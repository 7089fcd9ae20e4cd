//! Neighbouring values that the compiler puts into one vector register.

/// Values of a chunk.
pub const LANES: usize = 8;

/// Neighbouring values.
pub type Chunk = [f32; LANES];

/// a·b + c, in one rounding where the processor has it.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Returns the lanes from `at` on. Chunks are loaded whole, worked on as values and stored whole, so that the compiler sees that
/// nothing overlaps and keeps each in one register.
#[inline(always)]
pub fn load(values: &[f32], at: usize) -> Chunk {
    let mut lanes = [0.0; LANES];
    lanes.copy_from_slice(&values[at..at + LANES]);
    lanes
}

#[inline(always)]
pub fn store(values: &mut [f32], at: usize, lanes: Chunk) {
    values[at..at + LANES].copy_from_slice(&lanes);
}

/// factor · values + sum, lane by lane.
#[inline(always)]
pub fn add_multiple<const FUSED: bool>(factor: f32, values: Chunk, sum: Chunk) -> Chunk {
    let mut result = sum;
    for lane in 0..LANES {
        result[lane] = multiply_add::<FUSED>(factor, values[lane], sum[lane]);
    }
    result
}

#[inline(always)]
pub fn add(a: Chunk, b: Chunk) -> Chunk {
    let mut result = a;
    for lane in 0..LANES {
        result[lane] = a[lane] + b[lane];
    }
    result
}
