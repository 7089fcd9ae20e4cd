//! Kernels of MLEM and OSEM, and their implementation on the host. On CUDA: `kernels/em_update.cu`, `kernels/reductions.cu`.

use std::ops::Range;

use rayon::prelude::*;

use super::{AscentKernels, PenaltyKernels};
use crate::algebra::{BackendError, CHUNK, ColumnLayout, Data, Host, HostArray, Image, Simd};

/// No ratio of measured to expected data is above 2⁴⁰. A single count's ratio is as large as there are bins for each count, 5·10⁶
/// for ten counts on a large scanner; beyond 2⁴⁰ sums of 62 bits in fixed point would have less than 22 left for a ratio of 1,
/// and products of f32 could overflow.
pub const MAX_RATIO: f32 = (1u64 << 40) as f32;

/// A sensitivity up to 2⁻²⁰ of its column's largest counts as none: axial runs add and subtract along z, and where no line passes
/// only the rounding of the column's other values is left.
pub const MIN_SENSITIVITY: f32 = 1.0 / (1 << 20) as f32;

/// Sums over the bins of the ratio of measured to estimated data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoissonTerms {
    /// Σ (y ln ȳ − ȳ) over bins where something is expected.
    pub log_likelihood: f64,
    /// Σ y over the same bins.
    pub counts: f64,
    /// Bins with y > 0 where nothing is expected, left out of the likelihood.
    pub num_unexplained_bins: usize,
    /// Bins whose ratio was above [`MAX_RATIO`] and is held there.
    pub num_limited_bins: usize,
    /// Distance of all bins from the expected values.
    pub residual: DataResidual,
}

/// Distance of data y from the values ȳ expected of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataResidual {
    /// Σ (y − ȳ)².
    pub squares: f64,
    /// Σ ȳ: the mean of `squares` if the y are Poisson-distributed with the means ȳ.
    pub expected: f64,
}

impl DataResidual {
    /// Σ (y − ȳ)² / Σ ȳ: about 1 where the data differ from the model by their noise alone, less where the image fits noise, and
    /// 0 of data without noise. Unlike Pearson's sum of (y − ȳ)² / ȳ it does not hang on the bins where next to nothing is
    /// expected, and unlike the deviance it has the mean 1 however few counts there are. `None` where nothing is expected.
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
        self.num_unexplained_bins += other.num_unexplained_bins;
        self.num_limited_bins += other.num_limited_bins;
        self.residual += other.residual;
    }
}

/// For sums over a group.
impl From<PoissonTerms> for [f64; 6] {
    fn from(terms: PoissonTerms) -> Self {
        let PoissonTerms { log_likelihood, counts, num_unexplained_bins, num_limited_bins, residual } = terms;
        [log_likelihood, counts, num_unexplained_bins as f64, num_limited_bins as f64, residual.squares, residual.expected]
    }
}

impl From<[f64; 6]> for PoissonTerms {
    fn from([log_likelihood, counts, impossible, limited, squares, expected]: [f64; 6]) -> Self {
        Self {
            log_likelihood,
            counts,
            num_unexplained_bins: impossible as usize,
            num_limited_bins: limited as usize,
            residual: DataResidual { squares, expected },
        }
    }
}

/// The kernels of EM on a back end, which has those of penalties and of algorithms that climb, too.
pub trait EmKernels: PenaltyKernels + AscentKernels {
    /// estimate\[at..\] = y\[range\] / estimate\[at..\], at most [`MAX_RATIO`], where the estimate is above 0, else 0; with the
    /// terms of the Poisson likelihood (Belzunce et al. 2012, eq. 3, the ratio b/p).
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn poisson_ratio(
        &mut self,
        y: &Self::Array<Data>,
        range: Range<usize>,
        estimate: &mut Self::Array<Data>,
        at: usize,
    ) -> Result<PoissonTerms, BackendError>;

