//! Phantoms for EPRI: bodies with a density, and pulse sweeps of them.
//!
//! A projection along n is p(t) = Σ density · (integral of the body over the plane n·x = t), in mm², so that a filtered
//! backprojection gives the density back. Bodies add up; none lies inside another. A sweep of a slice measures the section
//! z = 0: p(t) = Σ density · (length of the line n·x = t inside it), in mm.

mod body;
mod catalogue;
mod draft;
mod oxygen;
mod simulate;
mod spectral;
mod tumour;

pub use body::{Body, Section};
pub use catalogue::{by_name, catalogue, find};
pub use oxygen::{DELAYS_US, OXYGEN_TORR, OxygenOptions, OxygenScan, noise_gain, simulate_oxygen};
pub use simulate::{SweepError, SweepOptions, simulate};
pub use spectral::{SpectralOptions, simulate_spectral};

use rayon::prelude::*;

use crate::data::{Notice, Roi, RoiPlane, RoiShape, SweepSpace, Unit, Volume};
use crate::geometry::{Grid, Point, dot};
use crate::task::{Stopped, Task};

/// A body and what fills it.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Where it is.
    pub body: Body,
    /// Spins per volume, relative.
    pub density: f64,
}

/// A phantom.
#[derive(Clone, Debug, PartialEq)]
pub struct Phantom {
    /// Name on the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Its parts, which add up.
    pub parts: Vec<Part>,
    /// Oxygen pressure of each part, torr.
    pub oxygen_torr: Vec<f64>,
    /// Regions in which it is measured.
    pub rois: Vec<Roi>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
    /// Its size relative to the usual one: below 1 where it was made smaller to fit.
    pub size: f64,
}

/// Points per voxel side that a voxel of the true image is the mean over.
const POINTS_PER_VOXEL_SIDE: usize = 4;

impl Phantom {
    /// Returns the integral over the plane n·x = t, mm²; n is a unit vector.
    pub fn plane_integral(&self, n: Point, t_mm: f64) -> f64 {
        self.parts.iter().map(|part| part.density * part.body.plane_integral(n, t_mm)).sum()
    }

    /// Returns the integral over the line n·x = t in the plane z = 0, mm; n is a unit vector in that plane.
    pub fn line_integral(&self, [x, y, _]: Point, t_mm: f64) -> f64 {
        let (from, along) = ([t_mm * x, t_mm * y, 0.0], [-y, x, 0.0]);
        self.parts.iter().map(|part| part.density * part.body.chord_length(from, along)).sum()
    }

    /// Returns the regions in an image: in a slice their cuts with the plane z = 0, where balls become circles.
    pub fn rois_in(&self, space: SweepSpace) -> Vec<Roi> {
        if !space.is_slice() {
            return self.rois.clone();
        }
        let cut = |roi: &Roi| {
            let [x, y, z] = roi.centre_mm;
            let RoiShape::Sphere { radius_mm } = roi.shape else { return Some(roi.clone()) };
            let radius_mm = (radius_mm * radius_mm - z * z).max(0.0).sqrt();
            let shape = RoiShape::Circle { radius_mm, plane: RoiPlane::Transaxial };
            (radius_mm > 0.0).then(|| Roi { shape, centre_mm: [x, y, 0.0], ..roi.clone() })
        };
        self.rois.iter().filter_map(cut).collect()
    }

    /// Returns the density at a point.
    pub fn density_at(&self, point: Point) -> f64 {
        self.parts.iter().filter(|part| part.body.contains(point)).map(|part| part.density).sum()
    }

    /// Returns the largest distance of anything from the world's origin, mm.
    pub fn reach_mm(&self) -> f64 {
        self.parts.iter().map(|part| part.body.reach_mm()).fold(0.0, f64::max)
    }

    /// Returns the density on a grid: every voxel the mean over 4³ points. On all cores.
    ///
    /// # Errors
    /// Stopped.
    pub fn truth(&self, grid: &Grid, task: &Task) -> Result<Volume, Stopped> {
        let mut truth = Volume::filled(grid.clone(), 0.0);
        let [num_x, num_y, _] = grid.size;
        let reach = self.reach_mm() + grid.voxel_mm.iter().sum::<f64>();
        let offset = |k: usize| (k as f64 + 0.5) / POINTS_PER_VOXEL_SIDE as f64 - 0.5;
        truth.as_mut_slice().par_chunks_mut(num_x).enumerate().try_for_each(|(row, values)| {
            task.check()?;
            let (y, z) = ((row % num_y) as f64, (row / num_y) as f64);
            for (x, value) in values.iter_mut().enumerate() {
                let centre = grid.mm_from_voxel([x as f64, y, z]);
                if dot(centre, centre) > reach * reach {
                    continue;
                }
                let mut sum = 0.0;
                for point in 0..POINTS_PER_VOXEL_SIDE.pow(3) {
                    let [i, j, k] = [1, POINTS_PER_VOXEL_SIDE, POINTS_PER_VOXEL_SIDE.pow(2)]
                        .map(|stride| offset(point / stride % POINTS_PER_VOXEL_SIDE));
                    sum += self.density_at(std::array::from_fn(|a| centre[a] + [i, j, k][a] * grid.voxel_mm[a]));
                }
                *value = (sum / POINTS_PER_VOXEL_SIDE.pow(3) as f64) as f32;
            }
            Ok(())
        })?;
        truth.unit = Unit::Arbitrary;
        Ok(truth)
    }
}
