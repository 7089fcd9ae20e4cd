//! Numbers from images: statistics of regions, noise, contrast recovery, profiles and widths; and randoms from delayed
//! coincidences.
//!
//! Pure functions. Every ratio is a fraction (1 = 100 %). Undefined results (an empty region, a background of zero) are `None`,
//! never NaN. The standard deviation within one image is the noise of that image, not of the experiment.

mod concentration;
mod connected;
mod contrast;
mod convergence;
mod deviation;
mod difference;
mod double_integral;
mod full_width;
mod isocontour;
pub mod lesions;
pub mod nema;
pub mod nema_nu4;
mod outcomes;
pub mod oximetry;
mod peak_width;
mod peaks;
mod petric;
mod profile;
mod randoms;
mod roi_stats;
pub mod spectrum;

pub use concentration::{Content, KnownSample, SPINS_PER_NMOL};
pub use contrast::{background_variability, cold_recovery, contrast_to_noise, hot_recovery};
pub use convergence::Convergence;
pub use deviation::{DeviationImage, deviation, deviations_of_means, uncertainty_of_deviation};
pub use difference::{correlation, largest_difference, relative_difference};
pub use double_integral::DoubleIntegral;
pub use full_width::full_width_at_half_maximum;
pub use isocontour::{NoIsocontour, isocontour};
pub use outcomes::{FitCounts, NoFit, Outcome, cause as cause_of_no_fit};
pub use peak_width::{NoPeakWidth, PeakWidth, peak_width};
pub use peaks::{peak_widths, widths_along};
pub use petric::{HELD_UPDATES, MAX_MEAN_ERROR, MAX_RMSE, PetricMasks, PetricMeasures, first_held};
pub use profile::{ProfileInterpolation, ProfilePoint, band_profile, profile};
pub use randoms::{Fans, PairPartners, Partners, SimilarPlaces, smoothed_singles};
pub use roi_stats::{MapStats, RoiStats, average_noise_to_signal, median, noise_to_signal, pooled, pooled_noise_to_signal};

/// Returns the value, if it is a finite number.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
