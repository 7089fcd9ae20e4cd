//! Noise and contrast in an image, and the readings that the paper's section 2.5 leaves open: the size of the spheres' regions
//! (80 % of the radius, 80 % of the diameter, or all), the noise of the background regions (pooled or averaged), and their slice.

use serde::Serialize;

use crate::data::{Roi, RoiRole, RoiShape, RoiSums, Volume};
use crate::measure::{average_noise_to_signal, cold_recovery, hot_recovery, noise_to_signal, pooled, pooled_noise_to_signal};
use crate::named::named;
use crate::phantom::{Phantom, eight_background_rois};

named! {
    "a way to take the noise of several regions";
    /// Definition of the noise of several regions.
    pub enum NsrReading {
        /// Standard deviation over mean of all voxels together.
        Pooled,
        /// Mean of the regions' own ratios.
        Averaged,
    }
}

/// Definitions of regions and of noise where the text leaves them open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, clap::Args)]
pub struct Readings {
    /// ROI diameter relative to the sphere diameter: 0.4 ("80 % of the sphere radius"), 0.8 or 1.
    #[arg(long, default_value_t = 0.4, value_name = "F", value_parser = fraction)]
    pub roi_fraction: f64,

    /// Background noise of the eight circles: pooled over all voxels, or averaged.
    #[arg(long, default_value_t = NsrReading::Pooled)]
    pub nsr: NsrReading,

    /// Distance of the background's circles from the slice of the spheres, mm.
    #[arg(long, default_value_t = 0.0, value_name = "Z", allow_negative_numbers = true)]
    pub nsr_slice_mm: f64,
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part: &f64| *part > 0.0 && *part <= 1.0)
        .ok_or_else(|| format!("'{text}' is not a fraction above 0 and up to 1"))
}

fn sums(volume: &Volume, rois: &[Roi]) -> Vec<RoiSums> {
    rois.iter().map(|roi| roi.mask(&volume.grid).sums(volume.as_slice())).collect()
}

fn mean(sums: &RoiSums) -> Option<f64> {
    (sums.weight > 0.0).then(|| sums.sum / sums.weight)
}

/// Returns the sums of the eight circles of the background, `slice_mm` from the slice of the spheres.
fn background(phantom: &Phantom, volume: &Volume, slice_mm: f64) -> Vec<RoiSums> {
    let mut rois = eight_background_rois(phantom.size);
    for roi in &mut rois {
        roi.centre_mm[2] += slice_mm * phantom.size;
    }
    sums(volume, &rois)
}

/// Returns the noise-to-signal ratio of the background of the image-quality phantom.
pub fn iq_nsr(phantom: &Phantom, volume: &Volume, nsr: NsrReading, slice_mm: f64) -> Option<f64> {
    let regions = background(phantom, volume, slice_mm);
    match nsr {
        NsrReading::Pooled => pooled_noise_to_signal(&regions),
        NsrReading::Averaged => average_noise_to_signal(&regions),
    }
}

/// Returns the sums of a phantom's background regions; that of the cylinder is a circle of 25 mm radius in the central slice.
fn own_background(phantom: &Phantom, volume: &Volume) -> RoiSums {
    let rois: Vec<Roi> = phantom.rois.iter().filter(|roi| roi.role == RoiRole::Background).cloned().collect();
    pooled(&sums(volume, &rois))
}

/// Returns the noise-to-signal ratio of the cylinder.
pub fn cylinder_nsr(phantom: &Phantom, volume: &Volume) -> Option<f64> {
    noise_to_signal(&own_background(phantom, volume))
}

/// Returns the mean of the background of the image-quality phantom.
pub fn iq_mean(phantom: &Phantom, volume: &Volume) -> Option<f64> {
    mean(&pooled(&background(phantom, volume, 0.0)))
}

/// Returns the mean of a phantom's background regions; that of the cylinder is its circle.
pub fn background_mean(phantom: &Phantom, volume: &Volume) -> Option<f64> {
    mean(&own_background(phantom, volume))
}

/// Returns the recovery contrast of the six spheres, the smallest first (equations 6 and 7; equation 6 with the ratio of hot to
/// background in its numerator, without which it makes no sense).
pub fn contrast(phantom: &Phantom, volume: &Volume, roi_fraction: f64) -> Vec<Option<f64>> {
    let spheres = phantom.rois.iter().filter(|roi| matches!(roi.role, RoiRole::Hot | RoiRole::Cold));
    let background = iq_mean(phantom, volume);
    let recovery = |roi: &Roi| {
        let mut roi = roi.clone();
        if let RoiShape::Circle { radius_mm, .. } = &mut roi.shape {
            *radius_mm *= roi_fraction;
        }
        let inside = mean(&roi.mask(&volume.grid).sums(volume.as_slice()))?;
        match roi.activity_ratio {
            Some(ratio) => hot_recovery(inside, background?, ratio),
            None => cold_recovery(inside, background?),
        }
    };
    spheres.map(recovery).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The true image has no noise and full contrast, wherever a region lies wholly inside.
    #[test]
    fn the_truth_has_full_contrast() {
        let geometry = &crate::scanner::find("discovery-ste").unwrap().geometry;
        let phantom = crate::phantom::by_name("nema-iq-2001", geometry).unwrap();
        let grid = crate::geometry::Grid::centred([256, 256, 5], [1.5625, 1.5625, 1.0]).unwrap();
        let truth = phantom.truth(&grid, 7.0, &crate::task::Task::new()).unwrap();
        for recovery in contrast(&phantom, &truth, 0.4) {
            assert!((recovery.unwrap() - 1.0).abs() < 1e-4, "{recovery:?}");
        }
        assert!(contrast(&phantom, &truth, 1.2)[0].unwrap() < 0.9);
        for nsr in [NsrReading::Pooled, NsrReading::Averaged] {
            assert!(iq_nsr(&phantom, &truth, nsr, 0.0).unwrap() < 1e-6);
        }
        assert!((iq_mean(&phantom, &truth).unwrap() - 7.0).abs() < 1e-4);
    }
}
