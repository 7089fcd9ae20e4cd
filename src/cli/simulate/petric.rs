//! A simulated twin of a data set of PETRIC: `tomoscope simulate --petric FOLDER`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::options::{Detectors, SimulateOptions};
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::cli::shared::printed::written;
use crate::cli::shared::progress::with_bar;
use crate::data::{Counts, Preset, Roi, RoiRole, RoiShape, Study, Volume, Voxels};
use crate::geometry::Grid;
use crate::io::{BACKGROUND_REGION, IoError, PetricFolder, WHOLE_OBJECT};
use crate::phantom::{self, SimulationOptions};
use crate::plan::{
    AUTO, AlgorithmChoice, BETA, DeviceChoice, Job, RunInputs, RunSettings, SetupError, Values, default_settings, prepare,
};
use crate::recon::{PenaltySpec, proposed_strength};
use crate::reproduce::petric_reference;
use crate::task::Task;

/// Full iterations of OSEM of the start image.
const START_ITERATIONS: usize = 2;

/// Part of the background's activity from which a voxel belongs to the whole object.
const EDGE_OF_OBJECT: f32 = 0.5;

pub fn run(options: &SimulateOptions, folder: &Path) -> CliResult {
    let Some(Detectors::Bins(scanner)) = options.scanner else {
        return Err(CliError::arguments("--petric is for scanners; a ring of crystals has no sinograms"));
    };
    if PetricFolder::of(folder).is_some() {
        let text = format!("{} contains a data set already; choose another folder", folder.display());
        return Err(CliError::arguments(text));
    }
    fs::create_dir_all(folder).map_err(IoError::write(folder))?;
    let geometry = Arc::new(scanner.geometry.clone());
    let phantom = phantom::by_name(&options.phantom, &geometry).map_err(|error| CliError::arguments(error.to_string()))?;
    let grid = geometry.default_grid()?;
    let simulation = SimulationOptions {
        counts: options.counts,
        noise: options.noise,
        seed: options.seed,
        attenuation: true,
        background_fraction: options.background,
        truth_grid: Some(grid.clone()),
        tof: None,
    };
    let mut study = with_bar("simulating", |task| phantom::simulate(&phantom, geometry, &simulation, task))??;
    notices::print(&study.notices);
    out!("{} on {}", study.title, scanner.title);
    study.rois = regions(&study, &grid)?;
    let preset = with_bar("start image", |task| preset(&study, task))??;
    study.preset = Some(Arc::new(preset.clone()));
    let reference = match options.reference {
        true => Some(Arc::new(with_bar("reference", |task| petric_reference(&study, DeviceChoice::Auto, task))??)),
        false => None,
    };
    let preset = Preset { reference, ..preset };
    for path in PetricFolder::write(folder, &study.measured, &preset, &study.rois)? {
        written(&path, content(&path, &study, &preset));
    }
    Ok(())
}

/// Describes a file of the data set.
fn content(path: &Path, study: &Study<Counts>, preset: &Preset) -> String {
    let prompts = &study.measured.prompts;
    match path.file_name().and_then(|name| name.to_str()).unwrap_or_default() {
        "prompts.hs" => format!("{:.0} counts in {} bins", prompts.total(), prompts.geometry.num_bins()),
        "mult_factors.hs" => "attenuation factors".into(),
        "additive_term.hs" => "expected background, divided by the factors".into(),
        "OSEM_image.hv" => format!("start image: {START_ITERATIONS} iterations of OSEM"),
        "kappa.hv" => "weights κ of the penalty".into(),
        "penalisation_factor.txt" => preset
            .strength
            .map_or_else(String::new, |strength| format!("strength of the penalty in the units of STIR; --beta {strength:.4e}")),
        "reference_image.hv" => "converged image".into(),
        _ => "region".into(),
    }
}

/// Returns the regions of PETRIC's measures: the whole object, the background of the phantom, and its other regions.
fn regions(study: &Study<Counts>, grid: &Grid) -> CliResult<Vec<Roi>> {
    let no_region = || CliError::arguments("the phantom has no background region; PETRIC's measures need one (nema-iq-2018)");
    let truth = study.truth.as_deref().ok_or_else(no_region)?;
    let (background, others): (Vec<&Roi>, Vec<&Roi>) = study.rois.iter().partition(|roi| roi.role == RoiRole::Background);
    let mut is_background = vec![false; grid.num_voxels()];
    let (mut sum, mut weight) = (0.0, 0.0);
    for mask in background.iter().map(|roi| roi.mask(grid)) {
        let sums = mask.sums(truth.as_slice());
        (sum, weight) = (sum + sums.sum, weight + sums.weight);
        mask.voxels.iter().filter(|(_, weight)| *weight >= 0.5).for_each(|(voxel, _)| is_background[*voxel as usize] = true);
    }
    if weight <= 0.0 {
        return Err(no_region());
    }
    let edge = EDGE_OF_OBJECT * (sum / weight) as f32;
    let is_object = truth.as_slice().iter().map(|value| *value >= edge).collect();
    let whole = |name: &str, is_inside: Vec<bool>| {
        Some(Roi::new(name, RoiShape::Voxels(Voxels::new(grid.clone(), is_inside)?.into()), [0.0; 3]))
    };
    let background = whole(BACKGROUND_REGION, is_background).map(|roi| Roi { role: RoiRole::Background, ..roi });
    let named = others.into_iter().map(|roi| Roi { name: roi.name.replace([' ', '/'], "_"), ..roi.clone() });
    Ok(whole(WHOLE_OBJECT, is_object).into_iter().chain(background).chain(named).collect())
}

/// Returns the start image by OSEM, κ and the strength of the penalty.
fn preset(study: &Study<Counts>, task: &Task) -> Result<Preset, SetupError> {
    let settings = RunSettings { num_iterations: START_ITERATIONS, ..default_settings(&study.measured)? };
    let mut start = Volume::filled(settings.grid.clone(), 0.0);
    let mut prepared = prepare(&Job::of(study, settings.clone()), task)?;
    for _ in 0..START_ITERATIONS {
        prepared.algorithm.iterate(task)?;
    }
    prepared.algorithm.volume_into(&mut start)?;
    let start = Arc::new(start);
    // (κ needs no subsets.)
    let of_penalty = RunSettings {
        algorithm: AlgorithmChoice::SVRG,
        parameters: Values::default().with_choice(&BETA, AUTO),
        num_subsets: 1,
        inputs: RunInputs { init: Some(Arc::clone(&start)), ..settings.inputs.clone() },
        ..settings
    };
    let kappa = prepare(&Job::of(study, of_penalty), task)?.algorithm.kappa(task)?;
    let background = study.rois.iter().find(|roi| roi.name == BACKGROUND_REGION).map(|roi| roi.mask(&start.grid));
    let sums = background.map(|mask| mask.sums(start.as_slice()));
    let potential = PenaltySpec { epsilon: Some(0.0), ..PenaltySpec::NONE }.potential(0.0);
    let strength = sums.map(|sums| proposed_strength(potential, sums.sum / sums.weight, start.grid.voxel_mm));
    Ok(Preset { start: Some(start), kappa, strength, reference: None })
}
