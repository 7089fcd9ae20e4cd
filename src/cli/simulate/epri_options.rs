//! Options of `tomoscope simulate` for EPRI acquisitions.

use clap::Args;

use crate::cli::shared::options::{count, not_negative, number, positive};
use crate::phantom::epri::SpectralOptions;
use crate::scanner::epri::{Order, Scheme, Weighting};

/// Options of an EPRI acquisition.
#[derive(Args, Clone, Debug)]
pub struct EpriOptions {
    /// Directions of a pulse EPRI acquisition: a number, POLARxAZIMUTH, or 2d:N.
    ///
    /// A number (208, 828, ...): equal solid angle, at least that number. 16x13: equal linear angle. 2d:60: 60 equal angles,
    /// for an image of the slice z = 0.
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["counts", "noise", "attenuation", "background"], help_heading = "EPRI acquisitions")]
    pub epri: Option<Scheme>,

    /// Number of samples per projection.
    #[arg(long, default_value_t = 128, value_name = "N", conflicts_with = "scanner", value_parser = count::<usize>, help_heading = "EPRI acquisitions")]
    pub points: usize,

    /// Length of a projection, mm.
    #[arg(long, default_value_t = 40.0, value_name = "L", conflicts_with = "scanner", value_parser = positive, help_heading = "EPRI acquisitions")]
    pub extent_mm: f64,

    /// Standard deviation of Gaussian noise, as a fraction of the largest sample.
    #[arg(long, default_value_t = 0.0, value_name = "FRACTION", conflicts_with = "scanner", value_parser = not_negative, help_heading = "EPRI acquisitions")]
    pub noise_fraction: f64,

    /// Order of the projections: as-acquired (band by band) or spaced (spread over the half sphere at any time).
    #[arg(long, default_value = "as-acquired", conflicts_with = "scanner", help_heading = "EPRI acquisitions")]
    pub order: Order,

    /// Weights of the directions: solid-angle, or paper (as printed by Qiao et al.).
    #[arg(long, default_value = "solid-angle", conflicts_with = "scanner", help_heading = "EPRI acquisitions")]
    pub weights: Weighting,

    /// Simulate continuous-wave projections under gradients of several sizes: width of the line of each part in turn, mT.
    ///
    /// Full width at half maximum of the Lorentzian absorption line.
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', value_parser = positive, requires = "epri", conflicts_with = "oxygen", help_heading = "Spectra")]
    linewidths_mt: Vec<f64>,

    /// Position of the line of each part in turn, mT from the middle of the field sweep.
    ///
    /// Default: 0.
    #[arg(long, value_name = "B,B,...", value_delimiter = ',', value_parser = position, requires = "linewidths_mt")]
    #[arg(allow_hyphen_values = true, help_heading = "Spectra")]
    positions_mt: Vec<f64>,

    /// Range of the field sweep, mT, which the largest gradient spreads over the length of a projection.
    ///
    /// Default: 20 times the largest line width.
    #[arg(long, value_name = "B", value_parser = positive, requires = "linewidths_mt", help_heading = "Spectra")]
    sweep_mt: Option<f64>,

    /// Number of sizes of the gradient, evenly spaced up to the largest, besides 0.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count::<usize>, requires = "linewidths_mt", help_heading = "Spectra")]
    gradients: usize,
}

fn position(text: &str) -> Result<f64, String> {
    number(text, |position: &f64| position.is_finite(), "expected a number")
}

impl EpriOptions {
    /// Returns the lines and gradients of a continuous-wave acquisition, if one is requested.
    pub fn spectral(&self) -> Option<SpectralOptions> {
        let largest = self.linewidths_mt.iter().copied().reduce(f64::max)?;
        Some(SpectralOptions {
            linewidths_mt: self.linewidths_mt.clone(),
            positions_mt: self.positions_mt.clone(),
            sweep_mt: self.sweep_mt.unwrap_or(20.0 * largest),
            num_gradients: self.gradients,
        })
    }
}
