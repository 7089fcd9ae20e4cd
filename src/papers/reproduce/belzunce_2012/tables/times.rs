//! Tables 2, 3, 4 and 7 and figure 6: times of an iteration and of its stages, and speed-ups over one thread of the
//! processor that runs the paper's program.

use super::Row;
use crate::report::distinct;
use crate::reproduce::belzunce_2012::implementation::{Implementation, PaperColumn};
use crate::reproduce::belzunce_2012::measure::{Run, Step};
use crate::reproduce::belzunce_2012::plan::{Image, Plan};
use crate::reproduce::belzunce_2012::stages::Work;
use crate::reproduce::belzunce_2012::studies::Scan;
use crate::reproduce::belzunce_2012::{Context, published};
use crate::reproduce::prelude::*;
use crate::statistics::median_and_spread;

/// Marks times that were measured on some of the views.
const SCALED: &str = "*";
/// Marks the cells in which tables 2 and 4 disagree.
const DISAGREES: &str = "!";
/// Row of the paper's other number for the same thing.
const BY_STAGES: &str = "GTX480 with atomics, by table 4";

impl Run {
    /// Returns median and spread of a time over all steps but the first, which touches memory for the first time.
    pub fn secs(&self, of: impl Fn(&Step) -> f64) -> (f64, f64) {
        let first = usize::from(self.steps.len() > 1);
        median_and_spread(self.steps[first..].iter().map(of).collect()).unwrap_or((f64::NAN, f64::NAN))
    }
}

/// The measured times of one image.
struct OfImage<'a> {
    image: &'a Image,
    runs: Vec<(Implementation, Option<Run>)>,
}

impl<'a> OfImage<'a> {
    fn load(context: &Context, image: &'a Image) -> Result<Self, ReproduceError> {
        let load = |one: Implementation| Ok((one, context.load_offered(&Work::Times(image.clone(), one))?));
        let runs: Result<_, ReproduceError> = Implementation::of_times(context.device).into_iter().map(load).collect();
        Ok(Self { image, runs: runs? })
    }

    fn run(&self, implementation: &Implementation) -> Option<&Run> {
        self.runs.iter().find(|(one, _)| one == implementation)?.1.as_ref()
    }

    /// Returns the run of a row that has our numbers.
    fn run_of(&self, (implementation, row): &ImplementationRow) -> Option<&Run> {
        self.run(implementation).filter(|_| row.is_ours())
    }

    /// Returns a cell with the time of a row.
    fn seconds(&self, row: &ImplementationRow, of: fn(&Step) -> f64, value: Value) -> Value {
        let (here, spread) = self.run_of(row).map(|run| run.secs(of)).unzip();
        Value { here, spread, mark: self.run_of(row).map_or("", mark), ..value }
    }

    /// Returns a cell with the time of a row relative to that of one thread with the paper's program.
    fn speed_up(&self, row: &ImplementationRow, of: fn(&Step) -> f64, value: Value) -> Value {
        let Some(run) = self.run_of(row) else { return value };
        let cpu = self.run(&Implementation::paper_cpu());
        let here = cpu.map(|cpu| cpu.secs(of).0 / run.secs(of).0);
        Value { here, mark: cpu.map_or("", mark), ..value }
    }
}

type ImplementationRow = (Implementation, Row);

fn cells<C>(
    implementations: impl IntoIterator<Item = Implementation>,
    columns: impl IntoIterator<Item = C> + Clone,
    cell: impl Fn(&ImplementationRow, C) -> Value,
) -> Vec<Value> {
    let mut values = Vec::new();
    for one in implementations {
        for row in Row::all(&one, one.paper_columns_of_times()) {
            let row = (one, row);
            values.extend(columns.clone().into_iter().map(|column| cell(&row, column)));
        }
    }
    values
}

fn mark(run: &Run) -> &'static str {
    if run.view_step > 1 { SCALED } else { "" }
}

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let times: Result<Vec<OfImage>, _> = context.plan.images.iter().map(|image| OfImage::load(context, image)).collect();
    let times = times?;
    let Some(cpu) = times.iter().find_map(|of_image| of_image.run(&Implementation::paper_cpu())) else { return Ok(()) };
    let part = format!("{SCALED} measured on every {}th view and scaled to all", cpu.view_step);
    let part = (cpu.view_step > 1).then_some(part);
    let remarks: Vec<String> = [devices(&times)].into_iter().chain(part).collect();
    let disagreement = "! The paper disagrees with itself: 16.7 s in table 2 (and 23.7 in table 3) for 256x256, full FOV, with \
atomics, but 6.1 + 17.2 = 23.3 s in table 4, which is what table 2 gives for 20 cm: the two may be exchanged.";
    let with = |remark: &str| [remarks.clone(), vec![remark.to_owned()]].concat();
    let of_paper = |remark: &str| if tables.without_paper { remarks.clone() } else { with(remark) };
    let (of_seconds, of_ratios) = (of_paper(disagreement), of_paper("! See table 2."));
    tables.add("Table 2. Time of an iteration", iterations(&context.plan, &times), of_seconds);
    tables.add("Table 3. Speed-up over one thread of the CPU, per-lor", speed_ups(&context.plan, &times), of_ratios);
    let (full, title) = (&times[1], context.plan.full_image().title);
    let conditions = with("Ratio: measured over estimated data; the paper has no time for it.");
    tables.add(format!("Table 4. Time of each stage, {title}"), stages(full), conditions);
    let faster = format!("Table 7. Speed-up of each stage over one thread of the CPU, {title}");
    tables.add(faster, stage_speed_ups(full), remarks.clone());
    tables.add(format!("Figure 6. Share of each stage, {title}"), shares(full), remarks);
    add_totals(context, tables)
}

