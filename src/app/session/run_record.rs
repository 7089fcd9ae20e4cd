//! Record of a run, from which the provenance of each of its images is made: of stored iterates, of the newest image, and of the
//! image that is displayed during the set-up of the next run.

use std::collections::BTreeMap;
use std::time::Duration;

use super::IterateReport;
use super::threads::num_cores;
use crate::data::{Study, Sweep};
use crate::operator::Accumulation;
use crate::plan::{
    AUTO, AccumulationSpan, AlgorithmRecord, AscentRecord, BETA, CorrectionRecord, DataRecord, DeviceRecord, EmRecord,
    ExplainedRecord, FbpRecord, FrameRecord, ImageKind, ImageRecord, MatrixRecord, ObjectiveRecord, OptimalityRecord, Progress,
    ProjectorRecord, Provenance, RadicalRecord, RunSettings, Start, StartInfo, SubsetRecord, TofRecord, TuningSpan, rays_in_use,
    rays_of_a_pair, tv_settings,
};
use crate::recon::{AscentReport, Explained, Optimality, RaceReport};

/// Number of newest steps with a complete record. Earlier images are stored only after full iterations, so that the record keeps
/// these steps, and those with an objective.
const NUM_NEWEST: usize = 16_384;

/// Set-up of a run, and the results of its steps.
#[derive(Clone, Debug)]
pub struct RunRecord {
    info: StartInfo,
    start: Start,
    /// Results by number of steps.
    steps: BTreeMap<usize, StepRecord>,
    /// Accumulations, from each step at which they changed.
    accumulations: Vec<AccumulationSpan>,
    /// Penalties and step sizes, from each step at which they changed.
    tunings: Vec<TuningSpan>,
    /// Optimality residuals, by the steps of their images.
    optimalities: BTreeMap<usize, Optimality>,
    /// Number of steps and text of each stopping rule that was met.
    rules: Vec<(usize, String)>,
}

/// Result of a step.
#[derive(Clone, Debug)]
struct StepRecord {
    completes_iteration: bool,
    /// Time since the start.
    elapsed: Duration,
    /// Number of events of the image, for a growing list.
    num_events: Option<usize>,
    /// Losses, if the step had a race condition.
    race: Option<RaceReport>,
    /// Report of an algorithm that climbs to a maximum.
    ascent: Option<AscentReport>,
    /// Part of the data that the image explains, if known.
    explained: Option<Explained>,
}

impl StepRecord {
    /// True if a record of many steps keeps this one.
    fn is_lasting(&self) -> bool {
        self.completes_iteration || self.explained.is_some() || self.ascent.is_some_and(|ascent| ascent.objective.is_some())
    }
}

impl RunRecord {
    pub fn new(info: StartInfo) -> Self {
        let (steps, optimalities) = (BTreeMap::new(), BTreeMap::new());
        let (accumulations, tunings, rules) = (Vec::new(), Vec::new(), Vec::new());
        Self { info, start: Start::now(), steps, accumulations, tunings, optimalities, rules }
    }

    pub fn add(&mut self, report: &IterateReport) {
        let IterateReport {
            subiteration, accumulation, completes_iteration, elapsed, num_events, race, ascent, explained, ..
        } = *report;
        if self.accumulations.last().is_none_or(|span| span.accumulation != accumulation) {
            self.accumulations.push(AccumulationSpan { from_subiteration: subiteration, accumulation });
        }
        if let Some(AscentReport { tuning, optimality, .. }) = ascent {
            if self.tunings.last().is_none_or(|span| span.tuning != tuning) {
                self.tunings.push(TuningSpan { from_subiteration: subiteration, tuning });
            }
            self.optimalities.extend(optimality.map(|residual| (subiteration.saturating_sub(1), residual)));
        }
        self.steps.insert(subiteration, StepRecord { completes_iteration, elapsed, num_events, race, ascent, explained });
        let old = subiteration.saturating_sub(NUM_NEWEST);
        if self.steps.get(&old).is_some_and(|step| !step.is_lasting()) {
            self.steps.remove(&old);
        }
    }

    /// Adds the part of the data that the image after the last step explains.
    pub fn explained(&mut self, subiteration: usize, explained: Explained) {
        self.steps.entry(subiteration).and_modify(|step| step.explained = Some(explained));
    }

    /// Adds the distance of an image from the maximum of its objective.
    pub fn optimality(&mut self, subiteration: usize, residual: Optimality) {
        self.optimalities.insert(subiteration, residual);
    }

    /// Returns the part of the data that the image after this number of steps explains, if known.
    pub fn explained_by(&self, subiteration: usize) -> Option<Explained> {
        self.steps.get(&subiteration)?.explained
    }

    /// Returns the results of the last step up to this number, and of those before it.
    fn up_to(&self, subiteration: usize) -> impl Iterator<Item = (&usize, &StepRecord)> {
        self.steps.range(..=subiteration).rev()
    }

