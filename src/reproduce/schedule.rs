//! Measurements, in stages that can be run one by one. Each is kept as soon as it is made, and what is kept is not
//! measured again.

use std::fmt::Display;
use std::time::Instant;

use strum::VariantArray;

use super::ReproduceError;
use super::folder::Folder;

/// Something to measure.
pub(super) trait Measurement {
    /// Its name in the folder.
    fn key(&self) -> String;

    /// Its name for people.
    fn title(&self) -> String;
}

/// Makes the measurements of some stages that the folder does not hold yet. `measure` makes one, keeps it and returns what to
/// say about it. `false` if there was not time for all.
pub(super) fn measure_missing<S: Display, M: Measurement>(
    stages: impl IntoIterator<Item = (S, Vec<M>)>,
    folder: &Folder,
    budget_secs: Option<f64>,
    say: &mut dyn FnMut(&str),
    mut measure: impl FnMut(&M) -> Result<&'static str, ReproduceError>,
) -> Result<bool, ReproduceError> {
    let begin = Instant::now();
    let mut longest_secs = 0.0f64;
    for (stage, todo) in stages {
        let stage_begin = Instant::now();
        let missing: Vec<&M> = todo.iter().filter(|work| !folder.has(&work.key())).collect();
        say(&format!("stage {stage}: {} of {} measurements done", todo.len() - missing.len(), todo.len()));
        for (index, work) in missing.iter().enumerate() {
            let elapsed_secs = begin.elapsed().as_secs_f64();
            if budget_secs.is_some_and(|budget| elapsed_secs + longest_secs > budget) {
                say(&format!("stopped after {elapsed_secs:.0} s at the time limit; run the same command again to continue"));
                return Ok(false);
            }
            let work_begin = Instant::now();
            let outcome = measure(work)?;
            let secs = work_begin.elapsed().as_secs_f64();
            longest_secs = longest_secs.max(secs);
            say(&format!("  {} of {}: {}: {outcome}{secs:.1} s", index + 1, missing.len(), work.title()));
        }
        if !missing.is_empty() {
            say(&format!("stage {stage} took {:.1} s", stage_begin.elapsed().as_secs_f64()));
        }
    }
    Ok(true)
}

/// Says that a text is not the name of a stage, and which there are.
pub(super) fn not_a_stage<S: Display + VariantArray>(text: &str) -> String {
    let names: Vec<String> = S::VARIANTS.iter().map(S::to_string).collect();
    format!("'{text}' is not a stage; use {}", names.join(", "))
}
