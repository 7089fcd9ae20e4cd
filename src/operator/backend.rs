//! Arrays and the operations of EM on them, on the device that holds them. Here: the trait and the host.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::Simd;
use crate::data::{RoiMask, RoiSums};
use crate::words::counted;

/// Values per piece of a reduction: fixed, so that sums have the same bits for any number of threads.
const CHUNK: usize = 1 << 15;

/// Why a back end failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BackendError {
    /// Two arrays that belong together differ in length.
    #[error("an array of {found} values was used where {expected} were expected")]
    Length {
        /// Expected number of values.
        expected: usize,
        /// Found number of values.
        found: usize,
    },
    /// The device refused or broke.
    #[error("{0}")]
    Device(String),
}

/// What the ratio of measured to estimated data gives besides the ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoissonTerms {
    /// Σ (y ln ȳ − ȳ) over bins with ȳ > 0.
    pub log_likelihood: f64,
    /// Σ y over bins with ȳ > 0.
    pub counts: f64,
    /// Bins with y > 0 and ȳ = 0, left out of the likelihood.
    pub num_impossible_bins: usize,
}

impl std::ops::AddAssign for PoissonTerms {
    fn add_assign(&mut self, other: Self) {
        self.log_likelihood += other.log_likelihood;
        self.counts += other.counts;
        self.num_impossible_bins += other.num_impossible_bins;
    }
}

/// An image on its way from a device: fills the values of a `[z, y, x]` volume with the image as it was when this was
/// made, and waits for the device where it must. It may be called on any thread.
pub type PendingVolume = Box<dyn FnOnce(&mut [f32]) -> Result<(), BackendError> + Send>;

/// Arrays of f32 on a device, with every operation that an algorithm does on them. Every call may fail.
pub trait Backend: Send {
    /// Whether [`Backend::upload`] shares the values instead of copying them.
    const SHARES_MEMORY: bool;

    /// An array on the device.
    type Array: Send;

    /// Regions of interest on the device.
    type Masks: Send;

    /// What copying images to the host beside the computing needs.
    type Display: Send;

    /// The device in words.
    fn name(&self) -> String;

    /// Waits until everything asked before is done.
    ///
    /// # Errors
    /// Device failure, also of an earlier call.
    fn finish(&mut self) -> Result<(), BackendError>;

    /// An array of zeros.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn zeros(&mut self, len: usize) -> Result<Self::Array, BackendError>;

    /// An array of these values. The host shares them without a copy.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn upload(&mut self, values: Arc<Vec<f32>>) -> Result<Self::Array, BackendError>;

    /// Hands the values of an array to `read`, on the host.
    ///
    /// # Errors
    /// Device failure.
    fn read<R>(&mut self, array: &Self::Array, read: impl FnOnce(&[f32]) -> R) -> Result<R, BackendError>;

    /// `array` = value.
    ///
    /// # Errors
    /// Device failure.
    fn fill(&mut self, array: &mut Self::Array, value: f32) -> Result<(), BackendError>;

    /// x\[at..\] *= y\[range\].
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn multiply(&mut self, x: &mut Self::Array, at: usize, y: &Self::Array, range: Range<usize>) -> Result<(), BackendError>;

    /// x\[at..\] += scale · y\[range\].
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn add_scaled(
        &mut self,
        x: &mut Self::Array,
        at: usize,
        scale: f32,
        y: &Self::Array,
        range: Range<usize>,
    ) -> Result<(), BackendError>;

    /// Σ x\[at..\] y\[range\] in f64, in an order that does not depend on the number of threads.
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn dot(&mut self, x: &Self::Array, at: usize, y: &Self::Array, range: Range<usize>) -> Result<f64, BackendError>;

    /// Largest value; −∞ of an empty array.
    ///
    /// # Errors
    /// Device failure.
    fn max(&mut self, x: &Self::Array) -> Result<f32, BackendError>;

    /// estimate\[at..\] = y\[range\] / estimate\[at..\] where the estimate is positive, else 0; with the terms of the Poisson
    /// likelihood (Belzunce et al. 2012, eq. 3, the ratio b/p).
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn poisson_ratio(
        &mut self,
        y: &Self::Array,
        range: Range<usize>,
        estimate: &mut Self::Array,
        at: usize,
    ) -> Result<PoissonTerms, BackendError>;

    /// x = x · correction / sensitivity where the sensitivity is positive, else 0 (Belzunce et al. 2012, eq. 4).
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn em_update(&mut self, x: &mut Self::Array, correction: &Self::Array, sensitivity: &Self::Array)
    -> Result<(), BackendError>;

