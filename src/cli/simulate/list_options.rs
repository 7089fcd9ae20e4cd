//! Options of `tomoscope simulate` for list-mode data.

use clap::Args;

use crate::cli::shared::options::number;

/// Options of list-mode data.
#[derive(Args, Clone, Debug)]
pub struct ListArguments {
    /// Write list-mode events ({write lists}).
    ///
    /// The background consists of randoms: delayed coincidences in PETSIRD, a randoms rate per event in CASToR.
    #[arg(long, conflicts_with = "epri", help_heading = "List-mode data")]
    pub list_mode: bool,

    /// Duration of the scan, s. Default: 60.
    #[arg(long, value_name = "SECONDS", requires = "list_mode", value_parser = positive, help_heading = "List-mode data")]
    pub duration_secs: Option<f64>,

    /// Simulate time of flight with this resolution (FWHM), ps.
    ///
    /// A sinogram gets time-of-flight bins of 0.9 of it, as many as cover the field of view.
    #[arg(long, value_name = "FWHM", conflicts_with = "epri", value_parser = positive, help_heading = "List-mode data")]
    pub tof_ps: Option<f64>,
}

pub fn positive(text: &str) -> Result<f64, String> {
    number(text, |v| (1e-3..=4e6).contains(v), "expected a number from 0.001 to 4e6")
}
