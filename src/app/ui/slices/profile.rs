//! Line profile of the displayed image.

use std::sync::Arc;
use std::time::Duration;

use crate::data::{ValueScale, Volume};
use crate::geometry::{Grid, Point};
use crate::measure::{self, NoPeakWidth, PeakWidth, ProfileInterpolation, ProfilePoint};
use crate::session::{PeakLine, RunId};
use crate::ui::slices::view::{ProfileLine, ViewState};
use crate::ui::widgets::background_value::BackgroundValue;

/// Largest number of points of a profile.
const MAX_POINTS: usize = 2000;

/// Values along a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// (mm, value in the displayed unit); mm is the coordinate for a line along an axis, else the distance from the line's start.
    pub points: Vec<[f64; 2]>,
    /// Points of the true image, if known.
    pub truth: Vec<[f64; 2]>,
    /// Width of each isolated peak, the highest first.
    pub widths: Vec<Result<PeakWidth, NoPeakWidth>>,
    /// Value of the horizontal axis at the line's start.
    pub start_mm: f64,
    /// Position of the crosshair, for a line along an axis.
    pub crosshair_mm: Option<f64>,
}

/// Returns the end points of the profile, and the value of the horizontal axis at its start.
fn ends(view: &ViewState, grid: &Grid) -> (Point, Point, f64) {
    match view.profile {
        ProfileLine::Axis(axis) => {
            let (mut from, mut to) = (view.crosshair_mm, view.crosshair_mm);
            let [low, high] = grid.extent_mm(axis);
            from[axis] = low + 0.5 * grid.voxel_mm[axis];
            to[axis] = high - 0.5 * grid.voxel_mm[axis];
            (from, to, from[axis])
        }
        ProfileLine::Between(from, to) => (from, to, 0.0),
    }
}

/// Returns the line of the profile through images of this grid, for its widths over the iterations.
pub fn peak_line(view: &ViewState, grid: &Grid) -> PeakLine {
    let (from, to, _) = ends(view, grid);
    PeakLine { ends_mm: [from, to], width_mm: view.profile_width_mm }
}

pub struct ProfileInput<'a> {
    /// Line and width.
    pub view: &'a ViewState,
    /// Run of the image, and a number that grows with each change of the displayed image.
    pub image: (RunId, u64),
    pub volume: &'a Arc<Volume>,
    pub truth: Option<&'a Arc<Volume>>,
    /// Displayed unit.
    pub scale: ValueScale,
}

/// Values on which a profile depends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ProfileKey {
    image: (RunId, u64),
    line: ProfileLine,
    crosshair_mm: Point,
    width_mm: f64,
    scale: ValueScale,
}

/// Profile of an image, computed in the background after a change of its input.
#[derive(Default)]
pub struct ProfileCache {
    profile: BackgroundValue<ProfileKey, Profile>,
}

impl ProfileCache {
    /// Updates the profile; without an input there is none. Waits for it no longer than `patience`, and calls `wake` when a later
    /// one is ready.
    pub fn update(&mut self, input: Option<ProfileInput>, patience: Duration, wake: impl FnOnce() + Send + 'static) {
        let Some(ProfileInput { view, image, volume, truth, scale }) = input else {
            *self = Self::default();
            return;
        };
        let (line, crosshair_mm, width_mm) = (view.profile, view.crosshair_mm, view.profile_width_mm);
        let key = ProfileKey { image, line, crosshair_mm, width_mm, scale };
        let (view, volume, truth) = (view.clone(), Arc::clone(volume), truth.cloned());
        let profile = move || Profile::of(&view, &volume, truth.as_deref(), scale);
        self.profile.update("profile", key, patience, wake, profile);
    }

    /// Returns the profile, if there is an image.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.newest().map(|(_, profile)| profile)
    }
}

