//! EPRI acquisitions in place of images: their reconstruction.

use super::options::OximetryOptions;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::data::{Notice, RelaxationRate, Volume};
use crate::io::{check_series, read_sweep};
use crate::measure::oximetry::{RateFitter, sweeps_with_signs};
use crate::plan::{
    AlgorithmRecord, ExplainedRecord, FbpRecord, LAMBDA, PulseAcquisitions, RunSettings, SetupError, SingleImage, Value,
    default_sweep_settings, with_strength_by_noise,
};
use crate::recon::Explained;
use crate::task::Task;
use crate::text::counted;

/// Images with the record of their reconstruction.
#[derive(Default)]
pub struct Reconstructed {
    pub images: Vec<Volume>,
    pub record: Option<AlgorithmRecord>,
    /// Iterations of each; empty of filtered backprojection.
    pub iterations: Vec<usize>,
    /// Part of the samples that each image explains.
    pub explained: Vec<Option<Explained>>,
    /// Why an image is far from a converged one.
    pub unconverged: Vec<Option<String>>,
}

impl Reconstructed {
    /// Prints the acquisitions whose images have not converged, or explain less of their samples than noise allows. Returns true if an image ended
    /// far from convergence at the default limit.
    pub fn print_doubts(&self, options: &OximetryOptions, times_us: &[f64]) -> bool {
        let is_default = options.iterations.is_none();
        let name = |index: usize| {
            let file = options.inputs[index].file_name().unwrap_or_default().to_string_lossy();
            format!("{file} ({} µs)", times_us[index])
        };
        for (index, text) in self.unconverged.iter().enumerate() {
            let iterations =
                self.iterations.get(index).map_or_else(String::new, |num| format!(" after {}", counted(*num, "iteration")));
            let text = text.as_ref().map(|text| format!("{}: not converged{iterations}: {text}", name(index)));
            notices::print(text.map(|text| if is_default { Notice::warning(text) } else { Notice::info(text) }).as_slice());
        }
        let is_penalised = self.record.as_ref().is_some_and(|record| record.fbp.is_none());
        for (index, explained) in self.explained.iter().enumerate() {
            let text = explained.filter(|explained| !explained.is_usual(is_penalised)).map(|explained| {
                format!(
                    "{}: the image explains {}, less than expected. {}",
                    name(index),
                    explained.text(),
                    explained.likely_causes(is_penalised, 1)
                )
            });
            notices::print(text.map(Notice::warning).as_slice());
        }
        is_default && self.unconverged.iter().any(Option::is_some)
    }
}

/// Reads acquisitions, for a reconstruction on the grid of the first, and prints their notices. Magnitudes get the signs of recoveries.
///
/// # Errors
/// An unreadable file, options that the algorithm lacks.
pub fn read(options: &OximetryOptions, fitter: &RateFitter) -> CliResult<PulseAcquisitions> {
    let algorithm = options.algorithm()?;
    let suited = options.iterations.map(|num| num as usize).or(algorithm.default_iterations());
    let (mut sweeps, mut settings) = (Vec::new(), Vec::<RunSettings>::new());
    for path in &options.inputs {
        let study = read_sweep(path, None)?;
        notices::print(&study.notices);
        let default = default_sweep_settings(&study.measured)?;
        let grid = settings.first().map_or(&default.grid, |first| &first.grid).clone();
        let (mut parameters, num_iterations) = (default.parameters, suited.unwrap_or(default.num_iterations));
        parameters.keep(&algorithm.settings());
        parameters.extend(options.parameters.values());
        settings.push(RunSettings { algorithm, parameters, num_iterations, device: options.device, grid, ..default });
        sweeps.push(study.measured);
    }
    check_series(&options.inputs, &sweeps)?;
    if options.magnitude {
        sweeps = sweeps_with_signs(&sweeps, fitter);
    }
    if let (Some(first), Some(sweep)) = (settings.first(), sweeps.first()) {
        let strength = with_strength_by_noise(first, sweep)?.parameters.number(&LAMBDA);
        settings.iter_mut().for_each(|settings| settings.parameters.set(&LAMBDA, strength.map(Value::Number)));
    }
    Ok(PulseAcquisitions { sweeps, settings })
}

/// Reconstructs all.
///
/// # Errors
/// A failed or stopped reconstruction.
pub fn images(acquisitions: &PulseAcquisitions, rate: RelaxationRate, task: &Task) -> CliResult<Reconstructed> {
    let (mut images, mut record, mut iterations) = (Vec::new(), None, Vec::new());
    let (mut explained, mut unconverged) = (Vec::new(), Vec::new());
    for (sweep, settings) in acquisitions.sweeps.iter().zip(&acquisitions.settings) {
        let SingleImage { volume, mut prepared, num_iterations } = SingleImage::of(sweep.clone(), settings, task)?;
        images.push(volume);
        iterations.extend(num_iterations);
        unconverged.push(prepared.algorithm.unconverged());
        let part = prepared.algorithm.explained(task).map_err(SetupError::from)?;
        explained.push(if rate == RelaxationRate::R1 { part.map(Explained::of_any_sign) } else { part });
        if record.is_none() {
            notices::print(&prepared.notices);
        }
        let (entry, program) = (settings.algorithm.entry(), prepared.info.projector);
        let is_fbp = settings.algorithm.stages().is_some();
        record.get_or_insert_with(|| AlgorithmRecord {
            name: entry.key.to_owned(),
            em: None,
            fbp: is_fbp.then_some(FbpRecord { program }),
            explained: ExplainedRecord::default(),
            ascent: None,
            replicates: None,
            parameters: settings.parameters.in_full(&settings.algorithm.settings()),
        });
    }
    Ok(Reconstructed { images, record, iterations, explained, unconverged })
}
