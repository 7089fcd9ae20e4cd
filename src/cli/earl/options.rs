//! Options of `tomoscope earl`: those of `reconstruct` that concern one image, and the search.

use std::path::PathBuf;

use clap::Args;

use super::strengths::Strengths;
use crate::cli::reconstruct::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::option_groups::RECONSTRUCT_ONLY;
use crate::cli::shared::options::{not_negative, number};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::standards::{is_file, standard};
use crate::data::{RecoveryQuantity, RecoveryStandard};
use crate::io::recovery::built_in;
use crate::session::{RecoveryQuery, RoiSet};

/// Options of `tomoscope earl`.
#[derive(Args, Clone, Debug)]
pub struct EarlOptions {
    /// Scan of the phantom with six hot spheres: projection data ({read projections}) or list-mode data ({read lists}).
    pub input: PathBuf,

    /// True activity ratio of the hot spheres to the background.
    #[arg(long, value_parser = hot_ratio)]
    pub ratio: f64,

    /// FWHM of each Gaussian post-filter to measure, mm; 0 = none.
    #[arg(long, value_name = "FWHM,FWHM", value_delimiter = ',', default_value = "0,2,3,4,5,6,7,8", value_parser = not_negative)]
    pub filters_mm: Vec<f64>,

    /// Standard: earl-18f-1, or a file with the bands (.toml); repeatable.
    ///
    /// Default: the built-in standards.
    #[arg(long = "standard", value_name = "NAME|FILE")]
    pub standards: Vec<String>,

    /// Write all settings with their recovery coefficients (.csv, .json); repeatable.
    #[arg(short, long, value_name = "OUT", value_parser = table_file)]
    pub output: Vec<PathBuf>,

    #[command(flatten)]
    pub each: ReconstructOptions,

    // (Last: changes an option of the reconstruction.)
    #[command(flatten)]
    pub strengths: Strengths,
}

fn hot_ratio(text: &str) -> Result<f64, String> {
    number(text, |ratio: &f64| ratio.is_finite() && *ratio > 1.0, "expected a number above 1; the standards need hot spheres")
}

/// Returns true for a name with the ending .json.
pub fn is_json(path: &std::path::Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn table_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_csv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if is_csv || is_json(&path) { Ok(path) } else { Err("the name must end in .csv or .json".into()) }
}

impl EarlOptions {
    /// Returns the options of the reconstruction.
    ///
    /// # Errors
    /// Options that only `reconstruct` has.
    pub fn reconstruction(&self) -> CliResult<ReconstructOptions> {
        if let Some(option) = self.each.given.first_in(RECONSTRUCT_ONLY.iter().copied()) {
            return Err(CliError::arguments(format!(
                "{option} has no effect on earl, which writes no image; use it with tomoscope reconstruct"
            )));
        }
        Ok(ReconstructOptions { input: self.input.clone(), ..self.each.clone() })
    }

    /// Checks the files to read and to write.
    ///
    /// # Errors
    /// An output that is not writable, or would replace an input.
    pub fn check_files(&self, each: &ReconstructOptions) -> CliResult {
        let standards: Vec<PathBuf> = self.standards.iter().filter(|word| is_file(word)).map(PathBuf::from).collect();
        let files = Files::new().read(&each.files_to_read().collect::<Vec<_>>()).read(&standards);
        files.write("-o", &self.output).write_lines("--trace", &each.trace).check()
    }

    /// Returns the requested standards.
    ///
    /// # Errors
    /// An unknown name, or an invalid file.
    pub fn requested(&self) -> CliResult<Vec<RecoveryStandard>> {
        match &self.standards[..] {
            [] => Ok(built_in().to_vec()),
            words => words.iter().map(|word| standard(word)).collect(),
        }
    }

    /// Returns the search for these standards.
    pub fn query(&self, standards: &[RecoveryStandard]) -> RecoveryQuery {
        let mut filters_mm = self.filters_mm.clone();
        filters_mm.sort_by(f64::total_cmp);
        filters_mm.dedup();
        RecoveryQuery {
            filters_mm,
            activity_ratio: Some(self.ratio),
            rois: RoiSet::default(),
            with_peak: standards.iter().any(|standard| standard.has(RecoveryQuantity::Peak)),
        }
    }
}
