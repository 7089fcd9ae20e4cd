//! Options of `tomoscope linewidth`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::options::{TalkOptions, number};
use crate::cli::shared::paths::file_of;
use crate::data::{Origin, OxygenCalibration};
use crate::io::before_ending;
use crate::io::formats::Content;
use crate::measure::spectrum::{Line, MASK_FRACTION};
use crate::plan::{DataRecord, LinewidthRecord};

/// Options of `tomoscope linewidth`.
#[derive(Args, Clone, Debug)]
pub struct LinewidthOptions {
    /// Spectra of `reconstruct --spectral-samples` (OUT_spectra.nii.gz).
    pub input: PathBuf,

    /// Shape of the lines: lorentzian or voigt.
    #[arg(long, value_name = "SHAPE", default_value = "lorentzian", value_parser = line)]
    pub line: Line,

    /// Limit of the mask, as a fraction of the largest peak-to-peak amplitude.
    #[arg(long, value_name = "FRACTION", default_value_t = MASK_FRACTION, value_parser = fraction)]
    pub mask_fraction: f64,

    /// Also map the oxygen pressure, by a calibration of R2: eprit-llw or a file (.toml).
    ///
    /// R2 is that of the half width at half maximum.
    #[arg(long, value_name = "NAME|FILE")]
    pub calibration: Option<String>,

    /// Also measure regions of interest (.toml, .json): mean, median and standard deviation of their lines.
    #[arg(long, value_name = "FILE")]
    pub rois: Option<PathBuf>,

    /// Table of all fitted voxels and of the regions to write, one row per value.
    #[arg(long, value_name = "OUT")]
    pub csv: Option<PathBuf>,

    /// Maps to write (.nii, .nii.gz, .npy, .hv): OUT_amplitude, OUT_linewidth, OUT_linewidth_sd, OUT_position, OUT_gaussian, OUT_pO2.
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Image))]
    pub output: PathBuf,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub talk: TalkOptions,
}

fn line(text: &str) -> Result<Line, String> {
    text.parse().map_err(|_| format!("'{text}' is not a line; use lorentzian or voigt"))
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, |part| (0.0..1.0).contains(part), "expected a fraction from 0 to below 1")
}

impl LinewidthOptions {
    /// Returns the names of the maps, in the order of their files.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names = vec!["amplitude", "linewidth", "linewidth_sd", "position"];
        names.extend((self.line == Line::Voigt).then_some("gaussian"));
        names.extend(self.calibration.is_some().then_some("pO2"));
        names
    }

    /// Returns the files of the maps.
    pub fn outputs(&self) -> Vec<PathBuf> {
        self.names().into_iter().map(|name| before_ending(&self.output, &format!("_{name}"))).collect()
    }

    pub fn data(&self) -> DataRecord {
        let title = self.output.file_stem().unwrap_or_default().to_string_lossy();
        DataRecord::new(&title, &Origin::default())
    }

    pub fn record(&self, calibration: Option<&OxygenCalibration>) -> LinewidthRecord {
        LinewidthRecord {
            image: self.input.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            line: self.line,
            mask_fraction: self.mask_fraction,
            calibration: calibration.cloned(),
        }
    }
}
