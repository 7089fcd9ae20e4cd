//! Sinograms, on one device or shared out among several.

use std::sync::Arc;

use super::data_setup::DataSetup;
use super::prepared::{Prepared, check_start_images, coarse_for_tof, gradients_notice, of_group, race_warning, within_memory};
use crate::data::{Counts, Notice};
use crate::operator::{Accumulation, OperatorError, Subset};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{DeviceMemory, Forecast, MemoryNeeds};
use crate::plan::error::SetupError;
use crate::plan::job::Job;
use crate::plan::job::settings::{RunSettings, TofSettings};
use crate::plan::platform::choose::{OpenedDevices, choose_team};
use crate::plan::problem::SetupProblem;
use crate::plan::projector::settings::ProjectorSettings;
use crate::plan::projector::system::System;
use crate::plan::simulation::cache::Cache;
use crate::plan::simulation::tubes::placeholder;
use crate::recon::{Additions, MeasuredValues, ReconError, check_poisson_data, corrections_per_datum};
use crate::task::Task;

impl RunSettings {
    /// Returns true if the projector needs tubes that are still missing.
    pub(super) fn lacks_tubes(&self) -> bool {
        self.projector.uses_tubes() && self.inputs.tubes.is_none()
    }

    /// Returns the accumulation of the backprojection on a system.
    fn accumulation_on(&self, system: &dyn System) -> Accumulation {
        self.accumulation.unwrap_or(system.default_accumulation())
    }
}

impl DataSetup for Counts {
    fn inputs(&self, cache: &Cache, settings: &mut RunSettings, task: &Task) -> Result<Vec<Notice>, SetupError> {
        check(self, settings)?;
        if !settings.lacks_tubes() {
            return Ok(Vec::new());
        }
        let (tubes, notices) = cache.coarse_set(self.geometry(), settings.device, task)?;
        settings.inputs.tubes = Some(Arc::new(tubes));
        Ok(notices)
    }

    fn prepare_on(&self, _: &Cache, device: DeviceChoice, job: &Job, task: &Task) -> Result<Prepared, SetupError> {
        let settings = &job.settings;
        let mut chosen = choose_for(device, self, settings)?;
        let settings = &within_memory(settings, |settings| needs_of(&chosen, self, settings));
        let needs = needs_of(&chosen, self, settings);
        check_needs(&needs, device, self, settings, &[])?;
        chosen.notices.extend(gradients_notice(settings));
        let counts = &settings.tof.of(self)?;
        let bootstrap = settings.bootstrap();
        if let Some(bootstrap) = bootstrap {
            bootstrap.check(&MeasuredValues::from(counts).prompts).map_err(ReconError::from)?;
        }
        let (entry, device) = (chosen.entry, chosen.device());
        let (system, _) = chosen.members.first_mut().ok_or(ReconError::NoDevice)?;
        let accumulation = settings.accumulation_on(&**system);
        chosen.notices.extend(race_warning(accumulation, settings.algorithm));
        chosen.notices.extend(counts.tof_bins().and_then(|bins| coarse_for_tof(bins.fwhm_mm, &settings.grid)));
        let is_deterministic = accumulation == Accumulation::Deterministic;
        let additions = Additions {
            accumulation,
            sensitivity_accumulation: if is_deterministic { accumulation } else { system.default_accumulation() },
            racy_sensitivity: settings.has_racy_sensitivity(),
        };
        let num_subsets = settings.num_subsets;
        // (Of a team what one device needs for its share.)
        let secs_per_iteration = system.trial_secs(num_subsets, accumulation)?;
        task.check().map_err(OperatorError::from)?;
        let OpenedDevices { members, notices, .. } = chosen;
        let mut algorithms = Vec::with_capacity(members.len());
        for (system, team) in members {
            let values = MeasuredValues { bootstrap, ..counts.into() };
            algorithms.push((system.algorithm(settings.spec()?, values, num_subsets, additions, settings.start_images())?, team));
        }
        let names = [device, entry.name.to_owned()];
        Ok(Prepared { notices, ..Prepared::new(job, of_group(algorithms)?, names, accumulation, &needs, secs_per_iteration) })
    }

    fn forecast_on(
        &self,
        device: DeviceChoice,
        settings: &RunSettings,
        given_back: &[DeviceMemory],
    ) -> Result<Forecast, SetupError> {
        check_settings(self, settings)?;
        let mut settings = settings.clone();
        if settings.lacks_tubes() {
            settings.inputs.tubes = Some(Arc::new(placeholder(self.geometry())?));
        }
        let chosen = choose_for(device, self, &settings)?;
        let needs = |settings: &RunSettings| needs_of(&chosen, self, settings).with_given_back(given_back);
        let settings = within_memory(&settings, needs);
        let needs = needs(&settings);
        check_needs(&needs, device, self, &settings, given_back)?;
        Ok(Forecast::of(&needs, [chosen.device(), chosen.entry.name.to_owned()]))
    }

