//! Tables 2, 3, 4 and 7 and figure 6: times of an iteration and of its stages, and speed-ups over one thread of the
//! processor that runs the paper's program.

use super::{Row, Sources};
use crate::measure::median_and_spread;
use crate::report::Tables;
use crate::report::Value;
use crate::reproduce::ReproduceError;
use crate::reproduce::belzunce_2012::implementation::{Implementation, PaperColumn};
use crate::reproduce::belzunce_2012::measure::{Run, Step};
use crate::reproduce::belzunce_2012::plan::Image;
use crate::reproduce::belzunce_2012::published;
use crate::reproduce::belzunce_2012::stages::Work;
use crate::reproduce::belzunce_2012::studies::Scan;

/// Marks times that were measured on some of the views.
const SCALED: &str = "*";
/// Marks the cells in which tables 2 and 4 disagree.
const DISAGREES: &str = "!";
/// Row of the paper's other number for the same thing.
const BY_STAGES: &str = "GTX480 with atomics, by table 4";

impl Run {
    /// Median and spread of a time over all steps but the first, which touches memory for the first time.
    pub(in crate::reproduce::belzunce_2012) fn secs(&self, of: impl Fn(&Step) -> f64) -> (f64, f64) {
        let first = usize::from(self.steps.len() > 1);
        median_and_spread(self.steps[first..].iter().map(of).collect()).unwrap_or((f64::NAN, f64::NAN))
    }
}

/// The measured times of one image.
struct OfImage {
    runs: Vec<(Implementation, Option<Run>)>,
}

impl OfImage {
    fn load(measured: &Sources, image: &Image) -> Result<Self, ReproduceError> {
        let load = |one: Implementation| Ok((one, measured.run(&Work::Times(image.clone(), one))?));
        let runs: Result<_, ReproduceError> = Implementation::of_times(measured.device).into_iter().map(load).collect();
        Ok(Self { runs: runs? })
    }

    fn run(&self, implementation: &Implementation) -> Option<&Run> {
        self.runs.iter().find(|(one, _)| one == implementation)?.1.as_ref()
    }

    /// The time of one thread with the paper's program.
    fn baseline(&self, of: impl Fn(&Step) -> f64) -> Option<f64> {
        Some(self.run(&Implementation::paper_cpu())?.secs(of).0)
    }
}

fn mark(run: &Run) -> &'static str {
    if run.view_step > 1 { SCALED } else { "" }
}

/// Adds the tables.
pub(super) fn add(measured: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let images = &measured.plan.images;
    let times: Result<Vec<OfImage>, _> = images.iter().map(|image| OfImage::load(measured, image)).collect();
    let times = times?;
    let Some(cpu) = times.iter().find_map(|of_image| of_image.run(&Implementation::paper_cpu())) else { return Ok(()) };
    let part = format!("{SCALED} measured on every {}th view and scaled to all", cpu.view_step);
    let part = (cpu.view_step > 1).then_some(part);
    let remarks: Vec<String> = [devices(&times)].into_iter().chain(part).collect();
    let disagreement = "! The paper disagrees with itself: 16.7 s in table 2 (and 23.7 in table 3) for 256x256, full FOV, with \
atomics, but 6.1 + 17.2 = 23.3 s in table 4, which is what table 2 gives for 20 cm: the two may be exchanged.";
    let with = |remark: &str| [remarks.clone(), vec![remark.to_owned()]].concat();
    let of_paper = |remark: &str| if tables.without_paper { remarks.clone() } else { with(remark) };
    let (seconds, ratios) = (iterations(measured, &times), speed_ups(measured, &times));
    let (of_seconds, of_ratios) = (of_paper(disagreement), of_paper("! See table 2."));
    tables.add("Table 2. Time of an iteration", seconds, of_seconds);
    tables.add("Table 3. Speed-up over one thread of the CPU, per-lor", ratios, of_ratios);
    let full = &times[1];
    tables.add(
        format!("Table 4. Time of each stage, {}", measured.plan.full_image().title),
        stages(full),
        with("Ratio: measured over estimated data; the paper has no time for it."),
    );
    tables.add(
        format!("Table 7. Speed-up of each stage over one thread of the CPU, {}", measured.plan.full_image().title),
        stage_speed_ups(full),
        remarks.clone(),
    );
    tables.add(format!("Figure 6. Share of each stage, {}", measured.plan.full_image().title), shares(full), remarks);
    add_totals(measured, tables)
}

