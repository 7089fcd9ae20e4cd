//! The figures of the standard, from an image and the phantom's place in it.

use super::NemaError;
use super::compliance::Verdict;
use super::placement::{BACKGROUND_SLICES_MM, NemaPlacement};
use super::recovery::{Recovery, RecoveryPoint, RecoveryRegions};
use crate::data::{RecoveryQuantity, RecoveryStandard, Roi, RoiSums, Volume};
use crate::measure::{
    RoiStats, background_variability, cold_recovery, contrast_to_noise, hot_recovery, pooled, pooled_noise_to_signal,
};

/// Image quality of an image of the body phantom.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct NemaAnalysis {
    /// Where the phantom lies.
    pub placement: NemaPlacement,
    /// Number of the slice nearest to the spheres' plane, counted from 1.
    pub slice: usize,
    /// Activity of the hot spheres over that of the background, as given; `None`: hot spheres have no contrast recovery.
    pub activity_ratio: Option<f64>,
    /// Figures of each sphere, the smallest first.
    pub spheres: Vec<SphereFigures>,
    /// The lung insert in each slice that is all phantom, by rising z; empty where there is no insert.
    pub lung: Vec<LungSlice>,
    /// Mean of the slices' residuals.
    pub mean_lung_residual: Option<f64>,
    /// Recovery coefficients against the requested standards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<JudgedRecovery>,
}

/// Recovery coefficients against a standard.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct JudgedRecovery {
    /// Standard.
    pub standard: RecoveryStandard,
    /// Coefficients.
    pub recovery: Recovery,
    /// True if the image complies.
    pub complies: bool,
    /// Settings of its reconstruction that were measured; empty for a single image.
    #[serde(skip)]
    pub settings: Vec<RecoveryPoint>,
}

/// Largest contrast recovery of a hot sphere: resolution recovery overshoots by up to a fifth, noise by three of its deviations.
const MAX_CONTRAST: f64 = 1.2;

/// Smallest contrast recovery of a hot sphere of this diameter or a larger one: usual images have 0.6 to 1.
const MIN_CONTRAST: f64 = 0.4;
const LARGE_MM: f64 = 20.0;

impl NemaAnalysis {
    /// Returns a warning about a hot sphere with more contrast than its activity gives, or a large one with much less.
    pub fn doubtful_ratio(&self) -> Option<String> {
        if let (Some(ratio), Some(_)) =
            (self.activity_ratio.filter(|ratio| *ratio < 1.0), self.spheres.iter().find(|sphere| sphere.is_hot))
        {
            return Some(format!(
                "hot spheres have more activity than the background, and the ratio is {ratio} : 1: is it its inverse?"
            ));
        }
        // Contrast and some of its standard deviations.
        let contrast = |sphere: &&SphereFigures, deviations: f64| {
            sphere.contrast.unwrap_or(0.0) + deviations * sphere.variability.unwrap_or(0.0)
        };
        let hot = || self.spheres.iter().filter(|sphere| sphere.is_hot && sphere.contrast.is_some());
        let [highest, most] = [-3.0, 3.0].map(|deviations| {
            let is_large = move |sphere: &&SphereFigures| deviations < 0.0 || sphere.diameter_mm >= LARGE_MM;
            hot().filter(is_large).max_by(|a, b| contrast(a, deviations).total_cmp(&contrast(b, deviations)))
        });
        let high = highest.filter(|sphere| contrast(sphere, -3.0) > MAX_CONTRAST);
        let sphere = high.or(most.filter(|sphere| contrast(sphere, 3.0) < MIN_CONTRAST))?;
        let (ratio, found) = (self.activity_ratio?, sphere.mean / sphere.background_mean);
        let [percent, diameter_mm] = [100.0 * sphere.contrast?, sphere.diameter_mm];
        Some(format!(
            "the sphere of {diameter_mm} mm has {percent:.0} % of the contrast of a ratio of {ratio} : 1, and {found:.1} : 1 in the image: \
             is that the ratio of this scan?"
        ))
    }

    /// Adds the recovery coefficients of the image against these standards.
    ///
    /// # Errors
    /// No ratio, cold spheres, or a background that is not positive.
    pub fn judged(mut self, volume: &Volume, standards: &[RecoveryStandard]) -> Result<Self, NemaError> {
        let regions = RecoveryRegions::new(&self.placement, &volume.grid, self.activity_ratio)?;
        let has_peak = standards.iter().any(|standard| standard.has(RecoveryQuantity::Peak));
        let recovery = regions.measure(volume, has_peak)?;
        let judged = |standard: &RecoveryStandard| JudgedRecovery {
            complies: Verdict::of(&recovery, standard).complies(),
            standard: standard.clone(),
            recovery: recovery.clone(),
            settings: Vec::new(),
        };
        self.recovery = standards.iter().map(judged).collect();
        Ok(self)
    }
}