    fn trial_size(&self, settings: &RunSettings) -> Option<String> {
        let is_for_gpus = self.tof_bins().is_none() || !settings.tof.is_used;
        is_for_gpus.then(|| format!("counts {:?}", self.geometry()))
    }

    fn trial_secs(&self, device: DeviceChoice, settings: &RunSettings, _: &Task) -> Result<Option<f64>, SetupError> {
        let mut chosen = choose_for(device, self, settings)?;
        let settings = &within_memory(settings, |settings| needs_of(&chosen, self, settings));
        needs_of(&chosen, self, settings).check()?;
        let (system, _) = chosen.members.first_mut().ok_or(ReconError::NoDevice)?;
        let accumulation = settings.accumulation_on(&**system);
        Ok(system.trial_secs(settings.num_subsets, accumulation)?)
    }
}

fn choose_for(device: DeviceChoice, counts: &Counts, settings: &RunSettings) -> Result<OpenedDevices, SetupError> {
    let bins = settings.tof.bins_of(counts)?;
    let projector_settings = settings.of_projector(device, bins);
    let chosen = match choose_team(counts.geometry(), &projector_settings) {
        // The processor has all that there is for time-of-flight bins.
        Err(error) if device == DeviceChoice::Auto && bins.is_some() && error.is_of_an_unsuitable_projector() => {
            choose_team(counts.geometry(), &ProjectorSettings { device: DeviceChoice::Cpu, ..projector_settings })?
        }
        chosen => chosen?,
    };
    let (max, num_devices) = (chosen.members.iter().map(|(system, _)| system.data().max_subsets()).min(), chosen.members.len());
    match max.filter(|max| *max < settings.num_subsets) {
        None => Ok(chosen),
        Some(max) => Err(SetupProblem::DeviceSubsets { num_subsets: settings.num_subsets, num_devices, max }.into()),
    }
}

/// Returns the memory of each device's share, from the lengths of the data alone.
fn needs_of(chosen: &OpenedDevices, counts: &Counts, settings: &RunSettings) -> MemoryNeeds {
    let num_tof = settings.tof.bins_of(counts).ok().flatten().map_or(1, |bins| bins.num);
    let corrections = corrections_per_datum(counts, num_tof);
    MemoryNeeds::of(chosen.members.iter().map(|(system, _)| {
        let accumulation = settings.accumulation_on(&**system);
        let bytes = system.memory_bytes(corrections, settings.num_subsets, accumulation);
        (settings.bytes_of_run(bytes, system.data().len(Subset::ALL)), system.free_memory())
    }))
}

/// Refuses a run that does not fit, with the smallest number of time-of-flight bins to add up with which it would.
fn check_needs(
    needs: &MemoryNeeds,
    device: DeviceChoice,
    counts: &Counts,
    settings: &RunSettings,
    given_back: &[DeviceMemory],
) -> Result<(), SetupError> {
    let Err(error) = needs.check() else { return Ok(()) };
    let num_tof = counts.tof_bins().filter(|_| settings.tof.is_used).map_or(1, |bins| bins.num);
    let fits = |mash: &usize| {
        let tof = TofSettings { mash: *mash, ..settings.tof };
        let settings = RunSettings { tof, ..settings.clone() };
        // (Not every number divides that of the bins.)
        let chosen = choose_for(device, counts, &settings);
        chosen.and_then(|chosen| needs_of(&chosen, counts, &settings).with_given_back(given_back).check()).is_ok()
    };
    let mash = (settings.tof.mash + 1..=num_tof).find(fits);
    Err(error.of_subsets(settings.num_subsets).with_tof_mash(mash))
}

/// Refuses what can be wrong about settings and data.
///
/// # Errors
/// More subsets than views, a start image on another grid, data without a Poisson likelihood.
fn check(counts: &Counts, settings: &RunSettings) -> Result<(), SetupError> {
    check_settings(counts, settings)?;
    check_poisson_data(counts)?;
    Ok(())
}

/// Returns the same without a look at the data.
fn check_settings(counts: &Counts, settings: &RunSettings) -> Result<(), SetupError> {
    let (num_subsets, num_views) = (settings.num_subsets, counts.geometry().num_views);
    if num_subsets == 0 || num_subsets > num_views {
        return Err(SetupProblem::Subsets { num_subsets, max: num_views, of: "view" }.into());
    }
    settings.tof.check(counts)?;
    check_start_images(settings)
}
