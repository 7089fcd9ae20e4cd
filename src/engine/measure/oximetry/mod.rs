//! Pulse oximetry: relaxation rates and oxygen pressures voxel by voxel, from images at several delays or echo times.
//!
//! ```text
//! inversion or saturation recovery   S(τ) = A (1 − 2·inv·exp(−R₁ τ))    A, inv, R₁   (saturation: inv = ½)
//! echo decay                         S(τ) = A exp(−R₂ τ)                A, R₂
//! pO₂ = slope · (R − intercept)      σ(pO₂) = slope · σ(R)
//! ```
//!
//! For a given rate both models are linear in the rest ([`RateFitter`]). Their form is that of EPR-IT's fits and of Epel et al., Magn
//! Reson Med 2014 (mrm.24926).

mod chi_square;
mod error;
mod figures;
mod fit;
mod gain;
mod magnitude;
mod maps;
mod misfit;
mod noise;
mod redraw;
mod signals;
mod stats;
mod voxels;

pub use chi_square::ChiSquare;
pub use error::OximetryError;
pub use figures::{OxygenFigures, OxygenHistogram};
pub use fit::{FitLimits, RateFit, RateFitter};
pub use gain::NoiseTrend;
pub use magnitude::{are_magnitudes, sweeps_with_signs, with_signs};
pub use maps::{MASK_FRACTION, NO_RATE, OxygenMaps, oxygen_maps};
pub use misfit::Misfit;
pub use redraw::{DrawnFigures, FigureDeviations, noise_of, redrawn_po2, refitted_po2};
pub use stats::{HYPOXIC_TORR, OxygenStats};
pub use voxels::{FitsOnThreads, VoxelFit, VoxelFits};
