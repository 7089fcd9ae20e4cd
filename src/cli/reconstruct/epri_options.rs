//! Options of `tomoscope reconstruct` for EPRI acquisitions.

use std::path::PathBuf;

use clap::Args;

use crate::plan::PlaneKernel;

/// Options of EPRI acquisitions.
#[derive(Args, Clone, Debug)]
pub struct EpriOptions {
    /// Reference spectrum of continuous-wave data.
    ///
    /// Default: NAME-h in the folder of NAME-proj.
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,

    /// Phase correction of complex projections in degrees, or auto.
    ///
    /// auto: the phase with the minimum imaginary part and a positive absorption (default). A complex reference spectrum has
    /// its own phase.
    #[arg(long, value_name = "DEG", value_parser = phase)]
    pub phase: Option<PhaseChoice>,

    /// Total variation: image file whose positive voxels are reconstructed; the others stay 0.
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,

    /// Implementation of single-stage backprojection: fast, or paper (double precision, in the order of Qiao et al. 2015).
    ///
    /// Default: fast.
    #[arg(long)]
    pub kernel: Option<PlaneKernel>,
}

/// A requested phase, degrees; `None` = that of the data.
#[derive(Clone, Copy, Debug)]
pub struct PhaseChoice(pub Option<f64>);

pub fn phase(text: &str) -> Result<PhaseChoice, String> {
    if text == "auto" {
        return Ok(PhaseChoice(None));
    }
    let degrees = text.parse().ok().filter(|degrees: &f64| degrees.is_finite());
    degrees.map(|degrees| PhaseChoice(Some(degrees))).ok_or_else(|| format!("'{text}' is not a phase; use auto or degrees"))
}
