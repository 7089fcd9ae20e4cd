//! EPRI acquisitions in place of images: their reconstruction.

use super::options::OximetryOptions;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::data::Volume;
use crate::io::{check_series, read_sweep};
use crate::plan::{
    AlgorithmRecord, ExplainedRecord, FbpRecord, LAMBDA, PulseAcquisitions, RunSettings, SingleImage, Value,
    default_sweep_settings, with_strength_by_noise,
};
use crate::task::Task;

/// Images with the record of their reconstruction.
#[derive(Default)]
pub struct Reconstructed {
    pub images: Vec<Volume>,
    pub record: Option<AlgorithmRecord>,
    /// Iterations of each; empty of filtered backprojection.
    pub iterations: Vec<usize>,
}

/// Reads acquisitions, for a reconstruction on the grid of the first, and prints their notices.
///
/// # Errors
/// An unreadable file, options that the algorithm lacks.
pub fn read(options: &OximetryOptions) -> CliResult<PulseAcquisitions> {
    let algorithm = options.algorithm()?;
    let suited = options.iterations.map(|num| num as usize).or(algorithm.default_iterations());
    let (mut sweeps, mut settings) = (Vec::new(), Vec::<RunSettings>::new());
    for path in &options.inputs {
        let study = read_sweep(path, None)?;
        notices::print(&study.notices);
        let default = default_sweep_settings(&study.measured)?;
        let grid = settings.first().map_or(&default.grid, |first| &first.grid).clone();
        let (mut parameters, num_iterations) = (default.parameters, suited.unwrap_or(default.num_iterations));
        parameters.keep(algorithm.entry().parameters);
        parameters.extend(options.parameters.values());
        settings.push(RunSettings { algorithm, parameters, num_iterations, device: options.device, grid, ..default });
        sweeps.push(study.measured);
    }
    check_series(&options.inputs, &sweeps)?;
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
pub fn images(acquisitions: &PulseAcquisitions, task: &Task) -> CliResult<Reconstructed> {
    let (mut images, mut record, mut iterations) = (Vec::new(), None, Vec::new());
    for (sweep, settings) in acquisitions.sweeps.iter().zip(&acquisitions.settings) {
        let SingleImage { volume, prepared, num_iterations } = SingleImage::of(sweep.clone(), settings, task)?;
        images.push(volume);
        iterations.extend(num_iterations);
        if record.is_none() {
            notices::print(&prepared.notices);
        }
        let (entry, program) = (settings.algorithm.entry(), prepared.info.projector);
        let is_fbp = settings.algorithm.stages().is_some();
        record.get_or_insert_with(|| AlgorithmRecord {
            name: entry.key.to_owned(),
            em: None,
            fbp: is_fbp.then_some(FbpRecord { program, kernel: settings.research.kernel }),
            explained: ExplainedRecord::default(),
            ascent: None,
            replicates: None,
            parameters: settings.parameters.in_full(entry.parameters),
        });
    }
    Ok(Reconstructed { images, record, iterations })
}
