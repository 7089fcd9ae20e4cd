//! The plan: the paper's objects (section 3), or for a quick look its smallest and a smaller one.
//!
//! Directions in N bands are π/N apart, 10 degrees for 208 of them. At the distance R from the centre they resolve frequencies up
//! to N/R; finer ones give only streaks. The paper does not describe its filter. Here the filter ends at N/R, with the reach R of
//! the bottle. (No time depends on it.)

use std::f64::consts::PI;

use crate::operator::{FilteredProjections, grid_about_zero};
use crate::phantom::epri::{self, Phantom, SweepError, SweepOptions};
use crate::recon::{FilterSettings, ProjectionFilter, equal_angles_for};
use crate::reproduce::prelude::*;
use crate::scanner::epri::Scheme;

/// Phantom that the projections are of.
const PHANTOM: &str = "bottle";

/// All that the measurements of a folder have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub version: u32,
    pub quick: bool,
    /// Voxels along each axis of the objects, ascending.
    pub sizes: Vec<usize>,
    /// The object whose images are compared.
    pub image_size: usize,
    /// Bands of equal solid angle.
    num_bands: usize,
    /// Samples of a projection, over the side of the object.
    num_points: usize,
    /// Side of the object, mm.
    side_mm: f64,
    /// Runs of a program are timed for about this long, seconds.
    pub timed_secs: f64,
    /// The plain program is timed on a part of the projections where all would take longer than this, seconds.
    #[serde(rename = "most_plain_secs")]
    pub max_plain_secs: f64,
}

impl Plan {
    pub fn new(quick: bool) -> Self {
        Self {
            version: 1,
            quick,
            sizes: if quick { vec![32, 64] } else { vec![64, 100, 128, 150, 200] },
            image_size: if quick { 32 } else { 128 },
            num_bands: 18,
            num_points: 128,
            side_mm: 40.0,
            timed_secs: if quick { 0.1 } else { 4.0 },
            max_plain_secs: 60.0,
        }
    }

    pub fn grid(&self, size: usize) -> Result<Grid, ReproduceError> {
        Ok(grid_about_zero([size; 3], [self.side_mm / size as f64; 3])?)
    }

    fn scheme(&self) -> Scheme {
        Scheme::EqualSolidAngle { num_bands: self.num_bands }
    }

    pub fn num_projections(&self) -> usize {
        self.scheme().num_directions()
    }

    /// Returns the numbers of polar angles and azimuths of the resampled projections of the multi-stage program.
    pub fn equal_angles(&self) -> [usize; 2] {
        equal_angles_for(self.num_projections())
    }

    fn sweep_options(&self) -> SweepOptions {
        let step_mm = self.side_mm / self.num_points as f64;
        SweepOptions { scheme: self.scheme(), num_points: self.num_points, step_mm, ..SweepOptions::default() }
    }

    fn phantom(&self) -> Result<Phantom, ReproduceError> {
        Ok(epri::by_name(PHANTOM, self.sweep_options().half_extent_mm())?)
    }

    /// Returns the filter of the projections.
    pub fn filter(&self) -> Result<FilterSettings, ReproduceError> {
        let nyquist = PI / self.sweep_options().step_mm;
        let resolved = self.num_bands as f64 / self.phantom()?.reach_mm();
        Ok(FilterSettings { cutoff: Some((resolved / nyquist).min(1.0)), ..FilterSettings::default() })
    }

    /// Returns the density of the phantom.
    pub fn truth(&self, size: usize) -> Result<Volume, ReproduceError> {
        Ok(self.phantom()?.truth(&self.grid(size)?, &Task::new()).map_err(SweepError::from)?)
    }
}

/// The filtered and weighted projections.
pub struct Data {
    /// As simulated, of equal solid angle.
    pub solid: FilteredProjections,
    /// Resampled to equal linear angles.
    pub linear: FilteredProjections,
}

impl Data {
    /// Simulates, resamples and filters.
    pub fn new(plan: &Plan) -> Result<Self, ReproduceError> {
        let sweep = epri::simulate(&plan.phantom()?, &plan.sweep_options(), &Task::new())?.measured;
        let filter = ProjectionFilter::new(&sweep, &plan.filter()?)?;
        let linear = filter.apply_at_equal_angles(&sweep.projections, plan.equal_angles(), &Task::new())?;
        Ok(Self { solid: filter.apply(&sweep.projections)?, linear })
    }
}
