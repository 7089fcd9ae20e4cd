//! Noise, correlation and widths: the numbers that the text gives of figures 4 to 6 and 9, and table 2.

use super::super::implementation::Implementation;
use super::super::measure::{Run, Sample, Width};
use super::super::plan::Scan;
use super::super::published::{
    CNR_DIFFERENCE_PERCENT, CORRELATION_PERCENT, CV, CV_DIFFERENCE_PERCENT, FWHM_DIFFERENCE_PERCENT, FWHM_MM,
};
use super::{Sources, percent_off};
use crate::operator::Accumulation;
use crate::report::{Tables, Value};
use crate::reproduce::ReproduceError;

/// Table 2 by the other way to measure a width.
const AT_HALF: &str = "2, at half";
const REGIONS: [&str; 3] = ["hot", "warm", "cold"];

/// The row of an implementation, and which of the paper's two (processor, GPU) it stands for.
fn row(sources: &Sources, table: &'static str, implementation: Implementation) -> (Value, Option<usize>) {
    let paper_row = implementation.paper_name(sources.device).unwrap_or_default().into();
    let number = match implementation.accumulation {
        _ if implementation == Implementation::reference(sources.device) => Some(0),
        Accumulation::RandomCentralAtomic => Some(1),
        _ => None,
    };
    (Value { table, row: implementation.title(), paper_row, ..Value::default() }, number)
}

/// Adds the tables of the rods.
pub(super) fn add_rods(sources: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let (plan, runs) = (sources.plan, sources.runs(Scan::Rods)?);
    let Some((_, first)) = runs.first() else { return Ok(()) };
    let mut values = Vec::new();
    for (implementation, run) in &runs {
        let Some(Sample { noise: Some(noise), lost, .. }) = run.at(plan.num_iterations) else { continue };
        let (row, number) = row(sources, "rods", *implementation);
        for (region, name) in REGIONS.into_iter().enumerate() {
            let paper = number.map(|number| CV[number][region]);
            values.push(Value { column: format!("CV {name}"), paper, here: noise.cv[region], digits: Some(3), ..row.clone() });
        }
        values.push(Value { column: "CNR".into(), here: noise.cnr, digits: Some(2), ..row.clone() });
        values.push(Value {
            column: "lost by the race".into(),
            unit: "%",
            here: lost.map(|share| 100.0 * share),
            digits: Some(3),
            ..row.clone()
        });
        let [median, spread] = run.iteration_s.map(Some);
        values.push(Value { column: "iteration".into(), unit: "s", here: median, spread, ..row });
    }
    let remarks = vec![
        format!("{} counts; {}.", first.counts, first.device),
        "CV: standard deviation over mean of a region of 8 x 9 x 0.5 mm; CNR: that of hot and warm. Where the rods lie is not published.".into(),
    ];
    tables.add(format!("Figures 4 and 5. Noise of the rods after {} iterations", plan.num_iterations), values, remarks);
    add_differences(sources, tables, &runs);
    Ok(())
}

