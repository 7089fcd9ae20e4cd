//! Options of `tomoscope simulate` for EPRI acquisitions.

use clap::Args;

use crate::cli::shared::options::{count, not_negative, positive};
use crate::scanner::epri::{Order, Scheme, Weighting};

/// Options of an EPRI acquisition.
#[derive(Args, Clone, Debug)]
pub struct EpriOptions {
    /// Directions of a pulse EPRI acquisition: a number, POLARxAZIMUTH, or 2d:N.
    ///
    /// A number (208, 828, ...): equal solid angle, at least that number. 16x13: equal linear angle. 2d:60: 60 equal angles,
    /// for an image of the slice z = 0.
    #[arg(long, value_name = "SCHEME", conflicts_with_all = ["counts", "noise", "attenuation", "background"])]
    pub epri: Option<Scheme>,

    /// Number of samples per projection.
    #[arg(long, default_value_t = 128, value_name = "N", conflicts_with = "scanner", value_parser = count::<usize>)]
    pub points: usize,

    /// Length of a projection, mm.
    #[arg(long, default_value_t = 40.0, value_name = "L", conflicts_with = "scanner", value_parser = positive)]
    pub extent_mm: f64,

    /// Standard deviation of Gaussian noise, as a fraction of the largest sample.
    #[arg(long, default_value_t = 0.0, value_name = "FRACTION", conflicts_with = "scanner", value_parser = not_negative)]
    pub noise_fraction: f64,

    /// Order of the projections: as-acquired (band by band) or spaced (spread over the half sphere at any time).
    #[arg(long, default_value = "as-acquired", conflicts_with = "scanner")]
    pub order: Order,

    /// Weights of the directions: solid-angle, or paper (as printed by Qiao et al.).
    #[arg(long, default_value = "solid-angle", conflicts_with = "scanner")]
    pub weights: Weighting,
}
