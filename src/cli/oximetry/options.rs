//! Options of `tomoscope oximetry`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::given::Given;
use crate::cli::shared::notices;
use crate::cli::shared::options::{TalkOptions, count, device, not_negative, number, seed};
use crate::cli::shared::outputs::check_same_grid;
use crate::cli::shared::oxygen::calibration;
use crate::cli::shared::paths::file_of;
use crate::cli::shared::setting_options::{SettingOptions, SweepSettings, algorithm_for, check_settings};
use crate::data::{Origin, OxygenCalibration, RelaxationRate, Volume};
use crate::io::formats::{Content, FileKind};
use crate::io::oximetry::{self, OximetryStudy};
use crate::io::{before_ending, read_epri_volume};
use crate::measure::oximetry::{MASK_FRACTION, RateFitter, with_signs};
use crate::plan::{AlgorithmChoice, DataKind, DataRecord, DeviceChoice, OximetryRecord, POSITIVITY, YES, data_kind_of};

/// Fewest delays that show the signs of magnitudes, beyond the three unknowns.
const MIN_MAGNITUDES: usize = 4;

/// Options of `tomoscope oximetry`.
#[derive(Args, Clone, Debug)]
pub struct OximetryOptions {
    /// Images on one grid, one for each delay or echo time, in their order ({read images}); EPRI acquisitions ({read acquisitions}); or a
    /// study (.oximetry.toml).
    ///
    /// Acquisitions are reconstructed on the grid of the first. A study names its acquisitions, their times and the calibration.
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,

    /// Options that were set.
    #[command(flatten)]
    pub given: Given,

    /// Delays after the inversion or saturation, µs: at least 3, for R1.
    #[arg(long, value_name = "T,T,...", value_delimiter = ',', value_parser = not_negative)]
    #[arg(conflicts_with = "echo_times_us")]
    pub delays_us: Vec<f64>,

    /// Echo times, µs: at least 2, for R2.
    #[arg(long, value_name = "T,T,...", value_delimiter = ',', value_parser = not_negative)]
    pub echo_times_us: Vec<f64>,

    /// Calibration of the oxygen pressure: ox071-pbs, ox071-dmem, ox071-vitrogel (R1), eprit-llw (R2) or a file (.toml).
    ///
    /// Necessary, but for a study.
    #[arg(long, value_name = "NAME|FILE")]
    pub calibration: Option<String>,

    /// Magnitudes after an inversion, which lack their sign: images, or samples of acquisitions.
    ///
    /// In each voxel (sample), the first delays whose negative values fit best become negative.
    #[arg(long, conflicts_with = "echo_times_us")]
    pub magnitude: bool,

    /// Limit of the mask, as a fraction of the largest value of the image at the longest delay or the shortest echo time.
    #[arg(long, value_name = "FRACTION", default_value_t = MASK_FRACTION, value_parser = fraction)]
    pub mask_fraction: f64,

    /// Also measure regions of interest (.toml, .json).
    #[arg(long, value_name = "FILE")]
    pub rois: Option<PathBuf>,

    /// Uncertainty of the figures: draw the noise of the acquisitions again N times.
    ///
    /// For acquisitions only. Prints the standard deviations of median, mean and HF10. Of total variation, OUT_pO2_sd is from the draws, too.
    #[arg(long, value_name = "N", value_parser = repeats)]
    pub repeats: Option<usize>,

    /// Seed of the draws.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = seed, requires = "repeats")]
    pub seed: u64,

    /// Algorithm of the acquisitions: fbp, fbp-multistage or tv.
    ///
    /// Default: fbp.
    #[arg(long)]
    pub algorithm: Option<AlgorithmChoice>,

    #[command(flatten)]
    pub parameters: SettingOptions<SweepSettings>,

    /// Most iterations of total variation.
    ///
    /// Default: 1000.
    #[arg(long, value_name = "N", value_parser = count::<u32>)]
    pub iterations: Option<u32>,

    /// Device of reconstruction and fit: cpu, auto, cuda, cuda:N, gpu or gpu:N.
    #[arg(long, default_value = "cpu", value_parser = device)]
    pub device: DeviceChoice,

    /// Maps to write (.nii, .nii.gz, .npy, .hv): OUT_r1 or OUT_r2, OUT_pO2 and OUT_pO2_sd.
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Image))]
    pub output: PathBuf,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub talk: TalkOptions,
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, |part| (0.0..1.0).contains(part), "expected a fraction from 0 to below 1")
}

fn repeats(text: &str) -> Result<usize, String> {
    number(text, |num| (2..=10_000).contains(num), "expected a whole number from 2 to 10000")
}

