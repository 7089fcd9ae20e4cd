//! The times of the mouse (section 4.3).

use super::super::implementation::Implementation;
use super::super::mouse::NUM_BEDS;
use super::super::plan::Scan;
use super::super::published::MOUSE_HOURS;
use super::{Sources, times};
use crate::data::BasisKind;
use crate::plan::MatrixLayout;
use crate::report::{Tables, Value};
use crate::reproduce::ReproduceError;

/// Adds the tables.
pub(super) fn add(sources: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let whole_s = [add_beds(sources, BasisKind::Blobs, tables)?, add_beds(sources, BasisKind::Cubic, tables)?];
    if whole_s != [None; 2] {
        tables.add("Section 4.3. Time of the whole mouse", hours(sources, whole_s)?, vec![
            "* Not reconstructed: the time of projection and backprojection by the plain product (table 1), for all iterations and beds; the paper's 380 hours are an estimate too.".into(),
        ]);
    }
    Ok(())
}

/// Adds the beds with some functions; the seconds of all, where all are there.
fn add_beds(sources: &Sources, kind: BasisKind, tables: &mut Tables) -> Result<Option<f64>, ReproduceError> {
    let implementation = Implementation::reference(sources.device);
    let mut values = Vec::new();
    let (mut whole_s, mut num_beds) = (0.0, 0);
    for bed in 0..NUM_BEDS {
        let Some(run) = sources.run_with(kind, Scan::Bed(bed), implementation)? else { continue };
        let value = |column: &str, unit, here| Value {
            table: if kind == BasisKind::Blobs { "beds" } else { "beds, cubes" },
            row: format!("bed {}", bed + 1),
            column: column.into(),
            unit,
            here: Some(here),
            ..Value::default()
        };
        let secs = run.setup_s + run.iterations_s;
        values.push(Value { digits: Some(0), ..value("counts", "", run.counts) });
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
        sources.plan.num_iterations,
        sources.plan.mouse_decays
    );
    tables.add(format!("Figure 10. The mouse with {}, bed by bed", kind.words()), values, vec![remark]);
    Ok((num_beds == NUM_BEDS).then_some(whole_s))
}

fn hours(sources: &Sources, [with_blobs_s, with_cubes_s]: [Option<f64>; 2]) -> Result<Vec<Value>, ReproduceError> {
    let plain: Vec<(Option<usize>, f64)> = times::all(sources)?
        .into_iter()
        .filter(|(_, row)| row.layout == MatrixLayout::Plain)
        .map(|(threads, row)| (threads, row.both_s() * (sources.plan.num_iterations * NUM_BEDS) as f64))
        .collect();
    let estimate = |threads: usize| plain.iter().find(|(count, _)| *count == Some(threads)).map(|(_, secs)| *secs);
    let measured = Implementation::reference(sources.device).title();
    let [cubic, one, eight, gpu] = MOUSE_HOURS;
    let rows = [
        (cubic, format!("{measured}, cubes"), with_cubes_s, ""),
        (one, "CPU, 1 thread, plain".to_owned(), estimate(1), "*"),
        (eight, "CPU, 8 threads, plain".to_owned(), estimate(8), "*"),
        (gpu, measured, with_blobs_s, ""),
    ];
    let value = |((name, paper), row, secs, mark): ((&str, f64), String, Option<f64>, &'static str)| Value {
        table: "mouse",
        row: if secs.is_some() { row } else { String::new() },
        paper_row: name.into(),
        column: "time".into(),
        unit: "h",
        paper: Some(paper),
        here: secs.map(|secs| secs / 3600.0),
        mark: if secs.is_some() { mark } else { "" },
        ..Value::default()
    };
    Ok(rows.into_iter().map(value).collect())
}