    /// x = x · backprojected_ratio / sensitivity where the sensitivity is above 0, else x (Belzunce et al. 2012, eq. 4). A ratio
    /// below 0, which only rounding makes, counts as 0.
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn em_update(
        &mut self,
        x: &mut Self::Array<Image>,
        backprojected_ratio: &Self::Array<Image>,
        sensitivity: &Self::Array<Image>,
    ) -> Result<(), BackendError>;

    /// Sets to 0 the values of a sensitivity that are at most [`MIN_SENSITIVITY`] of the largest of their column.
    ///
    /// # Errors
    /// Columns that reach beyond the array, device failure.
    fn drop_rounding(&mut self, sensitivity: &mut Self::Array<Image>, columns: ColumnLayout) -> Result<(), BackendError>;

    /// out = x where the sensitivity is above 0, else 0.
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn masked(
        &mut self,
        out: &mut Self::Array<Image>,
        x: &Self::Array<Image>,
        sensitivity: &Self::Array<Image>,
    ) -> Result<(), BackendError>;

    /// Data of pairs, which need not be copied to the device: table\[r₀ + c₀\] · table\[r₁ + c₁\] for each row r and each column
    /// c, `[row][column]`.
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
    ) -> Result<PoissonTerms, BackendError> {
        let y = y.piece(range)?;
        let estimate = estimate.piece_mut(at..at + y.len())?;
        let chunks = estimate.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK));
        let partial: Vec<PoissonTerms> = chunks.map(|(estimate, y)| poisson_ratio(y, estimate)).collect();
        let mut sum = PoissonTerms::default();
        partial.into_iter().for_each(|terms| sum += terms);
        Ok(sum)
    }

    fn em_update(
        &mut self,
        x: &mut HostArray<Image>,
        backprojected_ratio: &HostArray<Image>,
        sensitivity: &HostArray<Image>,
    ) -> Result<(), BackendError> {
        same_length(x, backprojected_ratio)?;
        same_length(x, sensitivity)?;
        x.values_mut()
            .par_chunks_mut(CHUNK)
            .zip(backprojected_ratio.par_chunks(CHUNK).zip(sensitivity.par_chunks(CHUNK)))
            .for_each(|(x, (backprojected_ratio, sensitivity))| em_update(x, backprojected_ratio, sensitivity));
        Ok(())
    }

    fn drop_rounding(&mut self, sensitivity: &mut HostArray<Image>, columns: ColumnLayout) -> Result<(), BackendError> {
        let ColumnLayout { count, len, width } = columns;
        let block_len = len * width;
        let values = sensitivity.piece_mut(0..count * len)?;
        values.par_chunks_mut(block_len.max(1)).for_each(|block| {
            for column in 0..width {
                let values = || block.iter().skip(column).step_by(width);
                let least = MIN_SENSITIVITY * values().fold(0.0f32, |largest, value| largest.max(*value));
                block.iter_mut().skip(column).step_by(width).filter(|value| **value <= least).for_each(|value| *value = 0.0);
            }
        });
        Ok(())
    }

    fn masked(
        &mut self,
        out: &mut HostArray<Image>,
        x: &HostArray<Image>,
        sensitivity: &HostArray<Image>,
    ) -> Result<(), BackendError> {
        same_length(out, x)?;
        same_length(out, sensitivity)?;
        let values = out.values_mut().par_iter_mut().zip(x.par_iter().zip(&**sensitivity));
        values.for_each(|(out, (x, sensitivity))| *out = if *sensitivity > 0.0 { *x } else { 0.0 });
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
fn poisson_ratio(y: &[f32], estimate: &mut [f32]) -> PoissonTerms {
    #[cfg(target_arch = "x86_64")]
    if Simd::detect() >= Simd::Avx2 {
        // SAFETY: the processor has the instructions.
        return unsafe { poisson_ratio_avx2(y, estimate) };
    }
    poisson_ratio_lanes(y, estimate)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn poisson_ratio_avx2(y: &[f32], estimate: &mut [f32]) -> PoissonTerms {
    poisson_ratio_lanes(y, estimate)
}

/// Eight bins at a time, so that the compiler can keep them, and the sums of each of the eight places, in registers.
#[inline(always)]
fn poisson_ratio_lanes(y: &[f32], estimate: &mut [f32]) -> PoissonTerms {
    const LANES: usize = 8;
    let (mut terms, mut counts) = ([0.0f64; LANES], [0.0f64; LANES]);
    let (mut impossible, mut limited) = ([0u32; LANES], [0u32; LANES]);
    let (mut squares, mut expected) = ([0.0f64; LANES], [0.0f64; LANES]);
    let split = y.len() - y.len() % LANES;
    let (body, tail) = estimate.split_at_mut(split);
    for (y, estimate) in y[..split].chunks_exact(LANES).zip(body.chunks_exact_mut(LANES)) {
        for lane in 0..LANES {
            let difference = y[lane] - estimate[lane];
            squares[lane] += f64::from(difference * difference);
            expected[lane] += f64::from(estimate[lane]);
            let bin = PoissonBin::new(y[lane], estimate[lane]);
            estimate[lane] = bin.ratio;
            terms[lane] += f64::from(bin.term);
            counts[lane] += f64::from(bin.counts);
            impossible[lane] += bin.impossible;
            limited[lane] += bin.limited;
        }
    }
    let [log_likelihood, counts, squares, expected] = [terms, counts, squares, expected].map(|lanes| lanes.iter().sum::<f64>());
    let mut sum = PoissonTerms {
        log_likelihood,
        counts,
        num_unexplained_bins: impossible.iter().sum::<u32>() as usize,
        num_limited_bins: limited.iter().sum::<u32>() as usize,
        residual: DataResidual { squares, expected },
    };
    for (y, estimate) in y[split..].iter().zip(tail) {
        let bin = PoissonBin::new(*y, *estimate);
        sum.residual += DataResidual { squares: f64::from((*y - *estimate).powi(2)), expected: f64::from(*estimate) };
        *estimate = bin.ratio;
        sum.log_likelihood += f64::from(bin.term);
        sum.counts += f64::from(bin.counts);
        sum.num_unexplained_bins += bin.impossible as usize;
        sum.num_limited_bins += bin.limited as usize;
    }
    sum
}

/// Ratio and terms of one bin.
struct PoissonBin {
    ratio: f32,
    /// Its term of the likelihood.
    term: f32,
    /// Its counts, where something is expected.
    counts: f32,
    /// 1 where there are counts and nothing is expected.
    impossible: u32,
    /// 1 where the ratio is held at [`MAX_RATIO`].
    limited: u32,
}

impl PoissonBin {
    /// Computes without branches. NaN propagates.
    #[inline(always)]
    fn new(y: f32, estimate: f32) -> Self {
        let is_nothing = estimate <= 0.0;
        let safe = if is_nothing { 1.0 } else { estimate };
        let exact = y / safe;
        let is_limited = exact > MAX_RATIO;
        let ratio = if is_limited { MAX_RATIO } else { exact };
        Self {
            ratio: if is_nothing { 0.0 } else { ratio },
            term: if is_nothing { 0.0 } else { y * ln(safe) - safe },
            counts: if is_nothing { 0.0 } else { y },
            impossible: u32::from(is_nothing & (y > 0.0)),
            limited: u32::from(is_limited & !is_nothing),
        }
    }
}

/// Natural logarithm of a positive normal number to 1e-7, in arithmetic that the compiler vectorises (unlike the library's).
/// ln(2ᵉ m) = e ln 2 + 2 artanh(t), t = (m − 1)/(m + 1), m in [√½, √2).
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
fn em_update(x: &mut [f32], backprojected_ratio: &[f32], sensitivity: &[f32]) {
    for ((x, c), s) in x.iter_mut().zip(backprojected_ratio).zip(sensitivity) {
        let seen = *s > 0.0;
        let safe = if seen { *s } else { 1.0 };
        // NaN propagates.
        let c = if *c < 0.0 { 0.0 } else { *c };
        *x = if seen { *x * c / safe } else { *x };
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
        let terms = host.poisson_ratio(&y, 0..4, &mut estimate, 0).unwrap();
        assert_eq!(*estimate, [2.0, 0.0, 0.0, 1.0]);
        assert_eq!(terms.num_unexplained_bins, 1);
        assert_eq!(terms.counts, 8.0);
        let exact = 3.0 * 1.5f64.ln() - 1.5 + 5.0 * 5.0f64.ln() - 5.0;
        assert!((terms.log_likelihood - exact).abs() < 1e-5);
        // Of the data that nothing explains too: 1.5² + 0 + 2² + 0 over 1.5 + 0 + 0 + 5.
        assert_eq!(terms.residual, DataResidual { squares: 6.25, expected: 6.5 });
        assert_eq!(DataResidual::default().ratio(), None);
    }

    #[test]
    fn a_ratio_is_limited_far_beyond_that_of_a_single_count_and_is_counted() {
        for len in [1, 8, 11] {
            let mut estimate = vec![1e-7, 1e-20, 1e-44, f32::NAN].into_iter().cycle().take(len).collect::<Vec<f32>>().into();
            let terms = Host.poisson_ratio(&vec![1.0; len].into(), 0..len, &mut estimate, 0).unwrap();
            for (place, ratio) in estimate.iter().enumerate() {
                match place % 4 {
                    0 => assert!((ratio / 1e7 - 1.0).abs() < 1e-6),
                    1 | 2 => assert_eq!(*ratio, MAX_RATIO),
                    _ => assert!(ratio.is_nan(), "what is no number is not hidden"),
                }
            }
            assert_eq!(terms.num_limited_bins, (0..len).filter(|place| matches!(place % 4, 1 | 2)).count());
            assert_eq!(terms.num_unexplained_bins, 0);
        }
    }

    #[test]
    fn a_voxel_without_sensitivity_keeps_its_value_and_rounding_is_no_sensitivity() {
        let mut x = vec![3.0, 3.0, 3.0].into();
        Host.em_update(&mut x, &vec![2.0, -1e-3, 5.0].into(), &vec![4.0, 1.0, 0.0].into()).unwrap();
        assert_eq!(*x, [1.5, 0.0, 3.0]);
        let mut out = vec![7.0; 3].into();
        Host.masked(&mut out, &x, &vec![1.0, 1.0, 0.0].into()).unwrap();
        assert_eq!(*out, [1.5, 0.0, 0.0]);
        // Two columns side by side, then two in the next block; one of each is faint as a whole.
        let (faint, rounding) = (1e-9f32, 1e-9 * MIN_SENSITIVITY);
        let mut s = vec![1.0, faint, MIN_SENSITIVITY, rounding, -1e-3, 2.0 * rounding, 0.0, 1.0, 0.0, 0.5, 0.0, 0.25, 9.0].into();
        Host.drop_rounding(&mut s, ColumnLayout { count: 4, len: 3, width: 2 }).unwrap();
        assert_eq!(*s, [1.0, faint, 0.0, 0.0, 0.0, 2.0 * rounding, 0.0, 1.0, 0.0, 0.5, 0.0, 0.25, 9.0]);
        assert!(Host.drop_rounding(&mut s, ColumnLayout { count: 5, len: 3, width: 5 }).is_err());
    }

    #[test]
    fn the_residual_of_poisson_counts_about_their_means_is_one_however_few_they_are() {
        use rand_distr::Distribution;
        let mut random = crate::random::stream(1, 2);
        for mean in [0.02f64, 0.5, 3.0, 200.0] {
            let num = 400_003;
            let poisson = rand_distr::Poisson::new(mean).unwrap();
            let y: Vec<f32> = (0..num).map(|_| poisson.sample(&mut random) as f32).collect();
            let found = Host.poisson_ratio(&y.into(), 0..num, &mut vec![mean as f32; num].into(), 0).unwrap();
            // The square of a Poisson deviate's deviation has the variance μ + 2 μ².
            let sd = ((mean + 2.0 * mean * mean) / num as f64).sqrt() / mean;
            let ratio = found.residual.ratio().unwrap();
            assert!((ratio - 1.0).abs() < 4.0 * sd, "{ratio} of a mean of {mean}");
        }
    }
}
