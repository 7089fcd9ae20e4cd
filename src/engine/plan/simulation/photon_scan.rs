//! A scan of a phantom whose photons are followed into the crystals of rotating heads or of a ring, decay by decay.

use std::sync::Arc;

use rand_philox::Philox;

use super::matrix::{default_basis, display_grid};
use crate::coded::coded;
use crate::data::{BasisKind, Counts, CountsError, Michelogram, MichelogramError, PairCounts, PairCountsError, Study, Volume};
use crate::geometry::GridError;
use crate::montecarlo::{Coincidences, DetectorError, RingDetector, TubeRecipe, measure, measure_pairs};
use crate::phantom::{Decays, Phantom};
use crate::plan::iteration_scheme::IterationScheme;
use crate::scanner::{CrystalRing, Scanner};
use crate::task::{Stopped, Task};

/// Reason why a scan could not be simulated.
#[derive(Debug, thiserror::Error)]
pub enum PhotonScanError {
    /// The scanner has no heads.
    #[error("{0} has no rotating heads; photons are followed into those (vrpet, vrpet-2010)")]
    NoHeads(String),
    /// The simulation does not support the heads or the ring.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// The parts do not fit together.
    #[error(transparent)]
    Pairs(#[from] PairCountsError),
    /// Nothing was seen.
    #[error("{phantom} has no activity in the field of view of {scanner}")]
    NothingInView {
        /// The phantom.
        phantom: String,
        /// The scanner.
        scanner: String,
    },
    /// The parts do not fit together.
    #[error(transparent)]
    Data(#[from] MichelogramError),
    /// The parts do not fit together.
    #[error(transparent)]
    Corrections(#[from] CountsError),
    /// Invalid grid of the true image.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Stopped by the user.
    #[error("the simulation was {0}")]
    Stopped(#[from] Stopped),
}

coded!(PhotonScanError = "photon-scan"; Detector, Pairs, Data, Corrections, Grid, Stopped);

/// Simulates `num_counts` counts of fluorine-18. The factors of the study are the numbers of crystal pairs of the bins (their
/// mean is 1). It has no true image: the counts have no absolute scale.
///
/// # Errors
/// A scanner without heads, or with heads that the simulation does not support; a phantom outside the field of view; stopped.
pub fn scan_photons(
    phantom: &Phantom,
    scanner: &Scanner,
    num_counts: u64,
    seed: u64,
    task: &Task,
) -> Result<Study<Counts>, PhotonScanError> {
    let heads = scanner.heads.clone().ok_or_else(|| PhotonScanError::NoHeads(scanner.title.clone()))?;
    let coincidences = Coincidences::new(scanner.geometry.clone(), heads, TubeRecipe::default().physics())?;
    // Farther along the axis nothing is seen.
    let half_mm = 0.5 * coincidences.face_mm()[1];
    let decays = Decays::new(phantom, [-half_mm, half_mm]);
    let Some(counts) = measure(&coincidences, &|random| decays.draw(random), num_counts, seed, task)? else {
        return Err(PhotonScanError::NothingInView { phantom: phantom.title.clone(), scanner: scanner.title.clone() });
    };
    let geometry = Arc::new(scanner.geometry.clone());
    let factors = Michelogram::new(Arc::clone(&geometry), dwell_factors(&coincidences))?;
    let counts = Counts::new(Michelogram::new(geometry, counts)?).with_corrections(Some(factors), None)?;
    Ok(Study { rois: phantom.rois.clone(), notices: phantom.notices.clone(), ..Study::new(phantom.title.clone(), counts) })
}

/// Simulates `num_counts` counts of a crystal ring: back-to-back photons of the phantom's decays. The true image is in decays per
/// mm³, on the grid on which the ring's images are shown.
///
/// # Errors
/// A ring that the simulation does not support; a phantom outside its bore; stopped.
pub fn scan_pairs(
    phantom: &Phantom,
    ring: &CrystalRing,
    num_counts: u64,
    seed: u64,
    task: &Task,
) -> Result<Study<PairCounts>, PhotonScanError> {
    let detector = RingDetector::new(ring.clone())?;
    // A decay beyond the crystals' ends is not seen.
    let half_mm = ring.half_length_mm();
    let decays = Decays::new(phantom, [-half_mm, half_mm]);
    let inside = |random: &mut Philox| decays.draw(random).filter(|[x, y, _]| x.hypot(*y) < ring.radius_mm);
    let Some((counts, num_drawn)) = measure_pairs(&detector, &inside, num_counts, seed, task)? else {
        return Err(PhotonScanError::NothingInView { phantom: phantom.title.clone(), scanner: ring.title.clone() });
    };
    let pairs = PairCounts::new(Arc::new(ring.clone()), counts)?;
    let grid = display_grid(ring, &default_basis(ring, BasisKind::Blobs))?;
    let truth = phantom.truth(&grid, num_drawn * decays.density_per_mm3(), task)?;
    let truth = Some(Arc::new(Volume { unit: IterationScheme::DENSITIES.unit, ..truth }));
    let (rois, notices) = (phantom.rois.clone(), phantom.notices.clone());
    Ok(Study { truth, rois, notices, ..Study::new(phantom.title.clone(), pairs) })
}

/// Returns the dwell of each bin over its mean.
fn dwell_factors(coincidences: &Coincidences) -> Vec<f32> {
    let (geometry, dwell) = (&coincidences.geometry, coincidences.dwell());
    let mean = dwell.iter().sum::<f64>() / dwell.len() as f64;
    let of_view = || dwell.iter().flat_map(|dwell| std::iter::repeat_n((dwell / mean) as f32, geometry.num_planes()));
    (0..geometry.num_views).flat_map(|_| of_view()).collect()
}