impl OximetryOptions {
    /// Returns the options with the acquisitions and times of a study, if the input is one, and the calibration.
    ///
    /// # Errors
    /// A study that does not read, times or a calibration in addition; neither times nor a study; an unknown calibration.
    pub fn resolved(&self) -> CliResult<(Self, OxygenCalibration)> {
        let study = match self.inputs.as_slice() {
            [file] if FileKind::of(file) == Some(FileKind::Oximetry) => file,
            _ => {
                let needs =
                    |option: &str| CliError::arguments(format!("{option} is missing; set it, or name a study (.oximetry.toml)"));
                if self.delays_us.is_empty() && self.echo_times_us.is_empty() {
                    return Err(needs("--delays-us or --echo-times-us"));
                }
                let word = self.calibration.as_ref().ok_or_else(|| needs("--calibration"))?;
                return Ok((self.clone(), calibration(word)?));
            }
        };
        if let Some(option) = self.given.first_of(["delays_us", "echo_times_us", "calibration"]) {
            return Err(CliError::arguments(format!(
                "{option}: the study {} has times and calibration; omit it",
                study.display()
            )));
        }
        let OximetryStudy { calibration, acquisitions, .. } = oximetry::read_file(study)?;
        let (times, inputs): (Vec<f64>, Vec<PathBuf>) = acquisitions.into_iter().unzip();
        let (delays_us, echo_times_us) = match calibration.rate {
            RelaxationRate::R1 => (times, Vec::new()),
            RelaxationRate::R2 => (Vec::new(), times),
        };
        Ok((Self { inputs, delays_us, echo_times_us, ..self.clone() }, calibration))
    }

    /// Returns the files of rate, pressure and standard deviation.
    pub fn outputs(&self, rate: RelaxationRate) -> Vec<PathBuf> {
        ["_".to_owned() + rate.name(), "_pO2".into(), "_pO2_sd".into()]
            .iter()
            .map(|what| before_ending(&self.output, what))
            .collect()
    }

    /// Returns the times of the calibration's rate.
    ///
    /// # Errors
    /// Times of the other rate.
    pub fn times_us(&self, calibration: &OxygenCalibration) -> CliResult<&[f64]> {
        let (times, option, other) = match calibration.rate {
            RelaxationRate::R1 => (&self.delays_us, "--delays-us", "--echo-times-us"),
            RelaxationRate::R2 => (&self.echo_times_us, "--echo-times-us", "--delays-us"),
        };
        if self.magnitude && calibration.rate == RelaxationRate::R2 {
            return Err(CliError::arguments("--magnitude: an echo decay has no sign; leave it out"));
        }
        if self.magnitude && (1..MIN_MAGNITUDES).contains(&times.len()) {
            let text = format!("--magnitude: {} delays fit any signs; at least {MIN_MAGNITUDES} are needed", times.len());
            return Err(CliError::arguments(text));
        }
        if times.is_empty() {
            let (name, rate) = (&calibration.name, calibration.rate.label());
            return Err(CliError::arguments(format!("{other}: the calibration {name} is of {rate}; use {option}")));
        }
        Ok(times)
    }

    /// Returns true for acquisitions, false for images.
    ///
    /// # Errors
    /// Both, or options of the reconstruction for images.
    pub fn are_sweeps(&self) -> CliResult<bool> {
        let is_sweep = |path: &&PathBuf| data_kind_of(path) == Some(DataKind::Sweep);
        let num = self.inputs.iter().filter(is_sweep).count();
        if num != 0 && num != self.inputs.len() {
            return Err(CliError::arguments("images and acquisitions together; name inputs of one kind"));
        }
        let parameters = SettingOptions::<SweepSettings>::settings().map(|parameter| parameter.key);
        let of_acquisitions = parameters.chain(["repeats", "algorithm", "iterations"]);
        if let Some(option) = self.given.first_of(of_acquisitions).filter(|_| num == 0) {
            return Err(CliError::arguments(format!("{option} is for EPRI acquisitions; name them in place of their images")));
        }
        Ok(num > 0)
    }

    /// Returns the algorithm of acquisitions.
    ///
    /// # Errors
    /// An algorithm for other data, options of another algorithm, positive values of signed images.
    pub fn algorithm(&self) -> CliResult<AlgorithmChoice> {
        let algorithm = algorithm_for(DataKind::Sweep, self.algorithm)?;
        check_settings(&self.given, algorithm)?;
        if self.iterations.is_some() && !algorithm.is_least_squares() {
            return Err(CliError::arguments("--iterations: EPRI acquisitions iterate with --algorithm tv only"));
        }
        if self.parameters.values().is(&POSITIVITY, YES) && !self.delays_us.is_empty() {
            return Err(CliError::arguments("--positivity: images after an inversion have negative values; leave it out"));
        }
        Ok(algorithm)
    }

    /// Reads the images. Magnitudes get the signs of recoveries.
    ///
    /// # Errors
    /// An unreadable image, images on different grids.
    pub fn images(&self, fitter: &RateFitter) -> CliResult<Vec<Volume>> {
        let mut images: Vec<Volume> = Vec::new();
        for path in &self.inputs {
            let image = notices::printed(read_epri_volume(path)?);
            if let Some(first) = images.first() {
                let names = [&self.inputs[0], path].map(|path| path.display().to_string());
                check_same_grid([(&names[0], &first.grid), (&names[1], &image.grid)], "")?;
            }
            images.push(image);
        }
        Ok(if self.magnitude { with_signs(&images, fitter) } else { images })
    }

    pub fn data(&self) -> DataRecord {
        let title = self.output.file_stem().unwrap_or_default().to_string_lossy();
        DataRecord::new(&title, &Origin::default())
    }

    pub fn record(&self, times_us: &[f64], calibration: &OxygenCalibration) -> OximetryRecord {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        OximetryRecord {
            images: self.inputs.iter().map(name).collect(),
            times_us: times_us.to_vec(),
            calibration: calibration.clone(),
            mask_fraction: self.mask_fraction,
            is_magnitude: self.magnitude,
            iterations: Vec::new(),
            explained: Vec::new(),
            draws: None,
            chi_square: None,
            noise_trend: None,
        }
    }
}