/// Figures of one sphere. Fractions: 1 = 100 %.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SphereFigures {
    /// Inner diameter, mm.
    pub diameter_mm: f64,
    /// True if it is hotter than the background.
    pub is_hot: bool,
    /// Mean in its circle, in the image's unit.
    pub mean: f64,
    /// Mean of the means of the 60 circles of its size in the background.
    pub background_mean: f64,
    /// Contrast recovery Q; `None` where it is not defined.
    pub contrast: Option<f64>,
    /// Background variability N: standard deviation of the 60 means over their mean.
    pub variability: Option<f64>,
    /// Standard deviation of all voxels in the 60 circles over their mean: another number than N, which grows with the noise of
    /// a voxel and not of a circle.
    pub voxel_noise: Option<f64>,
    /// Contrast-to-noise ratio of the voxels in its circle and those of the 60.
    pub contrast_to_noise: Option<f64>,
}

/// Residual activity in the lung insert in a slice.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LungSlice {
    /// z of the slice, mm.
    pub z_mm: f64,
    /// Mean in the insert over that of the slice's twelve circles of 37 mm in the background.
    pub residual: f64,
}

/// Returns the standard's figures of an image in which the phantom lies so.
///
/// # Errors
/// The background's slices, or circles of the background, do not lie in the image.
pub fn analyse(volume: &Volume, placement: &NemaPlacement, activity_ratio: Option<f64>) -> Result<NemaAnalysis, NemaError> {
    let grid = &volume.grid;
    let (z_mm, [from_mm, to_mm]) = (placement.centre_mm[2], grid.extent_mm(2));
    let far = BACKGROUND_SLICES_MM.into_iter().fold(0.0, f64::max);
    if !(z_mm - far >= from_mm && z_mm + far <= to_mm) {
        return Err(NemaError::CutOff { z_mm, from_mm, to_mm });
    }
    let spheres = placement.by_diameter().into_iter().map(|place| sphere(volume, placement, place, activity_ratio));
    let spheres = spheres.collect::<Result<Vec<SphereFigures>, NemaError>>()?;
    let lung = lung(volume, placement)?;
    let mean = lung.iter().map(|slice| slice.residual).sum::<f64>() / lung.len() as f64;
    Ok(NemaAnalysis {
        placement: placement.clone(),
        slice: grid.voxel_from_mm(placement.centre_mm)[2].round() as usize + 1,
        activity_ratio,
        spheres,
        mean_lung_residual: mean.is_finite().then_some(mean),
        lung,
        recovery: Vec::new(),
    })
}

fn sums(volume: &Volume, rois: &[Roi], what: &'static str) -> Result<Vec<RoiSums>, NemaError> {
    let sums: Vec<RoiSums> = rois.iter().map(|roi| roi.mask(&volume.grid).sums(volume.as_slice())).collect();
    if sums.is_empty() || sums.iter().any(|sums| sums.weight <= 0.0) {
        return Err(NemaError::Outside { what });
    }
    Ok(sums)
}

fn mean(sums: &RoiSums) -> f64 {
    sums.sum / sums.weight
}

fn mean_of(means: &[f64]) -> f64 {
    means.iter().sum::<f64>() / means.len() as f64
}

fn sphere(volume: &Volume, placement: &NemaPlacement, place: usize, ratio: Option<f64>) -> Result<SphereFigures, NemaError> {
    let super::NemaSphere { diameter_mm, is_hot, .. } = placement.spheres[place];
    let region = sums(volume, &[placement.sphere_roi(place)], "a sphere")?[0];
    let background = sums(volume, &placement.background_rois(diameter_mm), "a circle of the background")?;
    let means: Vec<f64> = background.iter().map(mean).collect();
    let background_mean = mean_of(&means);
    let stats = |sums: &RoiSums| RoiStats::of(sums, volume.grid.voxel_ml());
    Ok(SphereFigures {
        diameter_mm,
        is_hot,
        mean: mean(&region),
        background_mean,
        contrast: match is_hot {
            true => ratio.and_then(|ratio| hot_recovery(mean(&region), background_mean, ratio)),
            false => cold_recovery(mean(&region), background_mean),
        },
        variability: background_variability(&means),
        voxel_noise: pooled_noise_to_signal(&background),
        contrast_to_noise: stats(&region)
            .zip(stats(&pooled(&background)))
            .and_then(|(region, all)| contrast_to_noise(&region, &all)),
    })
}

/// Returns the lung insert, slice by slice.
fn lung(volume: &Volume, placement: &NemaPlacement) -> Result<Vec<LungSlice>, NemaError> {
    let [from_mm, to_mm] = placement.body_z_mm;
    let slices = (0..volume.grid.size[2]).map(|slice| volume.grid.mm_from_voxel([0.0, 0.0, slice as f64])[2]);
    let mut found = Vec::new();
    for z_mm in slices.filter(|z| (from_mm..=to_mm).contains(z)) {
        let Some(roi) = placement.lung_roi(z_mm) else { break };
        let region = sums(volume, &[roi], "the lung insert")?[0];
        let background = placement.background_rois_at(z_mm);
        let means: Vec<f64> = sums(volume, &background, "a circle of the background")?.iter().map(mean).collect();
        found.push(LungSlice { z_mm, residual: mean(&region) / mean_of(&means) });
    }
    Ok(found)
}