    /// Brings regions to the device. `index` gives the place in an image array of a voxel of a `[z, y, x]` volume.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn masks(&mut self, masks: &[RoiMask], index: &dyn Fn(usize) -> usize) -> Result<Self::Masks, BackendError>;

    /// Sums over each region of an image array.
    ///
    /// # Errors
    /// Device failure.
    fn roi_sums(&mut self, x: &Self::Array, masks: &Self::Masks) -> Result<Vec<RoiSums>, BackendError>;

    /// Makes ready to copy images of `num_voxels` to the host while the device goes on; `index` as for
    /// [`Backend::masks`]. `None` where that gains nothing.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn display(&mut self, num_voxels: usize, index: &dyn Fn(usize) -> usize) -> Result<Option<Self::Display>, BackendError>;

    /// Begins to copy an image to the host.
    ///
    /// # Errors
    /// Device failure.
    fn begin_copy(&mut self, x: &Self::Array, display: &mut Self::Display) -> Result<PendingVolume, BackendError>;
}

/// The processor: arrays in ordinary memory, work shared among the threads of the rayon pool that the caller runs in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

/// The piece of an array that an operation was asked to use.
fn piece(array: &[f32], range: Range<usize>) -> Result<&[f32], BackendError> {
    array.get(range.clone()).ok_or(BackendError::Length { expected: range.end, found: array.len() })
}

fn piece_mut(array: &mut Arc<Vec<f32>>, range: Range<usize>) -> Result<&mut [f32], BackendError> {
    let found = array.len();
    Arc::make_mut(array).get_mut(range.clone()).ok_or(BackendError::Length { expected: range.end, found })
}

fn same_length(x: &[f32], y: &[f32]) -> Result<(), BackendError> {
    if x.len() == y.len() { Ok(()) } else { Err(BackendError::Length { expected: x.len(), found: y.len() }) }
}

impl Backend for Host {
    const SHARES_MEMORY: bool = true;

    type Array = Arc<Vec<f32>>;
    type Masks = Vec<RoiMask>;
    type Display = std::convert::Infallible;

    fn name(&self) -> String {
        format!("CPU, {}", counted(rayon::current_num_threads(), "thread"))
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn zeros(&mut self, len: usize) -> Result<Self::Array, BackendError> {
        Ok(Arc::new(vec![0.0; len]))
    }

    fn upload(&mut self, values: Arc<Vec<f32>>) -> Result<Self::Array, BackendError> {
        Ok(values)
    }

    fn read<R>(&mut self, array: &Self::Array, read: impl FnOnce(&[f32]) -> R) -> Result<R, BackendError> {
        Ok(read(array))
    }

    fn fill(&mut self, array: &mut Self::Array, value: f32) -> Result<(), BackendError> {
        Arc::make_mut(array).par_chunks_mut(CHUNK).for_each(|chunk| chunk.fill(value));
        Ok(())
    }

    fn multiply(&mut self, x: &mut Self::Array, at: usize, y: &Self::Array, range: Range<usize>) -> Result<(), BackendError> {
        let y = piece(y, range)?;
        let x = piece_mut(x, at..at + y.len())?;
        x.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK)).for_each(|(x, y)| {
            for (x, y) in x.iter_mut().zip(y) {
                *x *= y;
            }
        });
        Ok(())
    }

    fn add_scaled(
        &mut self,
        x: &mut Self::Array,
        at: usize,
        scale: f32,
        y: &Self::Array,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let y = piece(y, range)?;
        let x = piece_mut(x, at..at + y.len())?;
        x.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK)).for_each(|(x, y)| {
            for (x, y) in x.iter_mut().zip(y) {
                *x += scale * y;
            }
        });
        Ok(())
    }

    fn dot(&mut self, x: &Self::Array, at: usize, y: &Self::Array, range: Range<usize>) -> Result<f64, BackendError> {
        let y = piece(y, range)?;
        let x = piece(x, at..at + y.len())?;
        let partial: Vec<f64> = x
            .par_chunks(CHUNK)
            .zip(y.par_chunks(CHUNK))
            .map(|(x, y)| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum())
            .collect();
        Ok(partial.iter().sum())
    }

    fn max(&mut self, x: &Self::Array) -> Result<f32, BackendError> {
        Ok(x.par_chunks(CHUNK)
            .map(|chunk| chunk.iter().copied().fold(f32::NEG_INFINITY, f32::max))
            .reduce(|| f32::NEG_INFINITY, f32::max))
    }

    fn poisson_ratio(
        &mut self,
        y: &Self::Array,
        range: Range<usize>,
        estimate: &mut Self::Array,
        at: usize,
    ) -> Result<PoissonTerms, BackendError> {
        let y = piece(y, range)?;
        let estimate = piece_mut(estimate, at..at + y.len())?;
        let partial: Vec<PoissonTerms> =
            estimate.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK)).map(|(estimate, y)| poisson_ratio(y, estimate)).collect();
        let mut sum = PoissonTerms::default();
        partial.into_iter().for_each(|terms| sum += terms);
        Ok(sum)
    }

    fn em_update(
        &mut self,
        x: &mut Self::Array,
        correction: &Self::Array,
        sensitivity: &Self::Array,
    ) -> Result<(), BackendError> {
        same_length(x, correction)?;
        same_length(x, sensitivity)?;
        Arc::make_mut(x)
            .par_chunks_mut(CHUNK)
            .zip(correction.par_chunks(CHUNK).zip(sensitivity.par_chunks(CHUNK)))
            .for_each(|(x, (correction, sensitivity))| em_update(x, correction, sensitivity));
        Ok(())
    }

    fn masks(&mut self, masks: &[RoiMask], index: &dyn Fn(usize) -> usize) -> Result<Self::Masks, BackendError> {
        let place = |&(voxel, weight): &(u32, f32)| (index(voxel as usize) as u32, weight);
        Ok(masks.iter().map(|mask| RoiMask { voxels: mask.voxels.iter().map(place).collect() }).collect())
    }

    fn roi_sums(&mut self, x: &Self::Array, masks: &Self::Masks) -> Result<Vec<RoiSums>, BackendError> {
        Ok(masks.iter().map(|mask| mask.sums(x)).collect())
    }

    fn display(&mut self, _: usize, _: &dyn Fn(usize) -> usize) -> Result<Option<Self::Display>, BackendError> {
        Ok(None)
    }

    fn begin_copy(&mut self, _: &Self::Array, display: &mut Self::Display) -> Result<PendingVolume, BackendError> {
        match *display {}
    }
}

