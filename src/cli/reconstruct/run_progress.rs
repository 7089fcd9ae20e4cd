//! Progress of a reconstruction on the command line: a bar on a terminal, or else lines; and at the end the times of the stages
//! and the loss by a race condition.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::cli::shared::console::{is_quiet, out, remark};
use crate::cli::shared::printed::text as matrix_text;
use crate::cli::shared::progress;
use crate::data::{Experiment, Sweep};
use crate::plan::{Acquisition, IterationScheme, RunSettings, StartInfo, filter_settings, rays_in_use, tv_settings};
use crate::recon::{Baseline, FilterSettings, ObjectiveValue, Optimality, RaceReport, StageTimes};
use crate::report::{Column, Columns};
use crate::session::IterateReport;
use crate::text::{bytes, counted};

/// A bar. Without a terminal on standard error: a line for each iteration, or for each tenth of the projections of an EPRI
/// acquisition.
pub struct Progress {
    bar: Option<ProgressBar>,
    course: IterationScheme,
    num_steps: usize,
    start: Instant,
    /// Tenths of the work with a printed line, without a bar.
    tenths: u64,
    /// Newest objective of an algorithm that climbs, with the complete iterations of its image.
    objective: Option<(usize, ObjectiveValue, Option<Optimality>)>,
}

impl Progress {
    /// Returns progress without steps.
    pub fn new(course: IterationScheme) -> Self {
        Self { bar: None, course, num_steps: 0, start: Instant::now(), tenths: 0, objective: None }
    }

    pub fn begin(&mut self, num_steps: usize) {
        (self.num_steps, self.start) = (num_steps, Instant::now());
        if std::io::stderr().is_terminal() && !is_quiet() {
            self.bar = Some(progress::bar(num_steps as u64, &format!("{} 0", self.course.counted)));
        }
    }

    /// Shows the end of a step.
    pub fn step(&mut self, report: &IterateReport, num_iterations: usize) {
        let done = report.subiteration as u64;
        let IterationScheme { counted, by_iteration, .. } = self.course;
        let number = self.course.number(report.iteration, report.subiteration);
        // A growing acquisition may have more steps than were known at the beginning.
        let all = if by_iteration { num_iterations } else { self.num_steps.max(number) };
        let position = format!("{counted} {number} of {all}{}", self.climbed(report));
        let is_shown = if by_iteration { report.completes_iteration } else { self.is_another_tenth(done, self.num_steps as u64) };
        self.show(position, done, is_shown.then_some(report.elapsed));
    }

    /// Returns size of the update and newest objective of an algorithm that climbs as the end of a phrase.
    fn climbed(&mut self, report: &IterateReport) -> String {
        let Some(ascent) = report.ascent else { return String::new() };
        let before = report.iteration - usize::from(report.completes_iteration);
        self.objective = ascent.objective.map(|value| (before, value, ascent.optimality)).or(self.objective);
        let objective = self.objective.map(|(iteration, value, optimality)| {
            let residual = optimality.map_or_else(String::new, |residual| format!(", optimality residual {}", residual.text()));
            format!(", objective {:.8e} after iteration {iteration} (penalty {:.3e}){residual}", value.total(), value.penalty)
        });
        format!(", update {:.2} %{}", 100.0 * ascent.update, objective.unwrap_or_default())
    }

    /// Shows the progress inside the only step of a run: the finished part and the total.
    pub fn inside(&mut self, (done, total): (u64, u64)) {
        if self.is_another_tenth(done, total) {
            let percent = 100 * done / total;
            let position = (self.num_steps as u64 * done) / total;
            self.show(format!("backprojection {percent} %"), position, Some(self.start.elapsed()));
        }
    }

    /// Returns true if another tenth of the work was completed since the last line.
    fn is_another_tenth(&mut self, done: u64, total: u64) -> bool {
        let tenths = (10 * done).checked_div(total).unwrap_or(0);
        let is_another = tenths > self.tenths;
        self.tenths = self.tenths.max(tenths);
        is_another
    }

    /// Moves the bar; without one, prints a line if there is a time.
    fn show(&self, position: String, done: u64, elapsed_now: Option<Duration>) {
        match (&self.bar, elapsed_now) {
            (Some(bar), _) => {
                bar.set_message(position);
                bar.set_position(done);
            }
            (None, Some(elapsed)) => remark!("{position}, {:.2} s since the start", elapsed.as_secs_f64()),
            (None, None) => {}
        }
    }

