//! Result of a setup, and the checks common to all kinds of data.

use crate::algebra::{PeerGroup, Shard};
use crate::data::{Notice, Volume};
use crate::geometry::Grid;
use crate::operator::{Accumulation, TofKernel};
use crate::plan::algorithms::penalised::{KAPPA, KAPPA_OF_FILE};
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::plan::device::memory::MemoryNeeds;
use crate::plan::error::SetupError;
use crate::plan::job::settings::RunSettings;
use crate::plan::job::{Job, StartInfo};
use crate::plan::problem::SetupProblem;
use crate::recon::{Algorithm, AlgorithmSpec, Estimate, ReconError, SettingsProblem, SharedAlgorithm, StartImages};

/// An algorithm ready to step.
pub struct Prepared {
    /// The algorithm, at its start image.
    pub algorithm: Box<dyn Algorithm>,
    /// Description of the run.
    pub info: StartInfo,
    /// Notices for the user.
    pub notices: Vec<Notice>,
    /// Projections of the job's acquisition that the algorithm has; 0 for counts.
    pub num_taken: usize,
}

impl Prepared {
    /// Returns an algorithm that was made for a job, by a device and a projector in words, without notices.
    pub(in crate::plan) fn new(
        job: &Job,
        algorithm: Box<dyn Algorithm>,
        [device, projector]: [String; 2],
        accumulation: Accumulation,
        needs: &MemoryNeeds,
        secs_per_iteration: Option<f64>,
    ) -> Self {
        // Each replicate does the same steps.
        let secs_per_iteration = secs_per_iteration.map(|secs| (1 + job.settings.num_replicates()) as f64 * secs);
        let info = StartInfo {
            device,
            projector,
            num_subsets: algorithm.num_subsets(),
            accumulation,
            accumulations: algorithm.accumulations(),
            estimate: Estimate { memory_bytes: needs.bytes(), secs_per_iteration },
            memory: needs.of_devices(),
            job: job.clone(),
        };
        Self { algorithm, info, notices: Vec::new(), num_taken: 0 }
    }
}

/// Returns the only algorithm, or those of the members of a group as one.
pub(in crate::plan) fn of_group(mut algorithms: Vec<(Box<dyn Algorithm>, PeerGroup)>) -> Result<Box<dyn Algorithm>, ReconError> {
    match &algorithms[..] {
        [(_, group)] if group.shard() == Shard::WHOLE => Ok(algorithms.swap_remove(0).0),
        _ => Ok(Box::new(SharedAlgorithm::new(algorithms)?)),
    }
}

/// Returns the settings of a run by the memory that is free: where it is too small SVRG computes gradients of subsets again in place of
/// storing them, and each replicate of list-mode data is projected on its own.
pub(super) fn within_memory(settings: &RunSettings, needs: impl Fn(&RunSettings) -> MemoryNeeds) -> RunSettings {
    let stores_gradients = settings.spec().is_ok_and(AlgorithmSpec::stores_gradients);
    let is_too_small = (stores_gradients || settings.replicates().is_some()) && needs(settings).check().is_err();
    let mut settings = settings.clone();
    settings.decisions.computes_gradients_again |= stores_gradients && is_too_small;
    settings.decisions.projects_replicates_singly |= is_too_small;
    settings
}

/// Returns a notice if SVRG computes gradients of subsets again.
pub(super) fn gradients_notice(settings: &RunSettings) -> Option<Notice> {
    let text = "too little memory to store the gradients of all subsets: each step of SVRG computes its own again, the image is the same";
    settings.decisions.computes_gradients_again.then(|| Notice::info(text))
}