/// One chunk of [`Backend::poisson_ratio`], with the processor's vector instructions.
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

/// Eight bins at a time, so that the compiler can keep them in one register.
#[inline(always)]
fn poisson_ratio_lanes(y: &[f32], estimate: &mut [f32]) -> PoissonTerms {
    const LANES: usize = 8;
    let mut sum = PoissonTerms::default();
    let split = y.len() - y.len() % LANES;
    let (body, tail) = estimate.split_at_mut(split);
    for (y, estimate) in y[..split].chunks_exact(LANES).zip(body.chunks_exact_mut(LANES)) {
        let mut terms = [0.0f32; LANES];
        let mut counts = [0.0f32; LANES];
        let mut impossible = [0u32; LANES];
        for lane in 0..LANES {
            (estimate[lane], terms[lane], counts[lane], impossible[lane]) = poisson_bin(y[lane], estimate[lane]);
        }
        sum.log_likelihood += terms.iter().map(|&t| f64::from(t)).sum::<f64>();
        sum.counts += counts.iter().map(|&t| f64::from(t)).sum::<f64>();
        sum.num_impossible_bins += impossible.iter().sum::<u32>() as usize;
    }
    for (y, estimate) in y[split..].iter().zip(tail) {
        let (ratio, term, counts, impossible) = poisson_bin(*y, *estimate);
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
fn poisson_bin(y: f32, estimate: f32) -> (f32, f32, f32, u32) {
    let possible = estimate > 0.0;
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

/// One chunk of [`Backend::em_update`].
fn em_update(x: &mut [f32], correction: &[f32], sensitivity: &[f32]) {
    for ((x, c), s) in x.iter_mut().zip(correction).zip(sensitivity) {
        let seen = *s > 0.0;
        let safe = if seen { *s } else { 1.0 };
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
        let y = Arc::new(vec![3.0, 0.0, 2.0, 5.0]);
        let mut estimate = Arc::new(vec![1.5, 0.0, 0.0, 5.0]);
        let terms = host.poisson_ratio(&y, 0..4, &mut estimate, 0).unwrap();
        assert_eq!(*estimate, vec![2.0, 0.0, 0.0, 1.0]);
        assert_eq!(terms.num_impossible_bins, 1);
        assert_eq!(terms.counts, 8.0);
        let exact = 3.0 * 1.5f64.ln() - 1.5 + 5.0 * 5.0f64.ln() - 5.0;
        assert!((terms.log_likelihood - exact).abs() < 1e-5);
    }
}
