//! A running reconstruction on the command line: progress, the table of numbers, and the outputs at its halts and its end.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::options::ReconstructOptions;
use super::processes::must_write;
use super::reference_image::ReferenceImage;
use super::replicates::region_lines;
use super::run_progress::{Progress, Totals, announce};
use super::uptake::quantity::Quantity;
use crate::cli::shared::console::{err, out};
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::notices;
use crate::cli::shared::paths::numbered;
use crate::data::{FieldAxis, Notice, Roi, Sweep, SweepKind, ValueScale, Volume};
use crate::io::before_ending;
use crate::io::dicom::SeriesContext;
use crate::io::measurements::{Measurement, MeasurementWriter};
use crate::io::nifti::{self, FourthAxis};
use crate::plan::{AUTO, Acquisition, ImageKind, IterationScheme, Job, OPTIMALITY, Provenance, StartInfo, tv_settings};
use crate::recon::{Explained, Optimality, TvSettings, gaussian_filter};
use crate::session::{
    Control, EndReason, Event, EventKind, IterateReport, IterateUpdate, RunId, RunRecord, RunTable, Session, Volumes, VolumesOf,
};

/// A running reconstruction.
pub(in crate::cli) struct Work<'a> {
    options: &'a ReconstructOptions,
    /// Full iterations to reach.
    target: usize,
    course: IterationScheme,
    /// Expected number of projections of an EPRI acquisition, if it is known.
    num_expected: Option<usize>,
    /// EPRI acquisition of an algorithm that iterates over all its projections.
    acquisition: Option<Acquisition>,
    num_subsets: usize,
    rois: Vec<Roi>,
    /// Quantity of the written images.
    quantity: Quantity,
    /// The table of measured numbers, or the error that ended it.
    table: CliResult<Option<MeasurementWriter>>,
    /// Error of the first image of an iteration that was not written.
    unsaved: Option<CliError>,
    /// Converter of numbers to its rows, once the run has started.
    rows: Option<RunTable>,
    record: Option<RunRecord>,
    reference: Option<ReferenceImage>,
    pub progress: Progress,
    totals: Totals,
    /// True if a signal came.
    pub interrupted: bool,
    /// Full iterations of the last image.
    iteration: usize,
    /// Settings of total variation, and the size of its last step.
    tv: Option<TvSettings>,
    update: Option<f64>,
    /// Part of the data that the last image explains, and whether its step was non-atomic.
    explained: Option<Explained>,
    /// Distance of the last image from the maximum of its objective.
    optimality: Option<Optimality>,
    /// True of the image of a penalised likelihood.
    is_penalised: bool,
    has_race: bool,
    /// True if the run finds the strength of the penalty, and that strength.
    finds_strength: bool,
    /// Optimality residual that was asked for.
    tolerance: Option<f64>,
    strength: Option<f64>,
    /// The rule that stopped the run, and its value.
    stopped_by: Option<String>,
    /// Last step of a run with replicates.
    last_step: Option<IterateReport>,
    /// The last image, whose standard deviations are being measured, and whether it is complete.
    last_image: Option<(IterateUpdate, bool)>,
    /// Fields of the spectra in each voxel, if there are any.
    spectra: Option<FieldAxis>,
    /// Names of the radicals that have an image each.
    radicals: Vec<String>,
    /// Number of the radical whose image is being written.
    radical: usize,
    /// Receiver of the image of every full iteration, in place of written images.
    observer: Option<Observer<'a>>,
    /// Full iterations of the last observed image.
    observed: usize,
}

/// Receiver of the images of a run. An error ends the run.
pub(in crate::cli) type Observer<'a> = &'a mut dyn FnMut(&IterateUpdate) -> CliResult;

