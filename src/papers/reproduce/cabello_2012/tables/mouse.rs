//! The times of the mouse (section 4.3).

use super::times;
use crate::data::BasisKind;
use crate::plan::MatrixLayout;
use crate::reproduce::cabello_2012::Context;
use crate::reproduce::cabello_2012::implementation::Implementation;
use crate::reproduce::cabello_2012::mouse::NUM_BEDS;
use crate::reproduce::cabello_2012::plan::Scan;
use crate::reproduce::cabello_2012::published::MOUSE_HOURS;
use crate::reproduce::prelude::*;

pub fn add(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let whole_s = [add_beds(context, BasisKind::Blobs, tables)?, add_beds(context, BasisKind::Cubic, tables)?];
    if whole_s != [None; 2] {
        tables.add("Section 4.3. Time of the whole mouse", hours(context, whole_s)?, [
"* Not reconstructed: the time of projection and backprojection by the plain product (table 1), for all iterations and beds; the paper's 380 hours are an estimate too."]);
    }
    Ok(())
}

/// Adds the beds with a kind of functions; returns the seconds of all beds if all were measured.
fn add_beds(context: &Context, kind: BasisKind, tables: &mut Tables) -> Result<Option<f64>, ReproduceError> {
    let implementation = Implementation::reference(context.device);
    let mut values = Vec::new();
    let (mut whole_s, mut num_beds) = (0.0, 0);
    for bed in 0..NUM_BEDS {
        let Some(run) = context.run_with(kind, Scan::Bed(bed), implementation)? else { continue };
        let table = if kind == BasisKind::Blobs { "beds" } else { "beds, cubes" };
        let value = |column: &str, unit, here: f64| Value::new(table, format!("bed {}", bed + 1), column, unit).here(here);
        let secs = run.setup_s + run.iterations_s;
        values.push(value("counts", "", run.counts).digits(0));
        values.push(value("before the first iteration", "s", run.setup_s));
        values.push(value("iteration", "s", run.iteration_s[0]));
        values.push(value("in all", "s", secs));
        (whole_s, num_beds) = (whole_s + secs, num_beds + 1);
    }
    if num_beds == 0 {
        return Ok(None);
    }
    let remark = format!(
        "{}, {} iterations. A stand-in of ellipsoids; {:.3e} decays of the whole of it while a bed is scanned.",
        implementation.title(),
        context.plan.num_iterations,
        context.plan.mouse_decays
    );
    tables.add(format!("Figure 10. The mouse with {}, bed by bed", kind.text()), values, [remark]);
    Ok((num_beds == NUM_BEDS).then_some(whole_s))
}

fn hours(context: &Context, [with_blobs_s, with_cubes_s]: [Option<f64>; 2]) -> Result<Vec<Value>, ReproduceError> {
    let plain: Vec<(Option<usize>, f64)> = times::all(context)?
        .into_iter()
        .filter(|(_, row)| row.layout == MatrixLayout::Plain)
        .map(|(threads, row)| (threads, row.both_s() * (context.plan.num_iterations * NUM_BEDS) as f64))
        .collect();
    let estimate = |threads: usize| plain.iter().find(|(count, _)| *count == Some(threads)).map(|(_, secs)| *secs);
    let measured = Implementation::reference(context.device).title();
    let [cubic, one, eight, gpu] = MOUSE_HOURS;
    let rows = [
        (cubic, format!("{measured}, cubes"), with_cubes_s, ""),
        (one, "CPU, 1 thread, plain".to_owned(), estimate(1), "*"),
        (eight, "CPU, 8 threads, plain".to_owned(), estimate(8), "*"),
        (gpu, measured, with_blobs_s, ""),
    ];
    let value = |((name, paper), row, secs, mark): ((&str, f64), String, Option<f64>, &'static str)| {
        let (row, mark) = if secs.is_some() { (row, mark) } else { (String::new(), "") };
        let value = Value::new("mouse", row, "time", "h").paper(paper).here(secs.map(|secs| secs / 3600.0));
        Value { paper_row: name.into(), mark, ..value }
    };
    Ok(rows.into_iter().map(value).collect())
}
