//! The line profile of the image on the screen.

use super::view::{ProfileLine, ViewState};
use crate::data::Volume;
use crate::geometry::Point;
use crate::measure::{self, ProfileBackground, ProfilePoint};

/// Most points of a profile.
const MAX_POINTS: usize = 2000;

/// Values along a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// (mm, value); mm is the coordinate for a line along an axis, else the distance from the line's start.
    pub points: Vec<[f64; 2]>,
    /// The same of the true image, where it is known.
    pub truth: Vec<[f64; 2]>,
    /// Full width at half maximum of the largest peak, mm.
    pub fwhm_mm: Option<f64>,
    /// Where the crosshair is, for a line along an axis.
    pub crosshair_mm: Option<f64>,
}

/// End points of the profile, and the value of the horizontal axis at its start.
fn ends(view: &ViewState, volume: &Volume) -> (Point, Point, f64) {
    match view.profile {
        ProfileLine::Axis(axis) => {
            let (mut from, mut to) = (view.crosshair_mm, view.crosshair_mm);
            let [low, high] = volume.grid.extent_mm(axis);
            from[axis] = low + 0.5 * volume.grid.voxel_mm[axis];
            to[axis] = high - 0.5 * volume.grid.voxel_mm[axis];
            (from, to, from[axis])
        }
        ProfileLine::Between(from, to) => (from, to, 0.0),
    }
}

impl Profile {
    /// The profile of an image, and of the truth along the same line.
    pub fn of(view: &ViewState, volume: &Volume, truth: Option<&Volume>) -> Self {
        let (from, to, start_mm) = ends(view, volume);
        let length = (0..3).map(|a| (to[a] - from[a]).powi(2)).sum::<f64>().sqrt();
        let finest = volume.grid.voxel_mm.into_iter().fold(f64::INFINITY, f64::min);
        let num_points = ((2.0 * length / finest).ceil() as usize + 1).clamp(2, MAX_POINTS);
        let sampled = measure::profile(volume, from, to, num_points);
        let shifted = |points: &[ProfilePoint]| points.iter().map(|p| [start_mm + p.distance_mm, p.value]).collect();
        let truth = truth.map(|truth| shifted(&measure::profile(truth, from, to, num_points))).unwrap_or_default();
        let crosshair_mm = match view.profile {
            ProfileLine::Axis(axis) => Some(view.crosshair_mm[axis]),
            ProfileLine::Between(..) => None,
        };
        let fwhm_mm = measure::fwhm(&sampled, ProfileBackground::Zero).map(|fwhm| fwhm.width_mm);
        Profile { points: shifted(&sampled), truth, fwhm_mm, crosshair_mm }
    }
}