impl<'a> Work<'a> {
    /// Returns a job before its first step, with the expected number of projections of an EPRI acquisition, if it is known.
    pub fn new(
        options: &'a ReconstructOptions,
        job: &Job,
        num_expected: Option<usize>,
        rois: Vec<Roi>,
        table: Option<MeasurementWriter>,
        reference: Option<ReferenceImage>,
        quantity: Quantity,
    ) -> Self {
        Self {
            options,
            target: job.num_iterations(),
            course: job.iteration_scheme(),
            // (Iterations have no number that the data give.)
            num_expected: num_expected.filter(|_| !job.iteration_scheme().by_iteration),
            acquisition: job.data().sweep().filter(|_| job.iteration_scheme().by_iteration).cloned(),
            num_subsets: 1,
            rois,
            quantity,
            table: Ok(table),
            unsaved: None,
            rows: None,
            record: None,
            reference,
            progress: Progress::new(job.iteration_scheme()),
            totals: Totals::default(),
            interrupted: false,
            iteration: 0,
            tv: (job.settings.algorithm.is_least_squares()).then(|| tv_settings(&job.settings.parameters)),
            update: None,
            explained: None,
            optimality: None,
            is_penalised: job.settings.algorithm.has_penalty(),
            has_race: false,
            finds_strength: job.finds_strength(),
            tolerance: job.settings.parameters.number(&OPTIMALITY).filter(|_| job.settings.algorithm.has_penalty()),
            strength: None,
            stopped_by: None,
            last_step: None,
            last_image: None,
            spectra: job.spectral_axis(),
            radicals: job.settings.inputs.radicals.iter().map(|radical| radical.name.clone()).collect(),
            radical: 0,
            observer: None,
            observed: 0,
        }
    }

    /// Passes the image of every full iteration to a receiver, and writes none.
    pub fn observed_by(self, observer: Option<Observer<'a>>) -> Self {
        Self { observer, ..self }
    }

    /// Returns the iteration after `iteration` at which an image is written, compared or observed.
    pub fn next_halt(&self, iteration: usize) -> usize {
        let to_compare = (self.reference.is_some() || self.observer.is_some()).then_some(1);
        let every = to_compare.or(self.options.save_every.map(|n| n as usize)).unwrap_or(usize::MAX);
        (iteration / every).saturating_add(1).saturating_mul(every).min(self.target)
    }

    pub fn handle(&mut self, session: &Session, event: Event) -> CliResult<Option<Done>> {
        match event.kind {
            EventKind::Started(info) => self.started(event.run, &info),
            EventKind::Iterate(report) => self.iterate(&report),
            EventKind::Explained { subiteration, explained } => self.explained(subiteration, explained),
            EventKind::Optimality { subiteration, residual } => self.optimality(subiteration, residual),
            EventKind::RuleMet(words) => self.rule_met(words),
            EventKind::Notice(notice) => notices::print(&[notice]),
            EventKind::Ended(reason) => return self.ended(session, reason),
            EventKind::Failed(problem) => return self.failed(session, problem.into()).map(Some),
            EventKind::Volumes { .. } => return self.take_volumes(session),
            EventKind::Measured(_)
            | EventKind::Oxygen(_)
            | EventKind::OxygenRedraw(_)
            | EventKind::Paused
            | EventKind::Resumed => {}
        }
        Ok(None)
    }

    fn started(&mut self, run: RunId, info: &StartInfo) {
        self.num_subsets = info.num_subsets;
        self.record = Some(RunRecord::new(info.clone()));
        announce(info, self.target);
        self.progress.begin(self.target * info.num_subsets);
        let rows = RunTable::of(run, info);
        self.tabulate(&rows.first_rows());
        self.rows = Some(rows);
    }

    fn explained(&mut self, subiteration: usize, explained: Explained) {
        self.explained = Some(explained);
        if let Some(record) = &mut self.record {
            record.explained(subiteration, explained);
        }
        if let Some(rows) = self.rows.filter(|_| self.table.is_ok()) {
            self.tabulate(&rows.explained_rows([self.iteration, subiteration], explained));
        }
    }

    fn optimality(&mut self, subiteration: usize, residual: Optimality) {
        self.optimality = Some(residual);
        if let Some(record) = &mut self.record {
            record.optimality(subiteration, residual);
        }
        if let Some(rows) = self.rows.filter(|_| self.table.is_ok()) {
            self.tabulate(&[rows.optimality_row(subiteration, residual)]);
        }
    }

