//! Detector heads: flat boxes of crystals that turn about the axis together.
//!
//! With the gantry at angle 0 a head is at an angle θ: its front face is the plane (cos θ, sin θ) · (x, y) = distance, and its
//! crystals are counted along (−sin θ, cos θ), then along z. A turn of the gantry by γ increases all angles by γ. It turns evenly
//! through full circles, so that only differences of angles matter.

use crate::coded::coded;
use serde::Deserialize;

/// Heads of a scanner.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heads {
    /// Pose of each at gantry angle 0.
    pub poses: Vec<HeadPose>,
    /// Heads that are in coincidence, as numbers among the poses.
    pub coincidences: Vec<[usize; 2]>,
    /// The crystals of each head.
    pub crystals: Crystals,
}

/// Pose of a head.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadPose {
    /// Direction from the axis to the head, degrees.
    pub angle_deg: f64,
    /// From the axis to the plane of the front face, mm.
    pub distance_mm: f64,
}

/// A box of crystals and how it measures energy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crystals {
    /// Number across (transaxially) and along the axis.
    pub num: [usize; 2],
    /// Distance between the middles of neighbours, mm.
    pub pitch_mm: f64,
    /// Size of one across, along the axis and in depth, mm.
    pub size_mm: [f64; 3],
    /// Their material, by its name in the tables.
    pub material: String,
    /// Energy resolution at 511 keV, FWHM, %.
    pub energy_resolution_percent: f64,
    /// Smallest and largest energy that counts, keV.
    pub energy_window_kev: [f64; 2],
}

/// Reason for which heads are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid heads of scanner {scanner}: {problem}")]
pub struct HeadsError {
    /// The scanner's name.
    pub scanner: String,
    /// The problem.
    pub problem: &'static str,
}

coded!(HeadsError = "scanner");

impl HeadPose {
    /// Returns directions of a head, in the plane: from the axis to it, and across it.
    pub fn axes(&self) -> [[f64; 2]; 2] {
        let (sin, cos) = self.angle_deg.to_radians().sin_cos();
        [[cos, sin], [-sin, cos]]
    }

    /// Returns the point of the head `across` its middle and `depth` behind its front face, mm.
    pub fn point(&self, across_mm: f64, depth_mm: f64) -> [f64; 2] {
        let [towards, across] = self.axes();
        let distance = self.distance_mm + depth_mm;
        [0, 1].map(|a| distance * towards[a] + across_mm * across[a])
    }
}

impl Crystals {
    /// Returns the middle of crystal number `index` of `axis` (0 across, 1 along the scanner's axis), from the middle of the
    /// head, mm.
    pub fn position_mm(&self, axis: usize, index: usize) -> f64 {
        (index as f64 - 0.5 * (self.num[axis] as f64 - 1.0)) * self.pitch_mm
    }

    /// Returns the width of the head across and along the axis, mm.
    pub fn width_mm(&self) -> [f64; 2] {
        self.num.map(|num| num as f64 * self.pitch_mm)
    }
}

impl Heads {
    /// Checks every value.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn validate(self, scanner: &str) -> Result<Self, HeadsError> {
        let crystals = &self.crystals;
        let is_length = |mm: f64| crate::geometry::LENGTHS_MM.contains(&mm);
        let [low, high] = crystals.energy_window_kev;
        let problems = [
            (crystals.num.contains(&0), "a head has no crystals"),
            (!is_length(crystals.pitch_mm), "the distance between crystals is no length"),
            (!crystals.size_mm.iter().all(|mm| is_length(*mm)), "the size of a crystal is no length"),
            (crystals.size_mm[..2].iter().any(|mm| *mm > crystals.pitch_mm), "crystals are wider than the distance between them"),
            (!(0.0..100.0).contains(&crystals.energy_resolution_percent), "the energy resolution is not between 0 and 100 %"),
            (!(low >= 0.0 && low < high), "the energy window is empty"),
            (self.poses.iter().any(|pose| !is_length(pose.distance_mm) || !pose.angle_deg.is_finite()), "a head has no position"),
            (self.coincidences.is_empty(), "no heads are in coincidence"),
            (
                self.coincidences.iter().any(|&[a, b]| a == b || a.max(b) >= self.poses.len()),
                "a coincidence is not one of two heads",
            ),
        ];
        match problems.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, problem)) => Err(HeadsError { scanner: scanner.to_owned(), problem }),
            None => Ok(self),
        }
    }
}