    /// Adds a stopping rule that was met after the last step.
    pub fn stopped_by(&mut self, rule: &str) {
        let done = self.steps.last_key_value().map_or(0, |(step, _)| *step);
        self.rules.push((done, rule.to_owned()));
    }

    /// Returns the accumulation of the step of this image; for the start image that of the first step.
    pub fn accumulation_of(&self, subiteration: usize) -> Accumulation {
        let span = self.accumulations.iter().rfind(|span| span.from_subiteration <= subiteration);
        span.map_or(self.info.accumulation, |span| span.accumulation)
    }

    /// Returns the losses of the race condition of a step, if it had one.
    pub fn race_at(&self, subiteration: usize) -> Option<RaceReport> {
        self.steps.get(&subiteration)?.race
    }

    /// Returns the progress of the run after this number of steps (for a sweep projections).
    pub fn progress(&self, subiteration: usize, iterations_requested: usize) -> Progress {
        let data = self.info.job.data();
        if data.growing_list().is_some() {
            let events = self.up_to(subiteration).find_map(|(_, step)| step.num_events).unwrap_or(0);
            return Progress::Arrived { updates: subiteration, events, complete: false };
        }
        if let Some(series) = data.oximetry() {
            let sweep = series.sweeps.get(subiteration.saturating_sub(1));
            let projections = sweep.filter(|_| subiteration > 0).map_or(0, Sweep::num_complete);
            let expected = sweep.map(Sweep::num_complete);
            let complete = expected.map(|expected| projections >= expected);
            return Progress::Projections { projections, projections_expected: expected, resampled_to: None, complete };
        }
        let Some(acquisition) = data.sweep().filter(|_| !self.info.job.iteration_scheme().by_iteration) else {
            let iteration = subiteration / self.info.num_subsets.max(1);
            let complete = iteration >= iterations_requested && !self.is_far(subiteration, iterations_requested);
            return Progress::Iterations { iteration, iterations_requested, subiteration, complete };
        };
        let (num_complete, expected) = acquisition.look(|sweep| (sweep.num_complete(), sweep.num_expected));
        // Two-stage FBP takes the whole sweep in one step, at its own directions.
        let is_resampled = self.info.job.is_one_step() && subiteration > 0 && subiteration != num_complete;
        let projections = if is_resampled { num_complete } else { subiteration };
        Progress::Projections {
            projections,
            projections_expected: expected,
            resampled_to: is_resampled.then_some(subiteration),
            complete: expected.map(|expected| projections >= expected),
        }
    }

    /// Returns true if a run of total variation ended at the default limit, far from a converged image.
    fn is_far(&self, subiteration: usize, iterations_requested: usize) -> bool {
        let settings = &self.info.job.settings;
        let ends_there =
            settings.algorithm.is_least_squares() && settings.algorithm.default_iterations() == Some(iterations_requested);
        let update = self.steps.get(&subiteration).and_then(|step| Some(step.ascent?.update));
        update.filter(|_| ends_there).is_some_and(|update| tv_settings(&settings.parameters).unconverged(update).is_some())
    }

    /// Returns the provenance of the image after this number of steps.
    pub fn provenance(&self, subiteration: usize, iterations_requested: usize, post_filter_fwhm_mm: Option<f64>) -> Provenance {
        let info = &self.info;
        let elapsed = self.up_to(subiteration).next().map_or(Duration::ZERO, |(_, step)| step.elapsed);
        let times = self.start.times_of(elapsed);
        let threads = info.job.settings.num_threads.unwrap_or_else(num_cores);
        let device = DeviceRecord { name: info.device.clone(), threads };
        let Study { origin, measured, .. } = &*info.job.study;
        let settings = &info.job.settings;
        let data = DataRecord::of_job(&info.job);
        let image = ImageRecord::new(info.job.grid(), info.job.iteration_scheme().unit);
        if let Some(series) = measured.images() {
            let shown = series.images.get(subiteration.saturating_sub(1)).filter(|_| series.num_images > 1);
            let data = DataRecord { frame: shown.map(FrameRecord::from), ..data };
            let pet = series.pet_image(subiteration.saturating_sub(1), series.pet.as_ref());
            let record = Provenance::new(ImageKind::Elsewhere, data, image, device, times);
            return Provenance { post_filter_fwhm_mm, pet, ..record };
        }
        let of_time = measured.oximetry().and_then(|series| {
            let time_us = series.times_us.get(subiteration.checked_sub(1)?)?;
            Some(format!("{}, {} {time_us} µs", data.title, series.time_name()))
        });
        let data = DataRecord { title: of_time.unwrap_or(data.title), ..data };
        let mut provenance = Provenance::new(ImageKind::Reconstruction, data, image, device, times);
        provenance.progress = Some(self.progress(subiteration, iterations_requested));
        provenance.stopped_by = self.rules.iter().find(|(step, _)| *step == subiteration).map(|(_, rule)| rule.clone());
        provenance.post_filter_fwhm_mm = post_filter_fwhm_mm;
        provenance.algorithm = Some(self.algorithm_record(subiteration));
        provenance.radical = RadicalRecord::first(settings.inputs.radicals.iter().map(|radical| radical.name.clone()).collect());
        if let Some(counts) = measured.counts() {
            provenance.corrections = Some(CorrectionRecord::new(origin, counts));
            // A tube is one path.
            let rays = rays_in_use(counts.geometry(), settings, &info.projector).unwrap_or([1, 1]);
            provenance.projector = Some(self.projector_record(rays, settings, subiteration));
        }
        if let Some(list) = measured.events() {
            let rays = rays_of_a_pair(&list.facts, &settings.grid, settings.rays);
            provenance.corrections = Some(CorrectionRecord::of_list(list));
            provenance.projector = Some(self.projector_record([rays.tangential, rays.axial], settings, subiteration));
        }
        provenance.matrix = settings.inputs.matrix.as_deref().map(MatrixRecord::new);
        provenance
    }