/// Warns of voxels so large that the weight at the middle of a piece of a line is not its mean weight: with σ of half a voxel it is off
/// by 5 %.
pub(super) fn coarse_for_tof(fwhm_mm: f64, grid: &Grid) -> Option<Notice> {
    let sigma_mm = TofKernel::new(fwhm_mm).sigma_mm();
    let largest_mm = grid.voxel_mm.into_iter().fold(0.0, f64::max);
    (sigma_mm < 0.5 * largest_mm).then(|| {
        Notice::warning(format!(
            "the time-of-flight resolution (FWHM {fwhm_mm:.1} mm, σ {sigma_mm:.1} mm) is finer than half a voxel ({largest_mm:.1} mm): weights along a \
             line are off by more than 5 %; choose voxels up to {:.1} mm",
            2.0 * sigma_mm
        ))
    })
}

/// Returns a warning if the accumulation may lose additions, or would: algorithms that climb have none that does.
pub(in crate::plan) fn race_warning(accumulation: Accumulation, algorithm: AlgorithmChoice) -> Option<Notice> {
    let text = if algorithm.has_penalty() {
        let name = algorithm.entry().label;
        format!(
            "{name} does not use {accumulation} backprojection: a lost addition would count as a gradient. It uses the default"
        )
    } else {
        format!("{accumulation} backprojection loses additions when threads meet: the image is not for diagnosis")
    };
    accumulation.has_race().then(|| Notice::warning(text))
}

/// Refuses a start image, or κ, on another grid than the reconstruction's, and κ of a file without one.
pub(in crate::plan) fn check_start_images(settings: &RunSettings) -> Result<(), SetupError> {
    let StartImages { init, kappa } = settings.start_images();
    let is_of_file = settings.algorithm.has_penalty() && settings.parameters.is(&KAPPA, KAPPA_OF_FILE);
    if is_of_file && kappa.is_none() {
        return Err(ReconError::from(SettingsProblem::NoKappa).into());
    }
    let other = |image: Option<&Volume>| {
        let found = Box::new(image.filter(|image| !image.grid.same_as(&settings.grid))?.grid.clone());
        Some((found, Box::new(settings.grid.clone())))
    };
    let kappa = kappa.filter(|_| is_of_file);
    let of_start = other(init).map(|(found, expected)| SetupProblem::StartImage { found, expected });
    let of_kappa = other(kappa.map(|kappa| &**kappa)).map(|(found, expected)| SetupProblem::Kappa { found, expected });
    of_start.or(of_kappa).map_or(Ok(()), |problem| Err(problem.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::algorithms::registry::AlgorithmChoice;
    use crate::plan::device::memory::FreeMemory;
    use crate::plan::job::replicates::ReplicateSettings;

    #[test]
    fn svrg_computes_gradients_again_where_memory_is_too_small_for_all() {
        let grid = Grid::centred([4; 3], [1.0; 3]).unwrap();
        let image = 4 * 64;
        let [plain, with_replicates] = [None, Some(ReplicateSettings::new(10))].map(|replicates| RunSettings {
            num_subsets: 28,
            ..RunSettings::new(AlgorithmChoice::SVRG, grid.clone()).with_replicates(replicates)
        });
        // (Those of expectation maximisation: 28 sensitivities, their sum and two images.)
        let of_em = 31 * image;
        let within = |settings: &RunSettings, free_images: u64| {
            let free = FreeMemory { bytes: Some(free_images * image), ..FreeMemory::default() };
            let needs = |settings: &RunSettings| MemoryNeeds::of([(settings.bytes_of_run(of_em, 0), free.clone())]);
            let chosen = within_memory(settings, needs);
            (chosen.decisions.computes_gradients_again, needs(&chosen).bytes() / image)
        };
        // 27 images fewer for the run, and for each replicate: 37 or 10, with four for the sums of the deviations.
        assert_eq!(within(&plain, 54), (false, 54));
        assert_eq!(within(&plain, 53), (true, 27));
        assert_eq!(within(&with_replicates, 428), (false, 428));
        assert_eq!(within(&with_replicates, 427), (true, 131));
        assert!(gradients_notice(&plain).is_none());
        let osem = RunSettings { algorithm: AlgorithmChoice::OSEM, ..plain };
        assert_eq!(within(&osem, 10), (false, 31));
    }
}
