//! Backprojection of planes, for data that are integrals over planes: f(x) += Σ_i q_i(x·n_i).
//!
//! Qiao et al. 2015, eq. 1: every voxel gathers one interpolated value of each filtered projection. Nothing is ever added
//! by two threads to one voxel, so there is no race and no way to choose how to add. An image of one slice (z = 0) and
//! directions (cos θ, sin θ, 0) make it the backprojection of two dimensions.
//! [`plain`] is the definition, in double precision and in the paper's order; [`SingleStage`] is the fast way, and
//! [`MultiStage`] the one for directions that share azimuths.

mod multi_stage;
mod plain;
mod single_stage;
mod table;
mod tile;

pub use multi_stage::MultiStage;
pub use plain::{PlainPlanes, backproject as backproject_plain};
pub use single_stage::SingleStage;

use super::OperatorError;
use crate::algebra::{Backend, Image};
use crate::data::Direction;
use crate::geometry::{Grid, GridError};
use crate::named::named;
use crate::task::Task;

named! {
    "an interpolation";
    /// Interpolation of a projection from its first to its last sample. Outside these it is zero, though it need not have fallen
    /// to zero there (deconvolved spectra have not): all implementations use the same ends.
    ///
    /// A menu shows the variants in this order; the command line and files have their names.
    #[derive(Default)]
    pub enum Interpolation {
        /// The nearest sample; half-way between two the later one.
        Nearest,
        /// The straight line between two samples.
        #[default]
        Linear,
        /// The natural cubic spline through all samples.
        Cubic,
    }
}

/// Bound of the rounding of a position, in samples. One that is less outside lies on the sample at the end, and one that is less
/// short of half-way lies half-way: where voxels and samples line up, the last digits of a sum decide nothing. For this the fast
/// programs, too, hold positions in double precision or as integers where a jump is near; in between projections are continuous,
/// and single precision suffices.
pub const ROUNDING: f64 = 1e-9;

/// Shift of a position after which rounding down gives the nearest sample.
pub const HALF_WAY: f64 = 0.5 + ROUNDING;

/// Returns true if a position in samples is on a projection whose last sample is number `last`.
#[inline(always)]
fn is_inside(position: f64, last: f64) -> bool {
    position >= -ROUNDING && position <= last + ROUNDING
}

/// Where the samples of a projection lie: sample i at t = (i − centre)·step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneSampling {
    /// Samples of a projection.
    pub num_points: usize,
    /// Distance of samples along t, mm.
    pub step_mm: f64,
    /// Sample at t = 0 (it may lie between two).
    pub centre: f64,
}

/// Filtered and weighted projections that are added to a volume together.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredProjections {
    /// Where the samples lie.
    pub sampling: PlaneSampling,
    /// Interpolation between them.
    pub interpolation: Interpolation,
    /// Unit vector of each projection.
    pub directions: Vec<Direction>,
    /// `[projection][point]`: samples; for cubic interpolation the coefficients of the B-splines at the samples.
    pub values: Vec<f64>,
}

impl FilteredProjections {
    /// Of samples `[projection][point]`; for cubic interpolation they are turned into coefficients.
    ///
    /// # Errors
    /// The number of values is not that of the directions times that of the points.
    pub fn new(
        sampling: PlaneSampling,
        interpolation: Interpolation,
        directions: Vec<Direction>,
        mut samples: Vec<f64>,
    ) -> Result<Self, OperatorError> {
        let expected = directions.len() * sampling.num_points;
        if samples.len() != expected {
            return Err(OperatorError::Length { what: "filtered projections", expected, found: samples.len() });
        }
        if interpolation == Interpolation::Cubic && sampling.num_points > 0 {
            samples.chunks_exact_mut(sampling.num_points).for_each(spline_coefficients);
        }
        Ok(Self { sampling, interpolation, directions, values: samples })
    }

    /// Returns the first of them alone.
    pub fn first(&self) -> Self {
        let directions = self.directions.iter().take(1).copied().collect();
        let values = self.values.iter().take(self.sampling.num_points).copied().collect();
        Self { directions, values, ..*self }
    }

    /// Returns the number of projections.
    pub fn len(&self) -> usize {
        self.directions.len()
    }

    /// Returns true without projections.
    pub fn is_empty(&self) -> bool {
        self.directions.is_empty()
    }

    /// Returns the projections with their directions.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Direction, &[f64])> {
        self.directions.iter().zip(self.values.chunks_exact(self.sampling.num_points.max(1)))
    }

    /// Returns the values in single precision.
    pub fn values_f32(&self) -> Vec<f32> {
        self.values.iter().map(|&value| value as f32).collect()
    }
}

/// Samples → coefficients c of the natural cubic spline Σ c_i β³(t − i): (c_{i−1} + 4c_i + c_{i+1})/6 = sample i, no
/// curvature at the ends (so that the outermost coefficients are the samples). Thomas' elimination, in place.
fn spline_coefficients(row: &mut [f64]) {
    let last = row.len().saturating_sub(1);
    if last < 2 {
        return;
    }
    let mut upper = vec![0.0; row.len()];
    for i in 1..last {
        let pivot = 4.0 - upper[i - 1];
        upper[i] = 1.0 / pivot;
        row[i] = (6.0 * row[i] - row[i - 1]) / pivot;
    }
    for i in (1..last).rev() {
        row[i] -= upper[i] * row[i + 1];
    }
}

/// Refuses an image of another number of values than the grid has voxels.
fn check_image(grid: &Grid, image: &[f32]) -> Result<(), OperatorError> {
    let (expected, found) = (grid.num_voxels(), image.len());
    if found == expected { Ok(()) } else { Err(OperatorError::Length { what: "the image", expected, found }) }
}

/// Backprojector of filtered projections into images of one grid, `[z, y, x]`, on a back end. Host and device implement it.
pub trait PlaneBackprojector<B: Backend>: Send {
    /// Returns the grid of the image.
    fn grid(&self) -> &Grid;

    /// image += Σ_i q_i(x·n_i).
    ///
    /// # Errors
    /// Stopped through `task` (the image may then hold a part), device failure, wrong length.
    fn add(
        &mut self,
        backend: &mut B,
        projections: &FilteredProjections,
        image: &mut B::Array<Image>,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// Returns the bytes of one call without its arguments, for blocks of `num_projections`.
    fn scratch_bytes(&self, num_projections: usize, sampling: &PlaneSampling) -> u64;

    /// Returns the method in words, for people: `single-stage`, `multi-stage`, ….
    fn name(&self) -> &'static str;
}

/// Returns the grid of an EPRI image: the voxel floor(n/2) is centred on 0 along each axis.
///
/// # Errors
/// As [`Grid::new`].
pub fn grid_about_zero(size: [usize; 3], voxel_mm: [f64; 3]) -> Result<Grid, GridError> {
    Grid::new(size, voxel_mm, std::array::from_fn(|a| -((size[a] / 2) as f64) * voxel_mm[a]))
}
