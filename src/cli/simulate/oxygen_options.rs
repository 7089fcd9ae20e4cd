//! Options of `tomoscope simulate` for pulse oximetry.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::options::{not_negative, number, positive};
use crate::cli::shared::oxygen::{calibration, file_of_calibration};
use crate::cli::shared::paths::of_frame;
use crate::data::RelaxationRate;
use crate::io::{FileKind, oximetry};
use crate::measure::oximetry::RateFitter;
use crate::phantom::epri::{DELAYS_US, OxygenOptions};

/// Echo times, µs, for the R₂ of the same pressures.
const ECHO_TIMES_US: [f64; 8] = [0.5, 0.8, 1.2, 1.8, 2.6, 3.8, 5.5, 8.0];

/// Options of pulse oximetry.
#[derive(Args, Clone, Debug)]
pub struct OxygenArguments {
    /// Simulate pulse oximetry: an acquisition for each delay, OUT_f001.sweep, OUT_f002.sweep, ...
    ///
    /// The parts of the phantom have 0, 5, 10, 20, 40 and 60 torr in turn (vials: one each), those of tumour their own. --truth writes the oxygen pressure.
    #[arg(long, requires = "epri", conflicts_with = "noise_fraction", help_heading = "Oximetry")]
    pub oxygen: bool,

    /// Relaxation rates of the oxygen pressures: ox071-pbs, ox071-dmem, ox071-vitrogel, eprit-llw or a file (.toml).
    #[arg(long, value_name = "NAME|FILE", default_value = "ox071-pbs", requires = "oxygen", help_heading = "Oximetry")]
    pub calibration: String,

    /// Delays after the inversion, µs.
    ///
    /// Default: 0.4,0.8,1.5,2.6,4.5,8,14,30.
    #[arg(long, value_name = "T,T,...", value_delimiter = ',', value_parser = not_negative, requires = "oxygen", help_heading = "Oximetry")]
    delays_us: Vec<f64>,

    /// Echo times, µs, for a calibration of R2.
    ///
    /// Default: 0.5,0.8,1.2,1.8,2.6,3.8,5.5,8.
    #[arg(long, value_name = "T,T,...", value_delimiter = ',', value_parser = not_negative)]
    #[arg(requires = "oxygen", conflicts_with_all = ["delays_us", "inversion"], help_heading = "Oximetry")]
    echo_times_us: Vec<f64>,

    /// Efficiency of the inversion, 0.5 (saturation) to 1.
    #[arg(long, value_name = "PART", default_value_t = 0.9, value_parser = inversion, requires = "oxygen", help_heading = "Oximetry")]
    inversion: f64,

    /// Signal-to-noise ratio of a voxel of density 1 in the fully recovered image of fbp, default settings.
    ///
    /// Default: no noise.
    #[arg(long, value_name = "RATIO", value_parser = positive, requires = "oxygen", help_heading = "Oximetry")]
    snr: Option<f64>,
}

fn inversion(text: &str) -> Result<f64, String> {
    number(text, |part| (0.5..=1.0).contains(part), "expected a number from 0.5 to 1")
}

impl OxygenArguments {
    /// Returns the file of the study, in the folder of the acquisitions: `scan.oximetry.toml` for `scan.sweep`.
    pub fn study_file(&self, output: &Path) -> PathBuf {
        output.with_file_name(format!("{}{}", FileKind::stem(output), oximetry::ENDING))
    }

    /// Returns the calibration for a file in a folder: its name, or the path of its file.
    pub fn calibration_beside(&self, file: &Path) -> String {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let Some(calibration) = file_of_calibration(&self.calibration).map(|path| absolute(&path)) else {
            return self.calibration.clone();
        };
        let folder = absolute(file).parent().map(Path::to_owned).unwrap_or_default();
        calibration.strip_prefix(folder).unwrap_or(&calibration).to_string_lossy().into_owned()
    }

    /// Returns the acquisitions to write.
    pub fn outputs(&self, output: &Path) -> Vec<PathBuf> {
        let given = self.delays_us.len() + self.echo_times_us.len();
        let num_times = if given > 0 { given } else { DELAYS_US.len() };
        (1..=num_times).map(|number| of_frame(output, number, num_times)).collect()
    }

    /// Returns the file of the calibration, if it is one.
    pub fn file(&self) -> Option<PathBuf> {
        file_of_calibration(&self.calibration)
    }

    /// Returns the settings.
    ///
    /// # Errors
    /// An unknown calibration, times of the other rate, times that give no fit.
    pub fn options(&self) -> CliResult<OxygenOptions> {
        let calibration = calibration(&self.calibration)?;
        let (given, default, other) = match calibration.rate {
            RelaxationRate::R1 => (&self.delays_us, DELAYS_US, (&self.echo_times_us, "--echo-times-us", "--delays-us")),
            RelaxationRate::R2 => (&self.echo_times_us, ECHO_TIMES_US, (&self.delays_us, "--delays-us", "--echo-times-us")),
        };
        let (others, option, right) = other;
        if !others.is_empty() {
            let (name, rate) = (&calibration.name, calibration.rate.label());
            return Err(CliError::arguments(format!("{option}: the calibration {name} is of {rate}; use {right}")));
        }
        let times_us = if given.is_empty() { default.to_vec() } else { given.clone() };
        RateFitter::new(calibration.rate, &times_us)?;
        Ok(OxygenOptions { calibration, times_us, inversion: self.inversion, snr: self.snr })
    }
}