/// How far the rods of implementations are from the reference's.
fn add_differences(sources: &Sources, tables: &mut Tables, runs: &[(Implementation, Run)]) {
    let plan = sources.plan;
    let Some((_, reference)) = runs.first() else { return };
    let mut values = Vec::new();
    for (implementation, run) in &runs[1..] {
        let Some(last) = run.last_up_to(plan.num_iterations) else { continue };
        let (Some(noise), Some(of_reference)) = (last.noise, reference.at(last.iteration).and_then(|sample| sample.noise)) else {
            continue;
        };
        let (row, number) = row(sources, "differences", *implementation);
        let published = |percent: f64| number.map(|_| percent);
        let iteration = Some(last.iteration as f64);
        values.push(Value { column: "after iteration".into(), here: iteration, digits: Some(0), ..row.clone() });
        let of_paper = [published(CV_DIFFERENCE_PERCENT[0]), None, published(CV_DIFFERENCE_PERCENT[1])];
        for (region, name) in REGIONS.into_iter().enumerate() {
            let here = percent_off(noise.cv[region], of_reference.cv[region]);
            let column = format!("CV {name}");
            values.push(Value { column, unit: "%", paper: of_paper[region], here, digits: Some(3), ..row.clone() });
        }
        values.push(Value {
            column: "CNR".into(),
            unit: "%",
            paper: published(CNR_DIFFERENCE_PERCENT),
            paper_mark: "<",
            here: percent_off(noise.cnr, of_reference.cnr),
            digits: Some(3),
            ..row.clone()
        });
        let correlations = [
            ("CC then".to_owned(), None, last.correlation),
            (format!("CC at {}", plan.num_iterations), Some(CORRELATION_PERCENT[0]), correlation_at(run, plan.num_iterations)),
            (
                format!("CC at {}", plan.num_long_iterations),
                Some(CORRELATION_PERCENT[1]),
                correlation_at(run, plan.num_long_iterations),
            ),
        ];
        for (column, paper, here) in correlations {
            let (paper, here) = (paper.filter(|_| number.is_some()), here.map(|cc| 100.0 * cc));
            values.push(Value { column, unit: "%", paper, here, digits: Some(4), ..row.clone() });
        }
    }
    let name = Implementation::reference(sources.device).title();
    let remarks = vec![format!(
        "From {name}, which has no race. CC: correlation of the whole volumes (equation 5). < The paper: at most this. Its first two differences are those of hot and cold; its correlation is above the first number."
    )];
    tables.add("Figures 4 to 6. Differences between implementations", values, remarks);
}

fn correlation_at(run: &Run, iteration: usize) -> Option<f64> {
    run.at(iteration)?.correlation
}

/// Adds the tables of the points.
pub(super) fn add_points(sources: &Sources, tables: &mut Tables) -> Result<(), ReproduceError> {
    let (plan, runs) = (sources.plan, sources.runs(Scan::Ellipsoid)?);
    let Some((_, reference)) = runs.first() else { return Ok(()) };
    for (table, title) in
        [("2", "FWHM of the points, of a Gaussian on a background"), (AT_HALF, "The same at half of the maximum")]
    {
        let of = |width: &Width| if table == AT_HALF { width.at_half_mm } else { width.fwhm_mm };
        let mut values = Vec::new();
        for (implementation, run) in &runs {
            let Some(sample) = run.at(plan.num_iterations) else { continue };
            let (row, number) = row(sources, table, *implementation);
            for (point, width) in sample.widths.iter().enumerate() {
                let paper = number.and_then(|number| FWHM_MM[number].get(point).copied());
                let column = format!("Ps {}", point + 1);
                values.push(Value { column, unit: "mm", paper, here: of(width), digits: Some(2), ..row.clone() });
            }
        }
        let remark = format!(
            "After {} iterations; {} counts. The profile lies along x, a voxel a sample, in the middle between slices.",
            plan.num_iterations, reference.counts
        );
        tables.add(format!("Table 2. {title}"), values, vec![remark]);
    }
    let mut values = Vec::new();
    for (implementation, run) in &runs[1..] {
        let Some(last) = run.last_up_to(plan.num_iterations) else { continue };
        let Some(of_reference) = reference.at(last.iteration) else { continue };
        let (row, number) = row(sources, "9", *implementation);
        values.push(Value {
            column: "after iteration".into(),
            here: Some(last.iteration as f64),
            digits: Some(0),
            ..row.clone()
        });
        for (point, (width, same)) in last.widths.iter().zip(&of_reference.widths).enumerate() {
            // The paper shows the first and the last one.
            let paper = number.filter(|_| [0, 5].contains(&point)).map(|_| FWHM_DIFFERENCE_PERCENT);
            let here = percent_off(width.at_half_mm, same.at_half_mm);
            let column = format!("Ps {}", point + 1);
            values.push(Value { column, unit: "%", paper, paper_mark: "<", here, digits: Some(3), ..row.clone() });
        }
        let correlation = last.correlation.map(|cc| 100.0 * cc);
        values.push(Value { column: "CC".into(), unit: "%", here: correlation, digits: Some(4), ..row });
    }
    let remark = "Widths at half of the maximum, from those of the reference after as many iterations. < The paper: below this.";
    tables.add("Figure 9. Differences of the widths between implementations", values, vec![remark.into()]);
    Ok(())
}