    /// Removes the bar.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Columns of a fact about a run: its name and value.
const FACT: Columns<2> = Columns([Column::words("", 14), Column::words("", 0)]);
/// Columns of a stage of the steps: its name, its time and its part of the total.
const STAGE: Columns<3> = Columns([Column::words("", 17), Column::numbers("", 11), Column::numbers("", 7)]);
/// Columns of the loss by a race condition: name and value.
const RACE: Columns<2> = Columns([Column::words("", 17), Column::words("", 0)]);

fn fact(name: &str, what: String) {
    out!("{}", FACT.line([name.to_owned(), what]));
}

/// Prints how the projections of an acquisition are filtered.
fn filter_facts(settings: &RunSettings, acquisition: &Acquisition) {
    let FilterSettings { filter, cutoff, baseline, interpolation } = filter_settings(&settings.parameters);
    let cutoff = cutoff.map_or("no cut-off".into(), |cutoff| format!("cut-off {cutoff}"));
    fact("algorithm", format!("FBP, filter {filter}, {cutoff}, {interpolation} interpolation"));
    if baseline != Baseline::None || acquisition.look(Sweep::is_continuous_wave) {
        fact("baseline", baseline.title().to_owned());
    }
}

/// Prints device, algorithm, image and memory of the run.
pub fn announce(info: &StartInfo, num_iterations: usize) {
    let grid = info.job.grid();
    let ([nx, ny, nz], [dx, dy, dz]) = (grid.size, grid.voxel_mm);
    fact("device", info.device.clone());
    fact(if info.job.data().sweep().is_some() { "program" } else { "projector" }, info.projector.clone());
    let settings = &info.job.settings;
    if let Some(counts) = info.job.data().counts()
        && let Some([tangential, axial]) = rays_in_use(counts.geometry(), settings, &info.projector)
        && [tangential, axial] != [1, 1]
    {
        fact("rays per LOR", format!("{tangential} × {axial}"));
    }
    if let Some(acquisition) = info.job.data().sweep() {
        let (num_points, num_complete) = acquisition.look(|sweep| (sweep.num_points, sweep.num_complete()));
        let is_filtered = !settings.algorithm.is_least_squares();
        let num_projections = if is_filtered { info.num_subsets } else { num_complete };
        fact("data", format!("{} of {}", counted(num_projections, "projection"), counted(num_points, "sample")));
        for Experiment { file, sweep, .. } in &settings.inputs.experiments {
            let amount = format!("{} of {}", counted(sweep.num_complete(), "projection"), counted(sweep.num_points, "sample"));
            fact("experiment", format!("{amount}, {}", file.display()));
        }
        match is_filtered {
            true => filter_facts(settings, acquisition),
            false => {
                let tv = tv_settings(&settings.parameters);
                let strength = if tv.is_by_noise() { "by the noise".to_owned() } else { tv.strength.unwrap_or(1.0).to_string() };
                let iterations = counted(num_iterations, "iteration");
                fact("algorithm", format!("total variation, strength λ {strength}, at most {iterations}"));
            }
        }
    } else {
        fact("accumulation", info.accumulation.to_string());
        let entry = settings.algorithm.entry();
        let subsets = if entry.has_subsets { format!(" with {}", counted(info.num_subsets, "subset")) } else { String::new() };
        let why = settings.why_subsets().map_or(String::new(), |reason| format!(" ({reason})"));
        fact("algorithm", format!("{}{subsets}, {}{why}", entry.label, counted(num_iterations, "iteration")));
        settings.inputs.matrix.iter().for_each(|matrix| fact("matrix", matrix_text(matrix)));
    }
    fact("image", format!("{nx} × {ny} × {nz} voxels of {dx:.4} × {dy:.4} × {dz:.4} mm"));
    let secs = info.estimate.secs_per_iteration.map_or(String::new(), |secs| format!(", about {} per iteration", duration(secs)));
    fact("needs", format!("about {}{secs}", bytes(info.estimate.memory_bytes)));
}

/// Sums over all steps: times of the stages, and losses by a race condition.
#[derive(Default)]
pub struct Totals {
    stages: StageTimes,
    num_steps: usize,
    elapsed: Duration,
    /// Number of non-atomic steps, the sums of their losses, and the last of them.
    num_racy: usize,
    lost: [f64; 2],
    last_race: Option<RaceReport>,
}

impl Totals {
    pub fn add(&mut self, report: &IterateReport) {
        self.stages += report.stages;
        self.num_steps += 1;
        self.elapsed = report.elapsed;
        if let Some(race) = report.race {
            self.num_racy += 1;
            self.lost[0] += race.lost;
            self.lost[1] += race.lost_of_ones;
            self.last_race = Some(race);
        }
    }

    pub fn num_steps(&self) -> usize {
        self.num_steps
    }

    pub fn print(&self) {
        out!("{} in {}", counted(self.num_steps, "step"), duration(self.elapsed.as_secs_f64()));
        let total = self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        for (stage, time) in self.stages.iter().filter(|(_, time)| !time.is_zero()) {
            let secs = time.as_secs_f64();
            out!("  {}", STAGE.line([stage.to_string(), duration(secs), format!("{:.0} %", 100.0 * secs / total)]));
        }
        let Some(last) = self.last_race else { return };
        let mean = |sum: f64| RaceReport::percent(sum / self.num_racy as f64);
        out!("race: {} added without atomics; the image is not for diagnosis", counted(self.num_racy, "step"));
        let last_lost = RaceReport::percent(last.lost);
        let largest = [last.lost_step_max, last.lost_voxel_max].map(RaceReport::percent);
        let lines = [
            ("lost", format!("{} of the additions (mean; {last_lost} in the last step)", mean(self.lost[0]))),
            ("lost of ones", format!("{} of a backprojection of ones (mean)", mean(self.lost[1]))),
            ("lost so far", format!("up to {} of a step, up to {} of a voxel", largest[0], largest[1])),
            ("image level", format!("{} of a race-free step's", RaceReport::percent(last.level))),
        ];
        for (name, what) in lines {
            out!("  {}", RACE.line([name.to_owned(), what]));
        }
    }
}

/// Returns a time with about three digits.
pub fn duration(secs: f64) -> String {
    match secs {
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s if s < 120.0 => format!("{s:.2} s"),
        s => format!("{:.1} min", s / 60.0),
    }
}
