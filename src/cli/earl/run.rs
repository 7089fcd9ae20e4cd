//! The reconstructions, one for each strength of the penalty, which measure the image of every full iteration after every
//! post-filter, and the tables.

use std::path::Path;

use serde_json::json;

use super::options::{EarlOptions, is_json};
use crate::cli::reconstruct::data::kind_of;
use crate::cli::reconstruct::run::job;
use crate::cli::reconstruct::runner::{Ended, JobRunner};
use crate::cli::shared::console::{print_result, remark};
use crate::cli::shared::error::{CliError, CliResult, Done, Failure};
use crate::cli::shared::notices;
use crate::data::RecoveryStandard;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::io::{IoError, write_whole};
use crate::measure::nema::{NemaError, RecoveryPoint, Verdict};
use crate::plan::{BETA, DataKind, Value};
use crate::report::{RecoveryRun, RecoverySearch};
use crate::session::{IterateUpdate, RecoveryQuery, Trace};

/// Reconstructs, measures and prints.
pub fn run(options: &EarlOptions) -> CliResult<Done> {
    options.each.talk.apply();
    let each = options.reconstruction()?;
    let data = kind_of(&each.input)?;
    if !matches!(data, DataKind::Projections | DataKind::Events) {
        let text = format!("{} is {}; earl takes projection data and list-mode data", each.input.display(), data.singular());
        return Err(CliError::failed(Failure::Input, text));
    }
    each.check_options(data)?;
    options.check_files(&each)?;
    let standards = options.requested()?;
    let query = options.query(&standards);
    let trace = match &each.trace {
        Some(path) => Trace::to_file(path).map_err(IoError::write(path))?,
        None => Trace::off(),
    };
    let (job, ..) = job(&each, data)?;
    notices::print(job.subset_notice().as_slice());
    let runner = JobRunner::open(&each, &job, trace)?;
    let mut runs = Vec::new();
    let mut done = Done::Complete;
    let mut is_interrupted = false;
    for beta in strengths(options) {
        let mut job = job.clone();
        if let Some(beta) = &beta {
            job.settings.parameters.set(&BETA, Some(beta.clone()));
            remark!("β {beta}");
        }
        let mut points = Vec::new();
        let mut observer = |frame: &IterateUpdate| measure(frame, &query, &standards, &mut points);
        let ended = runner.run_observed(&each, job, None, None, Some(&mut observer))?;
        runs.push(RecoveryRun { beta, points });
        is_interrupted = ended == Ended::Interrupted;
        if done == Done::Complete {
            done = ended.into();
        }
        if is_interrupted {
            break;
        }
    }
    let searches: Vec<RecoverySearch> = standards.iter().map(|standard| RecoverySearch::of_runs(&runs, standard)).collect();
    for path in &options.output {
        write(path, &searches)?;
        remark!("{}: all settings", path.display());
    }
    print(&runs, &searches)?;
    if is_interrupted {
        return Ok(done);
    }
    let missed: Vec<&str> =
        standards.iter().zip(&searches).filter(|(_, search)| !search.has_compliant()).map(|(s, _)| s.title.as_str()).collect();
    if missed.is_empty() {
        return Ok(done);
    }
    let strengths = if options.strengths.0.is_empty() { "" } else { "strengths (--beta), " };
    let text = format!(
        "no setting complies with {}; try other {strengths}iterations (--iterations), filters (--filters-mm) or another algorithm",
        missed.join(" and ")
    );
    Err(CliError::failed(Failure::NoSetting, text))
}

/// Returns the strength of each run; `None` = that of the algorithm.
fn strengths(options: &EarlOptions) -> Vec<Option<Value>> {
    match &options.strengths.0[..] {
        [] => vec![None],
        strengths => strengths.iter().cloned().map(Some).collect(),
    }
}

/// Measures the image of a full iteration after every post-filter.
///
/// # Errors
/// A phantom that no standard measures; an image of an early iteration without a visible phantom is no error.
fn measure(
    frame: &IterateUpdate,
    query: &RecoveryQuery,
    standards: &[RecoveryStandard],
    points: &mut Vec<RecoveryPoint>,
) -> CliResult {
    let regions = query.regions(&frame.volume);
    if let Err(error @ NemaError::ColdSpheres { largest_mm, .. }) = regions
        && largest_mm == SPHERE_DIAMETERS_MM[5]
    {
        return Err(error.into());
    }
    let iteration = frame.id.iteration;
    let new: Vec<RecoveryPoint> = query
        .filters_mm
        .iter()
        .map(|&filter_mm| RecoveryPoint { iteration, filter_mm, outcome: query.measure(&frame.volume, &regions, filter_mm) })
        .collect();
    for standard in standards {
        let complies =
            |point: &&RecoveryPoint| point.outcome.as_ref().is_ok_and(|recovery| Verdict::of(recovery, standard).complies());
        let filters: Vec<String> = new.iter().filter(complies).map(|point| format!("{} mm", point.filter_mm)).collect();
        match &filters[..] {
            [] => remark!("iteration {iteration}, {}: no post-filter complies", standard.title),
            _ => remark!("iteration {iteration}, {}: complies with a post-filter of {}", standard.title, filters.join(", ")),
        }
    }
    points.extend(new);
    Ok(())
}

/// Prints table and sentence of each standard.
///
/// # Errors
/// No image was measured; the error is that of the last one.
fn print(runs: &[RecoveryRun], searches: &[RecoverySearch]) -> CliResult {
    let mut points = runs.iter().flat_map(|run| &run.points);
    match points.clone().next_back().map(|point| &point.outcome) {
        Some(Err(problem)) if points.all(|point| point.outcome.is_err()) => return Err(problem.clone().into()),
        None => return Err(CliError::failed(Failure::NoImage, "stopped before the first iteration was complete")),
        _ => {}
    }
    for search in searches {
        print_result(format_args!("\n{}\n", search.table().to_string().trim_end()));
    }
    for (number, search) in searches.iter().enumerate() {
        let gap = if number == 0 { "\n" } else { "" };
        print_result(format_args!("{gap}{}\n", search.sentence()));
    }
    Ok(())
}

/// Writes all settings as JSON or CSV.
fn write(path: &Path, searches: &[RecoverySearch]) -> CliResult {
    if is_json(path) {
        let all = json!({ "standards": searches.iter().map(RecoverySearch::json).collect::<Vec<_>>() });
        return Ok(write_whole(path, format!("{}\n", serde_json::to_string_pretty(&all)?).as_bytes())?);
    }
    let mut table = csv::Writer::from_writer(Vec::new());
    let titles = [RecoverySearch::csv_titles()];
    let rows = titles.into_iter().chain(searches.iter().flat_map(RecoverySearch::csv_rows));
    let failed = |error: String| CliError::failed(Failure::Output, format!("{}: {error}", path.display()));
    for row in rows {
        table.write_record(row).map_err(|error| failed(error.to_string()))?;
    }
    let bytes = table.into_inner().map_err(|error| failed(error.to_string()))?;
    Ok(write_whole(path, &bytes)?)
}