    fn iterate(&mut self, report: &IterateReport) {
        (self.explained, self.has_race) = (report.explained, report.race.is_some());
        (self.iteration, self.optimality) = (report.iteration, None);
        self.update = report.ascent.map(|ascent| ascent.update);
        self.totals.add(report);
        let ascent = report.ascent.filter(|_| self.finds_strength);
        self.strength = ascent.map(|ascent| ascent.tuning.strength).or(self.strength);
        if let Some(record) = &mut self.record {
            record.add(report);
        }
        self.progress.step(report, self.target);
        self.last_step = (!report.roi_deviations.is_empty()).then(|| report.clone());
        if let Some(rows) = self.rows.filter(|_| self.table.is_ok()) {
            self.tabulate(&rows.rows(report, &self.rois));
        }
    }

    fn rule_met(&mut self, words: String) {
        if let Some(record) = &mut self.record {
            record.stopped_by(&words);
        }
        self.stopped_by = Some(words);
    }

    /// Adds rows to the table. A failed table ends, but not the reconstruction.
    fn tabulate(&mut self, rows: &[Measurement]) {
        let Ok(Some(table)) = &mut self.table else { return };
        if let Err(error) = table.write(rows) {
            let text = format!("the table of measured numbers is not complete: {error}");
            notices::print(&[Notice::warning(format!("{text}; the reconstruction continues"))]);
            self.table = Err(CliError::failed(Failure::Output, text));
        }
    }

    /// Writes the outputs of a halt, and continues if there is more to do.
    fn ended(&mut self, session: &Session, reason: EndReason) -> CliResult<Option<Done>> {
        if self.options.num_replicates().is_some()
            && let Some((frame, complete)) = self.last_image.take()
        {
            // A signal stopped the measurement of its standard deviations.
            return self.finish(session, frame, complete, None);
        }
        let Some(frame) = session.take_frame().filter(|frame| frame.id.subiteration > 0) else {
            return Err(CliError::failed(Failure::NoImage, "stopped before the first step was complete; nothing was written"));
        };
        // A run that a rule has stopped is complete.
        let complete = reason == EndReason::Completed || self.stopped_by.is_some();
        if let (Some(reference), Some(rows)) = (&self.reference, self.rows) {
            let rows: Vec<Measurement> = reference.compare(&frame).iter().flat_map(|found| rows.comparison_rows(found)).collect();
            self.tabulate(&rows);
        }
        if let Some(observer) = &mut self.observer
            && frame.id.iteration > self.observed
            && frame.id.subiteration.is_multiple_of(self.num_subsets)
        {
            self.observed = frame.id.iteration;
            observer(&frame)?;
        }
        if complete && self.options.save_every.is_some_and(|every| frame.id.iteration.is_multiple_of(every as usize)) {
            self.save(&frame);
        }
        if complete && frame.id.iteration < self.target && self.stopped_by.is_none() && !self.interrupted {
            session.send(Control::SetIterations(self.next_halt(frame.id.iteration)));
            session.return_frame(frame);
            return Ok(None);
        }
        if self.options.num_replicates().is_some() {
            session.send(Control::ReadVolumes(VolumesOf::Deviation(self.options.post_filter_mm)));
            self.last_image = Some((frame, complete));
            return Ok(None);
        }
        if self.radicals.len() > 1 || self.spectra.is_some() {
            session.send(Control::ReadVolumes(VolumesOf::Coupled));
            self.last_image = Some((frame, complete));
            return Ok(None);
        }
        self.finish(session, frame, complete, None)
    }

    /// Writes the image of an iteration. A failure does not end the reconstruction.
    fn save(&mut self, frame: &IterateUpdate) {
        let path = numbered(&self.options.output, frame.id.iteration, self.target);
        if let Err(error) = self.write(frame, &path, &[&path], None) {
            let text = format!("the image of iteration {} was not written: {error}", frame.id.iteration);
            notices::print(&[Notice::warning(format!("{text}; the reconstruction continues"))]);
            self.unsaved.get_or_insert(CliError::failed(Failure::Output, text));
        }
    }

