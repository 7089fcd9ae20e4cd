//! Noise, correlation and widths: the paper's numbers of figures 4 to 6 and 9, and table 2.

use super::percent_off;
use crate::operator::Accumulation;
use crate::reproduce::cabello_2012::Context;
use crate::reproduce::cabello_2012::implementation::Implementation;
use crate::reproduce::cabello_2012::measure::{Run, Sample, Width};
use crate::reproduce::cabello_2012::plan::Scan;
use crate::reproduce::cabello_2012::published::{
    CNR_DIFFERENCE_PERCENT, CORRELATION_PERCENT, CV, CV_DIFFERENCE_PERCENT, FWHM_DIFFERENCE_PERCENT, FWHM_MM,
};
use crate::reproduce::prelude::*;

/// Table 2 with the other definition of the width.
const AT_HALF: &str = "2, at half";
const REGIONS: [&str; 3] = ["hot", "warm", "cold"];

/// Returns the row of an implementation, and the corresponding one of the paper's two (CPU, GPU).
fn row(context: &Context, table: &'static str, implementation: Implementation) -> (Value, Option<usize>) {
    let paper_row = implementation.paper_name(context.device).unwrap_or_default().into();
    let number = match implementation.accumulation {
        _ if implementation == Implementation::reference(context.device) => Some(0),
        Accumulation::RandomCentralAtomic => Some(1),
        _ => None,
    };
    (Value { table, row: implementation.title(), paper_row, ..Value::default() }, number)
}

pub fn add_rods(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let (plan, runs) = (&context.plan, context.runs(Scan::Rods)?);
    let Some((_, first)) = runs.first() else { return Ok(()) };
    let mut values = Vec::new();
    for (implementation, run) in &runs {
        let Some(Sample { noise: Some(noise), lost, .. }) = run.at(plan.num_iterations) else { continue };
        let (row, number) = row(context, "rods", *implementation);
        for (region, name) in REGIONS.into_iter().enumerate() {
            let value = row.column(format!("CV {name}"), "").paper(number.map(|number| CV[number][region]));
            values.push(value.here(noise.cv[region]).digits(3));
        }
        values.push(row.column("CNR", "").here(noise.cnr).digits(2));
        values.push(row.column("lost by the race", "%").here(lost.map(|share| 100.0 * share)).digits(3));
        let [here, spread] = run.iteration_s.map(Some);
        values.push(Value { here, spread, ..row.column("iteration", "s") });
    }
    let remarks = vec![
        format!("{} counts; {}.", first.counts, first.device),
        "CV: standard deviation over mean of a region of 8 x 9 x 0.5 mm; CNR: that of hot and warm. Where the rods lie is not published.".into(),
    ];
    tables.add(format!("Figures 4 and 5. Noise of the rods after {} iterations", plan.num_iterations), values, remarks);
    add_differences(context, tables, &runs);
    Ok(())
}

/// Adds the differences of the rods from the reference's.
fn add_differences(context: &Context, tables: &mut Tables, runs: &[(Implementation, Run)]) {
    let plan = &context.plan;
    let Some((_, reference)) = runs.first() else { return };
    let mut values = Vec::new();
    for (implementation, run) in &runs[1..] {
        let Some(last) = run.last_up_to(plan.num_iterations) else { continue };
        let (Some(noise), Some(of_reference)) = (last.noise, reference.at(last.iteration).and_then(|sample| sample.noise)) else {
            continue;
        };
        let (row, number) = row(context, "differences", *implementation);
        let published = |percent: f64| number.map(|_| percent);
        values.push(row.column("after iteration", "").here(last.iteration as f64).digits(0));
        let of_paper = [published(CV_DIFFERENCE_PERCENT[0]), None, published(CV_DIFFERENCE_PERCENT[1])];
        for (region, name) in REGIONS.into_iter().enumerate() {
            let here = percent_off(noise.cv[region], of_reference.cv[region]);
            values.push(row.column(format!("CV {name}"), "%").paper(of_paper[region]).here(here).digits(3));
        }
        let cnr = row.column("CNR", "%").here(percent_off(noise.cnr, of_reference.cnr)).digits(3);
        values.push(Value { paper: published(CNR_DIFFERENCE_PERCENT), paper_mark: "<", ..cnr });
        let cc = |sample: Option<&Sample>| Some(100.0 * sample?.correlation?);
        values.push(row.column("CC then", "%").here(cc(Some(last))).digits(4));
        for (iteration, percent) in [plan.num_iterations, plan.num_long_iterations].into_iter().zip(CORRELATION_PERCENT) {
            let value = row.column(format!("CC at {iteration}"), "%").paper(published(percent));
            values.push(value.here(cc(run.at(iteration))).digits(4));
        }
    }
    let name = Implementation::reference(context.device).title();
    let remarks = vec![format!(
        "From {name}, which has no race. CC: correlation of the whole volumes (equation 5). < The paper: at most this. Its first two differences are those of hot and cold; its correlation is above the first number."
    )];
    tables.add("Figures 4 to 6. Differences between implementations", values, remarks);
}

pub fn add_points(context: &Context, tables: &mut Tables) -> Result<(), ReproduceError> {
    let (plan, runs) = (&context.plan, context.runs(Scan::Ellipsoid)?);
    let Some((_, reference)) = runs.first() else { return Ok(()) };
    for (table, title) in
        [("2", "FWHM of the points, of a Gaussian on a background"), (AT_HALF, "The same at half of the maximum")]
    {
        let of = |width: &Width| if table == AT_HALF { width.at_half_mm } else { width.fwhm_mm };
        let mut values = Vec::new();
        for (implementation, run) in &runs {
            let Some(sample) = run.at(plan.num_iterations) else { continue };
            let (row, number) = row(context, table, *implementation);
            for (point, width) in sample.widths.iter().enumerate() {
                let paper = number.and_then(|number| FWHM_MM[number].get(point).copied());
                values.push(row.column(format!("Ps {}", point + 1), "mm").paper(paper).here(of(width)).digits(2));
            }
        }
        let remark = format!(
            "After {} iterations; {} counts. The profile lies along x, a voxel a sample, in the middle between slices.",
            plan.num_iterations, reference.counts
        );
        tables.add(format!("Table 2. {title}"), values, [remark]);
    }
    let mut values = Vec::new();
    for (implementation, run) in &runs[1..] {
        let Some(last) = run.last_up_to(plan.num_iterations) else { continue };
        let Some(of_reference) = reference.at(last.iteration) else { continue };
        let (row, number) = row(context, "9", *implementation);
        values.push(row.column("after iteration", "").here(last.iteration as f64).digits(0));
        for (point, (width, same)) in last.widths.iter().zip(&of_reference.widths).enumerate() {
            // The paper shows the first and the last one.
            let paper = number.filter(|_| [0, 5].contains(&point)).map(|_| FWHM_DIFFERENCE_PERCENT);
            let here = percent_off(width.at_half_mm, same.at_half_mm);
            let value = row.column(format!("Ps {}", point + 1), "%").paper(paper).here(here).digits(3);
            values.push(Value { paper_mark: "<", ..value });
        }
        values.push(row.column("CC", "%").here(last.correlation.map(|cc| 100.0 * cc)).digits(4));
    }
    let remark = "Widths at half of the maximum, from those of the reference after as many iterations. < The paper: below this.";
    tables.add("Figure 9. Differences of the widths between implementations", values, [remark]);
    Ok(())
}