/// Whole reconstructions, for which the paper gives no times.
fn add_totals(measured: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for one in Implementation::of_images(measured.plan, measured.device) {
        for image in &measured.plan.images {
            let Some(run) = measured.run(&Work::Image(Scan::Iq, image.clone(), one))? else { continue };
            let row = Row { here: one.title(), paper: None };
            let here = Some(run.elapsed_s - run.steps.iter().map(|step| step.race_s).sum::<f64>());
            values.push(Value { here, ..row.value("total", image.title, "s") });
        }
    }
    let remark = "From the scan to the last image, both in the computer's memory: setting up with a trial, the sensitivity, all \
iterations; not what measuring the race takes.";
    let title = format!("Time of all {} iterations, {}", measured.plan.num_iterations, Scan::Iq.title());
    tables.add(title, values, vec![remark.into()]);
    Ok(())
}

/// The devices in words.
fn devices(times: &[OfImage]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (_, run) in times.iter().flat_map(|of_image| &of_image.runs) {
        names.extend(run.iter().map(|run| run.device.as_str()).filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    format!("Here: {}.", names.join("; "))
}

/// Whether the paper's number for this column and image is the doubtful one.
fn is_doubtful(measured: &Sources, row: &Row, image: usize) -> bool {
    row.paper == Some(PaperColumn::Gtx480Atomics) && image > 0 && !measured.plan.images.is_empty()
}

/// The rows of all implementations with a time.
fn rows(implementations: impl Iterator<Item = Implementation>) -> Vec<(Implementation, Row)> {
    implementations.flat_map(|one| Row::all(&one, one.paper_columns_of_times()).into_iter().map(move |row| (one, row))).collect()
}

fn iterations(measured: &Sources, times: &[OfImage]) -> Vec<Value> {
    let mut values = Vec::new();
    for (one, row) in rows(Implementation::of_times(measured.device).into_iter()) {
        for (index, (image, of_image)) in measured.plan.images.iter().zip(times).enumerate() {
            let mut value = row.value("2", image.title, "s");
            value.paper = row.published(published::ITERATION_S, index);
            if let Some(run) = of_image.run(&one).filter(|_| row.is_ours()) {
                let (secs, spread) = run.secs(Step::iteration_s);
                (value.here, value.spread, value.mark) = (Some(secs), Some(spread), mark(run));
            }
            value.paper_mark = if is_doubtful(measured, &row, index) { DISAGREES } else { "" };
            values.push(value);
        }
    }
    let by_stages = published::of(published::STAGE_S, PaperColumn::Gtx480Atomics).map(|secs| secs.iter().sum());
    values.push(other_number(measured, "2", "s", by_stages));
    values
}

/// The paper's second number for 256² with atomics.
fn other_number(measured: &Sources, table: &'static str, unit: &'static str, paper: Option<f64>) -> Value {
    let row = Row { here: String::new(), paper: None };
    let value = row.value(table, measured.plan.full_image().title, unit);
    Value { paper_row: BY_STAGES.into(), paper, paper_mark: DISAGREES, ..value }
}

fn speed_ups(measured: &Sources, times: &[OfImage]) -> Vec<Value> {
    let mut values = Vec::new();
    let others = Implementation::of_times(measured.device).into_iter().filter(|one| *one != Implementation::paper_cpu());
    for (one, row) in rows(others) {
        for (index, (image, of_image)) in measured.plan.images.iter().zip(times).enumerate() {
            let mut value = row.value("3", image.title, "x");
            value.paper = row.published(published::SPEED_UP, index);
            if let Some(run) = of_image.run(&one).filter(|_| row.is_ours()) {
                value.here = of_image.baseline(Step::iteration_s).map(|cpu| cpu / run.secs(Step::iteration_s).0);
                value.mark = of_image.run(&Implementation::paper_cpu()).map_or("", mark);
            }
            value.paper_mark = if is_doubtful(measured, &row, index) { DISAGREES } else { "" };
            values.push(value);
        }
    }
    let secs = |table, column| published::of(table, column).map(|secs: [f64; 3]| secs);
    let cpu = secs(published::ITERATION_S, PaperColumn::I7).map(|secs| secs[1]);
    let gpu = secs(published::STAGE_S, PaperColumn::Gtx480Atomics).map(|secs| secs.iter().sum::<f64>());
    values.push(other_number(measured, "3", "x", cpu.zip(gpu).map(|(cpu, gpu)| cpu / gpu)));
    values
}

/// A stage of an iteration.
struct StageColumn {
    name: &'static str,
    /// Its place in the paper's table 4.
    published: Option<usize>,
    secs: fn(&Step) -> f64,
    /// Whether it goes through the data, so that its time depends on the views that are measured.
    is_of_views: bool,
}

const FORWARD: StageColumn = StageColumn { name: "forward", published: Some(0), secs: |step| step.forward_s, is_of_views: true };
const RATIO: StageColumn = StageColumn { name: "ratio", published: None, secs: |step| step.ratio_s, is_of_views: true };
const BACKPROJECTION: StageColumn =
    StageColumn { name: "backprojection", published: Some(1), secs: |step| step.backprojection_s, is_of_views: true };
const NORMALISATION: StageColumn =
    StageColumn { name: "normalisation", published: Some(2), secs: |step| step.update_s, is_of_views: false };

/// In the order of the tables.
const STAGES: [StageColumn; 4] = [FORWARD, RATIO, BACKPROJECTION, NORMALISATION];

fn stages(times: &OfImage) -> Vec<Value> {
    let mut values = Vec::new();
    for (one, row) in rows(times.runs.iter().map(|(one, _)| *one)) {
        for stage in STAGES {
            let mut value = row.value("4", stage.name, "s");
            value.paper = stage.published.and_then(|column| row.published(published::STAGE_S, column));
            if let Some(run) = times.run(&one).filter(|_| row.is_ours()) {
                let (secs, spread) = run.secs(stage.secs);
                (value.here, value.spread) = (Some(secs), Some(spread));
                value.mark = if stage.is_of_views { mark(run) } else { "" };
            }
            values.push(value);
        }
    }
    values
}

fn stage_speed_ups(times: &OfImage) -> Vec<Value> {
    let mut values = Vec::new();
    let others = times.runs.iter().map(|(one, _)| *one).filter(|one| *one != Implementation::paper_cpu());
    for (one, row) in rows(others) {
        for (column, stage) in [FORWARD, BACKPROJECTION].into_iter().enumerate() {
            let mut value = row.value("7", stage.name, "x");
            value.paper = row.published(published::STAGE_SPEED_UP, column);
            if let Some(run) = times.run(&one).filter(|_| row.is_ours()) {
                value.here = times.baseline(stage.secs).map(|cpu| cpu / run.secs(stage.secs).0);
                value.mark = times.run(&Implementation::paper_cpu()).map_or("", mark);
            }
            values.push(value);
        }
    }
    values
}

fn shares(times: &OfImage) -> Vec<Value> {
    let mut values = Vec::new();
    for (one, row) in rows(times.runs.iter().map(|(one, _)| *one)) {
        let published = row.paper.and_then(|column| published::of(published::STAGE_S, column));
        for stage in STAGES {
            let mut value = row.value("figure 6", stage.name, "%");
            value.paper = published.zip(stage.published).map(|(all, column)| 100.0 * all[column] / all.iter().sum::<f64>());
            let run = times.run(&one).filter(|_| row.is_ours());
            value.here = run.map(|run| 100.0 * run.secs(stage.secs).0 / run.secs(Step::iteration_s).0);
            values.push(value);
        }
    }
    values
}
