//! What MLEM and OSEM do on arrays beside the algebra, and the host's way of doing it. On CUDA: `kernels/em_update.cu`,
//! `kernels/reductions.cu`.

use std::ops::Range;

use rayon::prelude::*;

use crate::algebra::{Backend, BackendError, CHUNK, Data, Host, HostArray, Image, Simd};

/// What the ratio of measured to estimated data gives besides the ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoissonTerms {
    /// Σ (y ln ȳ − ȳ) over bins where something is expected.
    pub log_likelihood: f64,
    /// Σ y over the same bins.
    pub counts: f64,
    /// Bins with y > 0 where nothing is expected, left out of the likelihood.
    pub num_impossible_bins: usize,
    /// How far all bins are from what is expected.
    pub residual: DataResidual,
}

/// How far data y are from the ȳ that an image makes expect.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataResidual {
    /// Σ (y − ȳ)².
    pub squares: f64,
    /// Σ ȳ: what `squares` is on the average, where the y are Poisson's and the ȳ their means.
    pub expected: f64,
}

impl DataResidual {
    /// Σ (y − ȳ)² / Σ ȳ: about 1 where the data differ from the model by their noise alone, less where the image fits noise, and 0
    /// of data without noise. Unlike Pearson's sum of (y − ȳ)² / ȳ it does not hang on the bins where next to nothing is expected,
    /// and unlike the deviance it has the mean 1 however few counts there are. `None` where nothing is expected.
    pub fn ratio(self) -> Option<f64> {
        (self.expected > 0.0).then(|| self.squares / self.expected)
    }
}

impl std::ops::AddAssign for DataResidual {
    fn add_assign(&mut self, other: Self) {
        self.squares += other.squares;
        self.expected += other.expected;
    }
}

impl std::ops::AddAssign for PoissonTerms {
    fn add_assign(&mut self, other: Self) {
        self.log_likelihood += other.log_likelihood;
        self.counts += other.counts;
        self.num_impossible_bins += other.num_impossible_bins;
        self.residual += other.residual;
    }
}

/// For sums over a team.
impl From<PoissonTerms> for [f64; 5] {
    fn from(terms: PoissonTerms) -> Self {
        let PoissonTerms { log_likelihood, counts, num_impossible_bins, residual } = terms;
        [log_likelihood, counts, num_impossible_bins as f64, residual.squares, residual.expected]
    }
}

impl From<[f64; 5]> for PoissonTerms {
    fn from([log_likelihood, counts, impossible, squares, expected]: [f64; 5]) -> Self {
        Self { log_likelihood, counts, num_impossible_bins: impossible as usize, residual: DataResidual { squares, expected } }
    }
}

/// The kernels of EM on a back end.
pub trait EmKernels: Backend {
    /// estimate\[at..\] = y\[range\] / estimate\[at..\] where the estimate is above `least`, else 0; with the terms of the Poisson
    /// likelihood (Belzunce et al. 2012, eq. 3, the ratio b/p).
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn poisson_ratio(
        &mut self,
        y: &Self::Array<Data>,
        range: Range<usize>,
        estimate: &mut Self::Array<Data>,
        at: usize,
        least: f32,
    ) -> Result<PoissonTerms, BackendError>;

    /// x = x · correction / sensitivity where the sensitivity is above `least`, else 0 (Belzunce et al. 2012, eq. 4). A correction
    /// below 0, which only rounding makes, counts as 0.
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn em_update(
        &mut self,
        x: &mut Self::Array<Image>,
        correction: &Self::Array<Image>,
        sensitivity: &Self::Array<Image>,
        least: f32,
    ) -> Result<(), BackendError>;

    /// Data of pairs, which need not be copied to the device: table\[r₀ + c₀\] · table\[r₁ + c₁\] for each row r and each column c,
    /// `[row][column]`.
    ///
    /// # Errors
    /// A place outside the table, too little memory, device failure.
    fn pair_products(
        &mut self,
        table: &[f32],
        rows: &[[u32; 2]],
        columns: &[[u32; 2]],
    ) -> Result<Self::Array<Data>, BackendError>;
}

/// That all places of [`EmKernels::pair_products`] are in the table.
///
/// # Errors
/// One is not.
pub(crate) fn check_places(table: &[f32], rows: &[[u32; 2]], columns: &[[u32; 2]]) -> Result<(), BackendError> {
    for side in 0..2 {
        let most = |places: &[[u32; 2]]| places.iter().map(|place| place[side] as usize).max();
        if let (Some(row), Some(column)) = (most(rows), most(columns))
            && row + column >= table.len()
        {
            return Err(BackendError::Length { expected: row + column + 1, found: table.len() });
        }
    }
    Ok(())
}