impl Profile {
    /// Returns the index of the peak at this distance from the line's start: the nearest one within its width.
    pub fn peak_at(&self, distance_mm: f64) -> Option<usize> {
        let known = self.widths.iter().enumerate().filter_map(|(index, width)| Some((index, width.as_ref().ok()?)));
        let away = |width: &PeakWidth| (width.centre_mm - distance_mm).abs();
        let near = known.filter(|(_, width)| away(width) <= width.fwhm_mm);
        near.min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b))).map(|(index, _)| index)
    }

    /// Returns the profile of an image, and of the true image along the same line, in the displayed unit.
    pub fn of(view: &ViewState, volume: &Volume, truth: Option<&Volume>, scale: ValueScale) -> Self {
        let (from, to, start_mm) = ends(view, &volume.grid);
        let length = (0..3).map(|a| (to[a] - from[a]).powi(2)).sum::<f64>().sqrt();
        let finest = volume.grid.voxel_mm.into_iter().fold(f64::INFINITY, f64::min);
        let num_points = ((2.0 * length / finest).ceil() as usize + 1).clamp(2, MAX_POINTS);
        let width_mm = view.profile_width_mm;
        let of = |volume: &Volume| measure::band_profile(volume, [from, to], width_mm, num_points, ProfileInterpolation::Linear);
        let shifted = |points: &[ProfilePoint]| points.iter().map(|p| [start_mm + p.distance_mm, scale.value(p.value)]).collect();
        let truth = truth.map(|truth| shifted(&of(truth))).unwrap_or_default();
        let crosshair_mm = match view.profile {
            ProfileLine::Axis(axis) => Some(view.crosshair_mm[axis]),
            ProfileLine::Between(..) => None,
        };
        let widths = measure::widths_along(volume, [from, to], width_mm);
        Profile { points: shifted(&of(volume)), truth, widths, start_mm, crosshair_mm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Unit;

    const SCALE: ValueScale = ValueScale { unit: Unit::CountsPerMm, factor: 1.0 };

    #[test]
    fn a_peak_is_chosen_by_its_place() {
        let peak = |centre_mm, fwhm_mm| Ok(PeakWidth { fwhm_mm, sd_mm: 0.1, centre_mm, height: 1.0, fwtm_mm: None });
        let widths = vec![peak(30.0, 6.0), Err(NoPeakWidth::NoPeak), peak(20.0, 8.0)];
        let profile = Profile { points: Vec::new(), truth: Vec::new(), widths, start_mm: 0.0, crosshair_mm: None };
        assert_eq!([29.0, 24.0, 25.5, 13.0, 5.0].map(|mm| profile.peak_at(mm)), [Some(0), Some(2), Some(0), Some(2), None]);
    }

    #[test]
    fn the_width_of_a_blob_is_the_same_along_every_line_through_it() {
        // A blob with a standard deviation of 6 mm at (4, −2, 3) mm, on voxels of different sides.
        let grid = Grid::centred([48, 40, 32], [2.0, 2.5, 3.0]).unwrap();
        let mut volume = Volume::filled(grid.clone(), 0.0);
        let centre_mm = grid.mm_from_voxel(grid.voxel_from_mm([4.0, -2.0, 3.0]).map(f64::round));
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            let place = grid.mm_from_voxel([x as f64, y as f64, z as f64]);
            let square: f64 = (0..3).map(|a| (place[a] - centre_mm[a]).powi(2)).sum();
            *value = (1.0 + 9.0 * (-square / 72.0).exp()) as f32;
        }
        let view = ViewState { crosshair_mm: centre_mm, ..ViewState::default() };
        let oblique = ProfileLine::Between(centre_mm.map(|c| c - 24.0), centre_mm.map(|c| c + 24.0));
        for (line, tolerance_mm) in (0..3).map(|a| (ProfileLine::Axis(a), 1e-3)).chain([(oblique, 0.1)]) {
            let width = Profile::of(&ViewState { profile: line, ..view.clone() }, &volume, None, SCALE).widths[0].unwrap();
            let expected_mm = 6.0 * 2.0 * (2.0 * 2f64.ln()).sqrt();
            assert!((width.fwhm_mm - expected_mm).abs() < tolerance_mm, "{line:?}: {width:?} is not {expected_mm}");
        }
        // Over a band of 6 mm it is lower and as wide.
        let mut cache = ProfileCache::default();
        let shared = Arc::new(volume.clone());
        let wide = ViewState { profile_width_mm: 6.0, ..view.clone() };
        let mut top = |view: &ViewState, image| {
            let input = ProfileInput { view, image, volume: &shared, truth: None, scale: SCALE };
            cache.update(Some(input), Duration::from_secs(60), || {});
            cache.profile().unwrap().points.iter().map(|point| point[1]).fold(0.0, f64::max)
        };
        let line = top(&view, (1, 1));
        let band = top(&wide, (1, 1));
        // Of exp(−t²/72) over ±3 mm, both ways, (1 − 9/72/3)² or so; linear interpolation lowers it a little.
        assert!((line - 10.0).abs() < 1e-6 && (1.0 + 9.0 * 0.92 - band).abs() < 0.2, "{line} {band}");
        let width = Profile::of(&wide, &volume, None, SCALE).widths[0].unwrap();
        assert!((width.fwhm_mm - 6.0 * 2.0 * (2.0 * 2f64.ln()).sqrt()).abs() < 0.05, "{width:?}");
        // A calibration makes it higher, and not wider.
        let calibrated = ValueScale::calibrated(50.0);
        let [plain, scaled] = [SCALE, calibrated].map(|scale| Profile::of(&view, &volume, None, scale));
        assert!(plain.points.iter().zip(&scaled.points).all(|(a, b)| (50.0 * a[1] - b[1]).abs() < 1e-9));
        assert_eq!(plain.widths[0].unwrap().fwhm_mm, scaled.widths[0].unwrap().fwhm_mm);
        // A line of no length, and one outside.
        for line in [ProfileLine::Between(centre_mm, centre_mm), ProfileLine::Between([900.0; 3], [950.0; 3])] {
            let profile = Profile::of(&ViewState { profile: line, ..view.clone() }, &volume, None, SCALE);
            assert!(matches!(profile.widths[..], [Err(NoPeakWidth::TooShort { .. })]), "{:?}", profile.widths);
        }
    }
}
