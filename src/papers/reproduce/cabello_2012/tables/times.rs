//! Table 1.

use crate::operator::Accumulation;
use crate::plan::{MatrixLayout, MatrixTimes};
use crate::reproduce::cabello_2012::Context;
use crate::reproduce::cabello_2012::published::{ATOMIC, HAZARD_IGNORED, MPI, NP, RANDOM_CENTRAL_ATOMIC, RELOAD, TIMES};
use crate::reproduce::cabello_2012::stages::Work;
use crate::reproduce::prelude::*;
use crate::text::counted;

/// Times of a product, with the number of threads of the CPU.
pub type OnThreads = (Option<usize>, MatrixTimes);

pub fn all(context: &Context) -> Result<Vec<OnThreads>, ReproduceError> {
    let mut all = Vec::new();
    for work in context.all_work() {
        let Work::Times(_, threads) = work else { continue };
        let rows = context.load::<Vec<MatrixTimes>>(&work)?.unwrap_or_default();
        all.extend(rows.into_iter().map(|row| (threads, row)));
    }
    Ok(all)
}

/// Returns the rows of the paper that correspond to a measured one.
fn paper_rows(threads: Option<usize>, times: &MatrixTimes) -> Vec<usize> {
    match (threads, times.layout, times.accumulation) {
        (Some(threads), MatrixLayout::Plain, _) => {
            let np = (threads == 1).then_some(NP);
            let mpi = MPI.into_iter().filter(|(count, _)| *count == threads).map(|(_, row)| row);
            np.into_iter().chain(mpi).collect()
        }
        (None, MatrixLayout::Paper, Accumulation::NonAtomic) => vec![HAZARD_IGNORED],
        (None, MatrixLayout::Paper, Accumulation::Reload) => vec![RELOAD],
        (None, MatrixLayout::Paper, Accumulation::Atomic) => vec![ATOMIC],
        (None, MatrixLayout::Paper, Accumulation::RandomCentralAtomic) => vec![RANDOM_CENTRAL_ATOMIC],
        _ => Vec::new(),
    }
}

fn title(threads: Option<usize>, times: &MatrixTimes, device: DeviceChoice) -> String {
    let mut layout = if times.layout == MatrixLayout::Paper { "paper's layout".to_owned() } else { times.layout.to_string() };
    if times.accumulation != Accumulation::Deterministic {
        layout += &format!(", {}", times.accumulation);
    }
    match threads {
        Some(threads) => format!("CPU, {}, {layout}", counted(threads, "thread")),
        None => format!("{}, {layout}", device::title(device)),
    }
}

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let measured = all(context)?;
    if measured.is_empty() {
        return Ok(());
    }
    let rows = || measured.iter().map(|(threads, times)| (*threads, times));
    let plain_s = rows().find(|(threads, times)| *threads == Some(1) && times.layout == MatrixLayout::Plain);
    let plain_s = plain_s.map(|(_, times)| times.both_s());
    let mut values = Vec::new();
    // First the paper's rows in its order, each with the corresponding one of ours; then our other rows.
    for number in 0..TIMES.len() {
        let here = rows().find(|(threads, times)| paper_rows(*threads, times).contains(&number));
        let title = here.map_or(String::new(), |(threads, times)| title(threads, times, context.device));
        values.extend(cells(title, Some(number), here.map(|(_, times)| times), plain_s));
    }
    for (threads, times) in rows().filter(|(threads, times)| paper_rows(*threads, times).is_empty()) {
        values.extend(cells(title(threads, times, context.device), None, Some(times), plain_s));
    }
    let devices = joined(rows().map(|(_, times)| times.device.as_str()));
    let mut remarks = vec![
        format!("Here: {devices}. Medians; the factor is that of the first row's projection and backprojection over a row's."),
        "One thread of the plain product represents both programs of the paper on one core.".into(),
        "Plain: an element and a symmetry at a time. Fast: all symmetries of an element at once. Paper's layout: a thread a line, which loops over elements and symmetries.".into(),
        "Loading: the matrix in the order of the lines and of the functions, where a GPU holds one at a time; the improvement includes it. The fast way holds both.".into(),
    ];
    if let Some(step) = rows().map(|(_, times)| times.step).max().filter(|step| *step > 1) {
        remarks.push(format!("* Measured on one orbit of lines of {step}, and scaled."));
    }
    tables.add("Table 1. Time of projection, backprojection and iteration", values, remarks);
    Ok(())
}

/// Returns the cells of a row: ours and a row of the paper.
fn cells(title: String, paper: Option<usize>, here: Option<&MatrixTimes>, plain_s: Option<f64>) -> Vec<Value> {
    let of_paper = paper.map(|number| TIMES[number]);
    let mark = if here.is_some_and(|times| times.step > 1) { "*" } else { "" };
    let paper_row = of_paper.map_or("", |row| row.name);
    let value = |column: &str, unit, published: Option<f64>, measured: Option<f64>, spread: Option<f64>| {
        let value = Value::new("1", title.clone(), column, unit).paper(published).here(measured);
        Value { spread, mark: if measured.is_some() { mark } else { "" }, paper_row: paper_row.into(), ..value }
    };
    let part = |of: fn(&MatrixTimes) -> [f64; 2]| here.map(of).map_or([None; 2], |found| found.map(Some));
    let ([forward, forward_spread], [back, back_spread]) = (part(|t| t.forward_s), part(|t| t.backprojection_s));
    let both = here.map(MatrixTimes::both_s);
    let loading = here.and_then(|times| times.loading_s);
    let factor =
        plain_s.zip(both).map(|(plain, both)| plain / (both + loading.map_or(0.0, |[lines, functions]| lines + functions)));
    let mut cells = vec![
        value("forward", "s", of_paper.map(|row| row.forward_s), forward, forward_spread),
        value("back", "s", of_paper.map(|row| row.back_s), back, back_spread),
        value("both", "s", of_paper.map(|row| row.iteration_s), both, None),
    ];
    let of_paper_loading = of_paper.and_then(|row| row.loading_s);
    if of_paper_loading.is_some() || loading.is_some() {
        for (order, column) in ["loading, forward", "loading, back"].into_iter().enumerate() {
            cells.push(value(column, "s", of_paper_loading.map(|secs| secs[order]), loading.map(|secs| secs[order]), None));
        }
    }
    cells.push(Value { digits: Some(2), ..value("improvement", "x", of_paper.map(|row| row.factor), factor, None) });
    cells
}