fn same_length(x: &[f32], y: &[f32]) -> Result<(), BackendError> {
    if x.len() == y.len() { Ok(()) } else { Err(BackendError::Length { expected: x.len(), found: y.len() }) }
}

impl EmKernels for Host {
    fn poisson_ratio(
        &mut self,
        y: &HostArray<Data>,
        range: Range<usize>,
        estimate: &mut HostArray<Data>,
        at: usize,
        least: f32,
    ) -> Result<PoissonTerms, BackendError> {
        let y = y.piece(range)?;
        let estimate = estimate.piece_mut(at..at + y.len())?;
        let chunks = estimate.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK));
        let partial: Vec<PoissonTerms> = chunks.map(|(estimate, y)| poisson_ratio(y, estimate, least)).collect();
        let mut sum = PoissonTerms::default();
        partial.into_iter().for_each(|terms| sum += terms);
        Ok(sum)
    }

    fn em_update(
        &mut self,
        x: &mut HostArray<Image>,
        correction: &HostArray<Image>,
        sensitivity: &HostArray<Image>,
        least: f32,
    ) -> Result<(), BackendError> {
        same_length(x, correction)?;
        same_length(x, sensitivity)?;
        x.values_mut()
            .par_chunks_mut(CHUNK)
            .zip(correction.par_chunks(CHUNK).zip(sensitivity.par_chunks(CHUNK)))
            .for_each(|(x, (correction, sensitivity))| em_update(x, correction, sensitivity, least));
        Ok(())
    }

    fn pair_products(&mut self, table: &[f32], rows: &[[u32; 2]], columns: &[[u32; 2]]) -> Result<HostArray<Data>, BackendError> {
        check_places(table, rows, columns)?;
        let mut data = vec![0.0; rows.len() * columns.len()];
        data.par_chunks_mut(columns.len().max(1)).zip(rows).for_each(|(data, row)| {
            for (value, column) in data.iter_mut().zip(columns) {
                let [first, second] = [0, 1].map(|side| table[(row[side] + column[side]) as usize]);
                *value = first * second;
            }
        });
        Ok(data.into())
    }
}

/// One chunk of [`EmKernels::poisson_ratio`], with the processor's vector instructions.
#[allow(unsafe_code)]
fn poisson_ratio(y: &[f32], estimate: &mut [f32], least: f32) -> PoissonTerms {
    #[cfg(target_arch = "x86_64")]
    if Simd::detect() >= Simd::Avx2 {
        // SAFETY: the processor has the instructions.
        return unsafe { poisson_ratio_avx2(y, estimate, least) };
    }
    poisson_ratio_lanes(y, estimate, least)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn poisson_ratio_avx2(y: &[f32], estimate: &mut [f32], least: f32) -> PoissonTerms {
    poisson_ratio_lanes(y, estimate, least)
}

/// Eight bins at a time, so that the compiler can keep them, and the sums of each of the eight places, in registers.
#[inline(always)]
fn poisson_ratio_lanes(y: &[f32], estimate: &mut [f32], least: f32) -> PoissonTerms {
    const LANES: usize = 8;
    let (mut terms, mut counts, mut impossible) = ([0.0f64; LANES], [0.0f64; LANES], [0u32; LANES]);
    let (mut squares, mut expected) = ([0.0f64; LANES], [0.0f64; LANES]);
    let split = y.len() - y.len() % LANES;
    let (body, tail) = estimate.split_at_mut(split);
    for (y, estimate) in y[..split].chunks_exact(LANES).zip(body.chunks_exact_mut(LANES)) {
        for lane in 0..LANES {
            let difference = y[lane] - estimate[lane];
            squares[lane] += f64::from(difference * difference);
            expected[lane] += f64::from(estimate[lane]);
            let (ratio, term, explained, is_impossible) = poisson_bin(y[lane], estimate[lane], least);
            estimate[lane] = ratio;
            terms[lane] += f64::from(term);
            counts[lane] += f64::from(explained);
            impossible[lane] += is_impossible;
        }
    }
    let [log_likelihood, counts, squares, expected] = [terms, counts, squares, expected].map(|lanes| lanes.iter().sum::<f64>());
    let mut sum = PoissonTerms {
        log_likelihood,
        counts,
        num_impossible_bins: impossible.iter().sum::<u32>() as usize,
        residual: DataResidual { squares, expected },
    };
    for (y, estimate) in y[split..].iter().zip(tail) {
        let (ratio, term, counts, impossible) = poisson_bin(*y, *estimate, least);
        sum.residual += DataResidual { squares: f64::from((*y - *estimate).powi(2)), expected: f64::from(*estimate) };
        *estimate = ratio;
        sum.log_likelihood += f64::from(term);
        sum.counts += f64::from(counts);
        sum.num_impossible_bins += impossible as usize;
    }
    sum
}

/// Ratio, likelihood term, counts that are explained and whether there are some where none are possible, for one bin;
/// without branches.
#[inline(always)]
fn poisson_bin(y: f32, estimate: f32, least: f32) -> (f32, f32, f32, u32) {
    let possible = estimate > least;
    let safe = if possible { estimate } else { 1.0 };
    let ratio = if possible { y / safe } else { 0.0 };
    let term = if possible { y * ln(safe) - safe } else { 0.0 };
    (ratio, term, if possible { y } else { 0.0 }, u32::from(!possible && y > 0.0))
}

/// Natural logarithm of a positive normal number to 1e-7, in arithmetic that the compiler vectorises (the library's
/// cannot be). ln(2ᵉ m) = e ln 2 + 2 artanh(t), t = (m − 1)/(m + 1), m in [√½, √2).
#[inline(always)]
fn ln(x: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(SQRT_HALF_BITS));
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    let series = 2.0 + t2 * (2.0 / 3.0 + t2 * (2.0 / 5.0 + t2 * (2.0 / 7.0 + t2 * (2.0 / 9.0))));
    exponent as f32 * std::f32::consts::LN_2 + t * series
}