    /// Writes the outputs of a run of coupled images: an image of each radical; or the amplitudes, and the spectra as one file.
    fn write_coupled(
        &mut self,
        session: &Session,
        (frame, complete): (IterateUpdate, bool),
        volumes: &[Volume],
    ) -> CliResult<Option<Done>> {
        self.progress.end();
        if let Some(axis) = self.spectra {
            self.write_last(&frame, &self.options.output)?;
            self.write_spectra(&frame, volumes, axis)?;
        }
        for (index, (name, volume)) in self.radicals.clone().iter().zip(volumes).enumerate() {
            self.radical = index;
            let path = before_ending(&self.options.output, &format!("_{name}"));
            let frame = IterateUpdate { volume: Arc::new(volume.clone()), ..frame.clone() };
            match index {
                // (Regions are measured in the image of the first.)
                0 => self.write_last(&frame, &path)?,
                _ => drop(self.write(&frame, &path, &[&path], None)?),
            }
        }
        self.end(session, frame, complete)
    }

    /// Writes the spectra of all voxels, and their record.
    fn write_spectra(&self, frame: &IterateUpdate, volumes: &[Volume], axis: FieldAxis) -> CliResult {
        let (Some(record), Some(path)) = (&self.record, self.options.spectra_path()) else { return Ok(()) };
        let gradient = |sweep: &Sweep| match sweep.kind {
            SweepKind::ContinuousWave { gradient_mt_per_mm, .. } => Some(gradient_mt_per_mm),
            SweepKind::Pulse => None,
        };
        let gradient_mt_per_mm = self.acquisition.as_ref().and_then(|acquisition| acquisition.look(gradient));
        let provenance = self.provenance(record, frame, &frame.volume, &[&path]);
        let record = Provenance { spectra: Some(axis), gradient_mt_per_mm, ..provenance };
        nifti::write_series(&path, volumes, FourthAxis::Field(axis), &record.description())?;
        notices::print(record.write_beside(&path).as_slice());
        let FieldAxis { num_samples, step_mt, .. } = axis;
        out!("{}: spectra of {num_samples} samples, {step_mt:.4} mT apart", path.display());
        Ok(())
    }

    /// Writes the outputs of a run with volumes besides its image.
    fn take_volumes(&mut self, session: &Session) -> CliResult<Option<Done>> {
        let Some(Volumes { of, volumes, .. }) = session.take_volumes().pop() else { return Ok(None) };
        let Some((frame, complete)) = self.last_image.take() else { return Ok(None) };
        match of {
            VolumesOf::Deviation(_) | VolumesOf::Oxygen => {
                self.finish(session, frame, complete, volumes.first().map(|volume| &**volume))
            }
            VolumesOf::Coupled => {
                let volumes: Vec<Volume> = volumes.into_iter().map(Arc::unwrap_or_clone).collect();
                self.write_coupled(session, (frame, complete), &volumes)
            }
        }
    }

    /// Writes the outputs of the end: the image, and its standard deviations.
    fn finish(
        &mut self,
        session: &Session,
        frame: IterateUpdate,
        complete: bool,
        deviation: Option<&Volume>,
    ) -> CliResult<Option<Done>> {
        self.progress.end();
        self.write_last(&frame, &self.options.output)?;
        if let Some(path) = self.options.deviation_path() {
            self.write_deviation(&frame, &path, deviation)?;
        }
        self.end(session, frame, complete)
    }

    /// Prints the end of a run and its totals.
    fn end(&mut self, session: &Session, frame: IterateUpdate, complete: bool) -> CliResult<Option<Done>> {
        match &self.stopped_by {
            Some(words) => out!("{words}"),
            None if !complete => out!("stopped by hand after {}", self.position(&frame)),
            None => {}
        }
        if let Some(strength) = self.strength {
            match self.course.has_objective {
                true => out!("strength λ by the noise: {strength:.4e}"),
                false => out!("strength of the penalty, from --beta {AUTO}: {strength:.4e}"),
            }
        }
        if let Some(explained) = self.explained {
            out!("the image explains {}", explained.text());
        }
        self.totals.print();
        std::mem::replace(&mut self.table, Ok(None))?;
        self.unsaved.take().map_or(Ok(()), Err)?;
        let done = self.done(&frame);
        session.return_frame(frame);
        Ok(Some(done))
    }

