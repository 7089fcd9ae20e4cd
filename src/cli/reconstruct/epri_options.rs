//! Options of `tomoscope reconstruct` for EPRI acquisitions.

use std::path::PathBuf;

use clap::Args;

use crate::operator::Interpolation;
use crate::plan::PlaneKernel;
use crate::recon::{Baseline, Filter};
use crate::scanner::epri::Order;

/// Options that only EPRI sweeps have.
#[derive(Args, Clone, Debug)]
pub struct EpriOptions {
    /// Filter: second-difference, three-point, five-point, rectangular, sinc, hamming or two-ramp.
    ///
    /// Default: three-point; continuous-wave data: rectangular.
    #[arg(long)]
    pub filter: Option<Filter>,

    /// Cut-off as a fraction of the Nyquist frequency, 0 to 1.
    ///
    /// sinc and hamming end at the cut-off; the others are truncated. Default: 1; continuous-wave data: 0.1.
    #[arg(long, value_name = "F", value_parser = cutoff)]
    pub cutoff: Option<f64>,

    /// Order of the polynomial baseline of continuous-wave projections: 0, 1, 2, 3 or none.
    ///
    /// It is fitted to the outer 5 % at each end and subtracted before the deconvolution. Default: 1; pulse data: none.
    #[arg(long, value_name = "ORDER")]
    pub baseline: Option<Baseline>,

    /// Interpolation between the samples of a filtered projection: nearest, linear or cubic.
    ///
    /// Default: linear.
    #[arg(long)]
    pub interpolation: Option<Interpolation>,

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

    /// Implementation of single-stage backprojection: fast, or paper (double precision, in the order of Qiao et al. 2015).
    ///
    /// Default: fast.
    #[arg(long)]
    pub kernel: Option<PlaneKernel>,

    /// Order of the projections: as-acquired, or spaced (maximum angle to the previous ones).
    ///
    /// Default: as-acquired.
    #[arg(long)]
    pub order: Option<Order>,
}

/// A phase that was asked for, degrees; `None` = the data's own.
#[derive(Clone, Copy, Debug)]
pub struct PhaseChoice(pub Option<f64>);

pub fn phase(text: &str) -> Result<PhaseChoice, String> {
    if text == "auto" {
        return Ok(PhaseChoice(None));
    }
    let degrees = text.parse().ok().filter(|degrees: &f64| degrees.is_finite());
    degrees.map(|degrees| PhaseChoice(Some(degrees))).ok_or_else(|| format!("'{text}' is not a phase; use auto or degrees"))
}

pub fn cutoff(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part: &f64| *part > 0.0 && *part <= 1.0);
    part.ok_or_else(|| "expected a fraction above 0 and at most 1".to_owned())
}

impl EpriOptions {
    /// The file of the reference spectrum, where it is named.
    pub fn reference(&self) -> Option<&PathBuf> {
        self.reference.as_ref()
    }

    /// The name of the first of them that is given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--filter", self.filter.is_some()),
            ("--cutoff", self.cutoff.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--interpolation", self.interpolation.is_some()),
            ("--reference", self.reference.is_some()),
            ("--phase", self.phase.is_some()),
            ("--kernel", self.kernel.is_some()),
            ("--order", self.order.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }
}