/// One chunk of [`EmKernels::em_update`].
fn em_update(x: &mut [f32], correction: &[f32], sensitivity: &[f32], least: f32) {
    for ((x, c), s) in x.iter_mut().zip(correction).zip(sensitivity) {
        let seen = *s > least;
        let safe = if seen { *s } else { 1.0 };
        // What is no number stays none.
        let c = if *c < 0.0 { 0.0 } else { *c };
        *x = if seen { *x * c / safe } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_logarithm_is_the_logarithm() {
        let mut x = 1e-30f32;
        while x < 1e30 {
            let exact = f64::from(x).ln();
            assert!((f64::from(ln(x)) - exact).abs() <= 2e-7 * exact.abs().max(1.0), "ln({x})");
            x *= 1.037;
        }
    }

    #[test]
    fn bins_without_expectation_are_left_out() {
        let mut host = Host;
        let y = vec![3.0, 0.0, 2.0, 5.0].into();
        let mut estimate = vec![1.5, 0.0, 0.0, 5.0].into();
        let terms = host.poisson_ratio(&y, 0..4, &mut estimate, 0, 0.0).unwrap();
        assert_eq!(*estimate, [2.0, 0.0, 0.0, 1.0]);
        assert_eq!(terms.num_impossible_bins, 1);
        assert_eq!(terms.counts, 8.0);
        let exact = 3.0 * 1.5f64.ln() - 1.5 + 5.0 * 5.0f64.ln() - 5.0;
        assert!((terms.log_likelihood - exact).abs() < 1e-5);
        // Of the data that nothing explains too: 1.5² + 0 + 2² + 0 over 1.5 + 0 + 0 + 5.
        assert_eq!(terms.residual, DataResidual { squares: 6.25, expected: 6.5 });
        assert_eq!(DataResidual::default().ratio(), None);
    }

    #[test]
    fn the_residual_of_poisson_counts_about_their_means_is_one_however_few_they_are() {
        use rand_distr::Distribution;
        let mut random = crate::random::stream(1, 2);
        for mean in [0.02f64, 0.5, 3.0, 200.0] {
            let num = 400_003;
            let poisson = rand_distr::Poisson::new(mean).unwrap();
            let y: Vec<f32> = (0..num).map(|_| poisson.sample(&mut random) as f32).collect();
            let found = Host.poisson_ratio(&y.into(), 0..num, &mut vec![mean as f32; num].into(), 0, 0.0).unwrap();
            // The square of a Poisson deviate's deviation has the variance μ + 2 μ².
            let sd = ((mean + 2.0 * mean * mean) / num as f64).sqrt() / mean;
            let ratio = found.residual.ratio().unwrap();
            assert!((ratio - 1.0).abs() < 4.0 * sd, "{ratio} of a mean of {mean}");
        }
    }
}