    /// Returns the record of the step that made an image, by an algorithm that climbs.
    fn ascent_record(&self, subiteration: usize) -> Option<AscentRecord> {
        let AscentReport { step_size, num_halved, update, .. } = self.up_to(subiteration).find_map(|(_, step)| step.ascent)?;
        let record = |(step, result): (&usize, &StepRecord)| {
            let value = result.ascent?.objective?;
            let (data_term, penalty) = (value.log_likelihood, value.penalty);
            Some(ObjectiveRecord { of_subiteration: step.saturating_sub(1), data_term, penalty })
        };
        let objective = self.up_to(subiteration).find_map(record);
        let spans = &self.tunings[..self.tunings.partition_point(|span| span.from_subiteration <= subiteration)];
        let switched = if spans.len() > 1 { spans.to_vec() } else { Vec::new() };
        let is_auto = self.info.job.settings.parameters.is(&BETA, AUTO);
        let beta_found = spans.first().filter(|_| is_auto).map(|span| span.tuning.strength);
        let is_by_noise = self.info.job.settings.algorithm.is_least_squares() && self.info.job.finds_strength();
        let lambda_found = spans.last().filter(|_| is_by_noise).map(|span| span.tuning.strength);
        let residual = self.optimalities.range(..=subiteration).next_back();
        let optimality = residual.map(|(&of_subiteration, &residual)| OptimalityRecord { of_subiteration, residual });
        let converged = optimality.map(|optimality| optimality.residual.has_converged());
        Some(AscentRecord { objective, optimality, converged, step_size, num_halved, update, beta_found, lambda_found, switched })
    }

    fn algorithm_record(&self, subiteration: usize) -> AlgorithmRecord {
        let settings = &self.info.job.settings;
        let entry = settings.algorithm.entry();
        let is_fbp = settings.algorithm.stages().is_some();
        let is_tv = settings.algorithm.is_least_squares();
        let em = EmRecord {
            subsets: self.info.num_subsets,
            start_image: if settings.inputs.init.is_some() { "given" } else { "uniform" }.to_owned(),
            racy_sensitivity: settings.has_racy_sensitivity(),
            race: self.race_at(subiteration),
            subset_rule: settings.subset_rule.map(SubsetRecord::from),
        };
        let fbp = FbpRecord { program: self.info.projector.clone() };
        let ascent = self.ascent_record(subiteration);
        // Those of the step that made the image.
        let mut parameters = settings.parameters.in_full(&settings.algorithm.settings());
        if let Some(tuning) = ascent.as_ref().and_then(|ascent| Some(ascent.switched.last()?.tuning)) {
            parameters.extend(settings.algorithm.parameters_of(tuning));
        }
        AlgorithmRecord {
            name: entry.key.to_owned(),
            em: (!is_fbp && !is_tv).then_some(em),
            fbp: is_fbp.then_some(fbp),
            explained: self.explained_by(subiteration).map(ExplainedRecord::from).unwrap_or_default(),
            ascent,
            replicates: settings.replicates(),
            parameters,
        }
    }

    fn projector_record(&self, rays_per_bin: [usize; 2], settings: &RunSettings, subiteration: usize) -> ProjectorRecord {
        let so_far = self.accumulations.iter().filter(|span| span.from_subiteration <= subiteration);
        let spans: Vec<AccumulationSpan> = so_far.copied().collect();
        ProjectorRecord {
            name: self.info.projector.clone(),
            rays_per_bin,
            fov_radius_mm: settings.fov_radius_mm,
            psf: settings.psf.clone(),
            tof: self.info.job.data().counts().and_then(|counts| TofRecord::of(counts, &settings.tof)),
            accumulation: spans.last().map_or(self.info.accumulation, |span| span.accumulation),
            tubes: ProjectorRecord::tubes_of(&self.info.projector, settings.inputs.tubes.as_deref()),
            accumulation_switched: if spans.len() > 1 { spans } else { Vec::new() },
        }
    }
}