/// Adds whole reconstructions, for which the paper gives no times.
fn add_totals(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let mut values = Vec::new();
    for one in Implementation::of_images(&context.plan, context.device) {
        for image in &context.plan.images {
            let Some(run) = context.load_offered::<Run>(&Work::Image(Scan::Iq, image.clone(), one))? else { continue };
            let secs = run.elapsed_s - run.steps.iter().map(|step| step.race_s).sum::<f64>();
            values.push(Value::new("total", one.title(), image.title, "s").here(secs));
        }
    }
    let remark = "From the scan to the last image, both in the computer's memory: setting up with a trial, the sensitivity, all \
iterations; not what measuring the race takes.";
    let title = format!("Time of all {} iterations, {}", context.plan.num_iterations, Scan::Iq.title());
    tables.add(title, values, [remark]);
    Ok(())
}

/// Names the devices, in the order of the rows.
fn devices(times: &[OfImage]) -> String {
    let runs = times.iter().flat_map(|of_image| &of_image.runs).filter_map(|(_, run)| run.as_ref());
    format!("Here: {}.", distinct(runs.map(|run| run.device.as_str())).join("; "))
}

/// Marks the paper's number for this row and image if it is doubtful.
fn doubt((_, row): &ImplementationRow, image: usize) -> &'static str {
    if row.paper == Some(PaperColumn::Gtx480Atomics) && image > 0 { DISAGREES } else { "" }
}

/// Returns all implementations whose times were measured.
fn implementations(of_image: &OfImage) -> impl Iterator<Item = Implementation> {
    of_image.runs.iter().map(|(one, _)| *one)
}

/// Returns the same without the baseline of the ratios.
fn faster(of_image: &OfImage) -> impl Iterator<Item = Implementation> {
    implementations(of_image).filter(|one| *one != Implementation::paper_cpu())
}

fn iterations(plan: &Plan, times: &[OfImage]) -> Vec<Value> {
    let mut values = cells(implementations(&times[0]), times.iter().enumerate(), |row, (index, of_image)| {
        let value = row.1.value("2", of_image.image.title, "s").paper(row.1.published(published::ITERATION_S, index));
        Value { paper_mark: doubt(row, index), ..of_image.seconds(row, Step::iteration_s, value) }
    });
    let by_stages = published::of(published::STAGE_S, PaperColumn::Gtx480Atomics).map(|secs| secs.iter().sum());
    values.push(other_number(plan, "2", "s", by_stages));
    values
}

/// Returns the paper's second number for 256² with atomics.
fn other_number(plan: &Plan, table: &'static str, unit: &'static str, paper: Option<f64>) -> Value {
    let value = Value::new(table, "", plan.full_image().title, unit).paper(paper);
    Value { paper_row: BY_STAGES.into(), paper_mark: DISAGREES, ..value }
}

fn speed_ups(plan: &Plan, times: &[OfImage]) -> Vec<Value> {
    let mut values = cells(faster(&times[0]), times.iter().enumerate(), |row, (index, of_image)| {
        let value = row.1.value("3", of_image.image.title, "x").paper(row.1.published(published::SPEED_UP, index));
        Value { paper_mark: doubt(row, index), ..of_image.speed_up(row, Step::iteration_s, value) }
    });
    let cpu = published::of(published::ITERATION_S, PaperColumn::I7).map(|secs| secs[1]);
    let gpu = published::of(published::STAGE_S, PaperColumn::Gtx480Atomics).map(|secs| secs.iter().sum::<f64>());
    values.push(other_number(plan, "3", "x", cpu.zip(gpu).map(|(cpu, gpu)| cpu / gpu)));
    values
}

#[derive(Clone)]
struct StageColumn {
    name: &'static str,
    /// Its place in the paper's table 4.
    published: Option<usize>,
    secs: fn(&Step) -> f64,
}

/// In the order of the tables.
const STAGES: [StageColumn; 4] = [
    StageColumn { name: "forward", published: Some(0), secs: |step| step.forward_s },
    StageColumn { name: "ratio", published: None, secs: |step| step.ratio_s },
    StageColumn { name: "backprojection", published: Some(1), secs: |step| step.backprojection_s },
    StageColumn { name: NORMALISATION, published: Some(2), secs: |step| step.update_s },
];
/// The stage whose time does not depend on the views that are measured.
const NORMALISATION: &str = "normalisation";

fn stages(times: &OfImage) -> Vec<Value> {
    cells(implementations(times), STAGES, |row, stage| {
        let paper = stage.published.and_then(|column| row.1.published(published::STAGE_S, column));
        let value = times.seconds(row, stage.secs, row.1.value("4", stage.name, "s").paper(paper));
        if stage.name == NORMALISATION { Value { mark: "", ..value } } else { value }
    })
}

fn stage_speed_ups(times: &OfImage) -> Vec<Value> {
    let [forward, _, backprojection, _] = STAGES;
    cells(faster(times), [forward, backprojection].into_iter().enumerate(), |row, (column, stage)| {
        let value = row.1.value("7", stage.name, "x").paper(row.1.published(published::STAGE_SPEED_UP, column));
        times.speed_up(row, stage.secs, value)
    })
}

fn shares(times: &OfImage) -> Vec<Value> {
    cells(implementations(times), STAGES, |row, stage| {
        let published = row.1.paper.and_then(|column| published::of(published::STAGE_S, column));
        let paper = published.zip(stage.published).map(|(all, column)| 100.0 * all[column] / all.iter().sum::<f64>());
        let here = times.run_of(row).map(|run| 100.0 * run.secs(stage.secs).0 / run.secs(Step::iteration_s).0);
        row.1.value("figure 6", stage.name, "%").paper(paper).here(here)
    })
}