    /// Returns true if the image is far from the maximum of its objective, or farther than was asked for; prints the latter.
    fn is_far(&self) -> bool {
        let Some(residual) = self.optimality else { return false };
        let tolerance = self.tolerance.filter(|tolerance| residual.0 > *tolerance && self.stopped_by.is_none());
        if let Some(tolerance) = tolerance {
            err!("warning: the optimality residual is {}; --tolerance is {}", residual.text(), Optimality(tolerance).text());
        }
        tolerance.is_some() || residual.is_far()
    }

    /// Returns true if total variation ended at its default limit, far from a converged image; prints how far, also at another limit.
    fn is_unconverged(&self) -> bool {
        let Some((tv, update)) = self.tv.zip(self.update).filter(|_| self.stopped_by.is_none()) else { return false };
        let Some(text) = tv.distance(update) else { return false };
        let (is_default, is_far) = (self.options.iterations.is_none(), tv.unconverged(update).is_some());
        let text = format!(
            "{} after {}: {text}",
            if is_far { "not converged" } else { "nearly converged" },
            self.course.text(self.iteration)
        );
        notices::print(&[if is_default && is_far { Notice::warning(text) } else { Notice::info(text) }]);
        is_default && is_far
    }

    /// Returns the outcome of an image; prints the missing part.
    fn done(&self, frame: &IterateUpdate) -> Done {
        // The session reported values that are not finite at their beginning, and missing data at its end.
        let is_no_result = self.explained.is_some_and(|explained| explained.is_no_result(self.is_penalised)) && !self.has_race;
        if self.is_unconverged() || is_no_result || self.is_far() || frame.volume.not_finite().is_some() {
            return Done::Partial;
        }
        let missing = self.acquisition.as_ref().and_then(|acquisition| {
            let [complete, expected] = acquisition.look(|sweep| Some([sweep.num_complete(), sweep.num_expected?]))?;
            (complete < expected).then_some([complete, expected])
        });
        if let Some([complete, expected]) = missing {
            err!("warning: the image holds {complete} of {expected} projections");
            return Done::Partial;
        }
        let held = self.course.number(frame.id.iteration, frame.id.subiteration);
        let requested = match self.num_expected {
            None if self.course.can_grow => return Done::Complete,
            expected => expected.unwrap_or(self.target),
        };
        if held >= requested || self.stopped_by.is_some() {
            return Done::Complete;
        }
        err!("warning: the image holds {held} of {}", self.course.text(requested));
        Done::Partial
    }

    /// Writes the last good image of a failed run.
    fn failed(&mut self, session: &Session, error: CliError) -> CliResult<Done> {
        self.progress.end();
        let last_image = self.last_image.take().map(|(frame, _)| frame).or_else(|| session.take_frame());
        let Some(frame) = last_image.filter(|frame| frame.id.subiteration > 0) else {
            let is_lost = self.totals.num_steps() > 0;
            let lost = if is_lost { " (the last image is lost; --save-every keeps some on the way)" } else { "" };
            return Err(error.with_text(|text| format!("{text}{lost}")));
        };
        match self.write_last(&frame, &self.options.output) {
            Ok(()) if self.observer.is_some() => return Err(error),
            Ok(()) => {
                err!("tomoscope: {error} (the image after {} was written)", self.position(&frame));
                if let Some(path) = self.options.deviation_path() {
                    self.write_deviation(&frame, &path, None)?;
                }
            }
            Err(second) => {
                return Err(error.with_text(|text| format!("{text} (and its last image could not be written: {second})")));
            }
        }
        Ok(Done::Partial)
    }

    /// Returns the position of a run at an image.
    fn position(&self, frame: &IterateUpdate) -> String {
        if !self.course.by_iteration {
            return self.course.text(frame.id.subiteration);
        }
        match frame.id.subiteration % self.num_subsets {
            0 => format!("iteration {}", frame.id.iteration),
            subset => format!("iteration {} and {subset} of {} subsets", frame.id.iteration, self.num_subsets),
        }
    }

