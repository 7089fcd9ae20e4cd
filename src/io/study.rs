//! A study out of its files: measured data, factors, background.

use std::path::Path;
use std::sync::Arc;

use super::{IoError, read_projections};
use crate::data::{Michelogram, Study};

/// Reads measured data with its corrections: ȳ = multiplicative ⊙ (A x) + additive. With `additive_inside` the additive
/// file holds additive / multiplicative (STIR's convention: added before the factors are applied).
///
/// # Errors
/// A file cannot be read, or a correction is sampled differently from the data.
pub fn read_study(
    path: &Path,
    multiplicative: Option<&Path>,
    additive: Option<&Path>,
    additive_inside: bool,
) -> Result<Study, IoError> {
    let (measured, mut notices) = read_projections(path)?;
    let mut read = |path: Option<&Path>| -> Result<Option<Michelogram>, IoError> {
        let Some(path) = path else { return Ok(None) };
        let (data, more) = read_projections(path)?;
        notices.extend(more);
        Ok(Some(data))
    };
    let (multiplicative, additive) = (read(multiplicative)?, read(additive)?);
    let title = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut study = Study::new(title, measured).with_corrections(multiplicative, additive)?;
    if let (true, Some(factors), Some(additive)) = (additive_inside, &study.multiplicative, &mut study.additive) {
        let values = Arc::make_mut(&mut additive.counts).iter_mut();
        values.zip(factors.counts.iter()).for_each(|(value, factor)| *value *= factor);
    }
    study.notices = notices;
    Ok(study)
}