    /// Writes the image, and its record: next to the image, next to the table, and on standard output if that is requested.
    fn write_last(&self, frame: &IterateUpdate, image: &Path) -> CliResult {
        if self.observer.is_some() {
            return Ok(());
        }
        let table = self.options.csv.as_deref();
        let files: Vec<&Path> = [image].into_iter().chain(table).collect();
        let provenance = self.write(frame, image, &files, self.options.request.as_deref())?;
        if let Some(table) = table {
            notices::print(provenance.write_beside(table).as_slice());
        }
        if self.options.json {
            self.options.print_json(&provenance)?;
        }
        Ok(())
    }

    /// Writes an image and its record, which names all these files. The record of the last image also contains the fingerprint of
    /// the request.
    fn write(&self, frame: &IterateUpdate, path: &Path, files: &[&Path], request: Option<&str>) -> CliResult<Provenance> {
        let record = self.record.as_ref().ok_or_else(|| CliError::failed(Failure::Internal, "the run was never set up"))?;
        let filtered = self.options.post_filter_mm.map(|fwhm_mm| gaussian_filter(&frame.volume, fwhm_mm));
        let volume = self.calibrated(filtered.as_ref().unwrap_or(&frame.volume));
        let (volume, provenance) = (&*volume, self.provenance(record, frame, &volume, files));
        let context = SeriesContext { is_anonymous: self.options.anonymise, ..SeriesContext::default() };
        if self.options.is_helper && !must_write(path) {
            return Ok(provenance);
        }
        let request = request.filter(|_| provenance.is_whole());
        let (provenance, notice) = match request {
            Some(request) => provenance.write_sealed_image(path, volume, &context, request)?,
            None => {
                let notice = provenance.write_image_in(path, volume, &context)?;
                (provenance, notice)
            }
        };
        notices::print(notice.as_slice());
        let likeness = self.reference.as_ref().map_or_else(String::new, |reference| reference.text(frame));
        out!("{}: the image after {}{likeness}", path.display(), self.position(frame));
        if let Some(text) = volume.high_uptake() {
            notices::print(&[Notice::warning(text)]);
        }
        Ok(provenance)
    }

    /// Returns an image in the quantity of the written ones.
    fn calibrated<'v>(&self, volume: &'v Volume) -> Cow<'v, Volume> {
        self.quantity.scale.map_or(Cow::Borrowed(volume), |scale| Cow::Owned(volume.converted(scale)))
    }

    /// Returns the record of a written image of the run, which names all these files.
    fn provenance(&self, record: &RunRecord, frame: &IterateUpdate, volume: &Volume, files: &[&Path]) -> Provenance {
        let provenance = record.provenance(frame.id.subiteration, self.target, self.options.post_filter_mm);
        let Quantity { pet, bq_per_ml, .. } = &self.quantity;
        let radical = provenance.radical.clone().map(|radical| radical.numbered(self.radical));
        let provenance = Provenance { calibration_bq_per_ml: *bq_per_ml, pet: pet.clone(), radical, ..provenance };
        let provenance = provenance.of_image(volume).beside(files.iter().copied()).from_start_image(self.options.init.as_deref());
        if self.options.anonymise { provenance.anonymised() } else { provenance }
    }

    /// Writes the standard deviations of the last image, and prints those of the ROIs.
    fn write_deviation(&self, frame: &IterateUpdate, path: &Path, deviation: Option<&Volume>) -> CliResult {
        let (Some(record), Some(deviation)) = (&self.record, deviation) else {
            let text = format!("{}: not written, as the last step was interrupted", path.display());
            notices::print(&[Notice::warning(text)]);
            return Ok(());
        };
        let volume = self.calibrated(deviation);
        let made = ImageKind::Deviation;
        let provenance = Provenance { made, ..self.provenance(record, frame, &volume, &[path]) };
        if !self.options.is_helper || must_write(path) {
            notices::print(provenance.write_image(path, &volume)?.as_slice());
            out!("{}: its standard deviations", path.display());
        }
        if let (Some(step), Some(num)) = (&self.last_step, self.options.num_replicates()) {
            let scale = self.quantity.scale.unwrap_or(ValueScale::own(frame.volume.unit));
            region_lines(num, step, &self.rois, scale).into_iter().for_each(|line| out!("{line}"));
        }
        Ok(())
    }
}
