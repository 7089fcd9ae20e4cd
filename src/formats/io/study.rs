//! A study out of its files: measured data, factors, background.

use std::path::{Path, PathBuf};

use crate::coded::coded;
use crate::data::{
    CorrectionContent, Counts, ImageChoice, ImageSeries, Michelogram, Origin, OxygenSeries, PairCounts, SeriesProblem, Study,
    Sweep, TofBackground, not_of_a_series,
};
use crate::io::by_content::{read_images, read_measured, read_projections};
use crate::io::companions::correction_contents;
use crate::io::error::IoError;
use crate::io::notice;
use crate::io::own::oximetry::{self, OximetryStudy};
use crate::io::own::saved_pairs::read_pairs;
use crate::io::readers::Measured;
use crate::io::sweep::read_sweep;
use crate::text::counted;

/// Files of the corrections of projections.
#[derive(Clone, Copy, Debug, Default)]
pub struct CorrectionFiles<'a> {
    /// Factors; `None` = 1.
    pub multiplicative: Option<&'a Path>,
    /// True if this file holds their inverse.
    pub multiplicative_inverse: bool,
    /// Background; `None` = 0.
    pub additive: Option<&'a Path>,
    /// True if the background is added before the factors are applied.
    pub additive_inside: bool,
}

/// Rounding of a factor of 1.
const SLACK: f32 = 0.01;

/// Largest of factors that are all about 1.
const SOME: f32 = 0.05;

/// Bins of a hundred with counts whose factors are above 1: of relative efficiencies about fifty.
const MANY_OF_HUNDRED: u64 = 65;

/// Largest factor of relative efficiencies, whose mean is 1.
const MOST: f32 = 10.0;

/// Reads measured data with the corrections of its files: ȳ = multiplicative ⊙ (A x) + additive. With `multiplicative_inverse` the
/// file holds 1 / multiplicative; a bin with 0 there counts for nothing. With `additive_inside` the additive file holds
/// additive / multiplicative (STIR's convention: added before the factors are applied). Without an additive file the randoms of
/// Siemens' sinograms are the background.
///
/// # Errors
/// A file does not read, or a correction is sampled differently from the data.
pub fn read_study(path: &Path, files: CorrectionFiles) -> Result<Study<Counts>, IoError> {
    let CorrectionFiles { multiplicative: of_factors, multiplicative_inverse, additive, additive_inside } = files;
    let origin = Origin {
        multiplicative: of_factors.map(Path::to_owned),
        multiplicative_inverse,
        additive: additive.map(Path::to_owned),
        additive_inside,
        ..Origin::of(path)
    };
    let Measured { prompts, randoms, facts, mut notices } = read_measured(path)?;
    let mut read = |path: Option<&Path>| -> Result<Option<Michelogram>, IoError> {
        let Some(path) = path else { return Ok(None) };
        let (data, more) = read_projections(path)?;
        notices.extend(more);
        Ok(Some(data))
    };
    for (file, is_additive) in [(of_factors, false), (additive, true)] {
        let contents = file.map_or(Ok(None), correction_contents)?.unwrap_or_default();
        if let (Some(file), Some(content)) = (file, contents.iter().find(|content| content.is_additive() != is_additive)) {
            return Err(IoError::unsupported(file, OtherCorrection { content: *content, is_additive }));
        }
    }
    let (mut multiplicative, additive) = (read(of_factors)?, read(additive)?);
    if let (Some(file), true) = (files.additive, additive.as_ref().is_some_and(|additive| additive.counts == prompts.counts)) {
        notices.push(notice::warning(file, "the background is equal to the scan itself: nothing is left for the image"));
    }
    if let (Some(file), Some(factors)) = (of_factors, &mut multiplicative) {
        if multiplicative_inverse {
            let num_zero = factors.invert();
            if num_zero > 0 {
                let bins = counted(num_zero, "bin");
                notices.push(notice::info(file, format!("{bins} with a correction factor of 0: not measured")));
            }
        }
        let found = implausible_factors(&prompts, factors, multiplicative_inverse);
        notices.extend(found.map(|text| notice::warning(file, text)));
    }
    let additive_inside = additive_inside && additive.is_some();
    if randoms.is_some() {
        let use_of = if additive.is_none() { "are taken as the background" } else { "are not used, since a background is given" };
        notices.push(notice::info(path, format!("its measured randoms {use_of}")));
    }
    let additive = additive.or(randoms);
    let title = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut counts = Counts { facts, ..Counts::new(prompts) }.with_corrections(multiplicative, additive)?;
    if let (true, Some(factors), Some(additive)) = (additive_inside, &counts.multiplicative, &mut counts.additive) {
        additive.scale_bins(&factors.counts);
    }
    if let Some(background) = counts.tof_background() {
        let part = match background {
            TofBackground::SumOfBins => format!("they share it in equal parts ({background})"),
            TofBackground::Window(_) => format!("they contain {background}, and that part of it"),
        };
        notices.push(notice::info(path, format!("the background has no time-of-flight bins: {part}")));
        counts = counts.with_background_of_bins();
    }
    Ok(Study { origin, notices, ..Study::new(title, counts) })
}

/// A correction of the other kind.
#[derive(Debug, thiserror::Error)]
#[error("it contains {content}, which {}", if self.is_additive { "is a factor: set --multiplicative" } else { "is a background: set --additive" })]
struct OtherCorrection {
    content: CorrectionContent,
    /// True of the place of a background.
    is_additive: bool,
}

coded!(OtherCorrection = "io.unsupported.interfile");

/// Returns the smallest factor above 0, and the largest.
fn extremes(factors: &[f32]) -> (f32, f32) {
    let above_zero = factors.iter().copied().filter(|factor| *factor > 0.0);
    above_zero.fold((f32::INFINITY, 0.0), |(low, high), factor| (low.min(factor), high.max(factor)))
}

/// Returns a warning about factors that are the inverse of efficiency × survival, as STIR's ACF: most bins with counts would have more
/// of them than photon pairs.
fn implausible_factors(prompts: &Michelogram, factors: &Michelogram, is_inverse: bool) -> Option<String> {
    let advice = match is_inverse {
        false => "attenuation correction factors (STIR's ACF) are their inverse: --multiplicative-inverse takes those",
        true => "this file holds them, not their inverse: leave out --multiplicative-inverse",
    };
    let with_counts = prompts.counts.iter().zip(&*factors.counts).filter(|(counts, _)| **counts > 0.0);
    let (num, above) = with_counts.fold((0, 0), |(num, above), (_, factor)| (num + 1, above + u64::from(*factor > 1.0 + SLACK)));
    let (smallest, largest) = extremes(&factors.counts);
    // Of survival × efficiency none is above 1; of relative efficiencies about half of the bins.
    let has_none_below = smallest > 1.0 - SLACK && largest > 1.0 + SOME;
    (MANY_OF_HUNDRED * num < 100 * above || has_none_below || largest > MOST).then(|| {
        format!(
            "{above} of the {num} bins with counts have factors above 1 (up to {largest:.4}), more than all photon pairs: factors are \
             efficiency × survival; {advice}"
        )
    })
}

/// Reads a crystal-pair histogram, named after its file.
///
/// # Errors
/// Those of [`read_pairs`].
pub fn read_pair_study(path: &Path) -> Result<Study<PairCounts>, IoError> {
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = Origin::of(path);
    Ok(Study { origin, ..Study::new(title, read_pairs(path)?) })
}

/// Reads acquisitions of pulse oximetry.
///
/// # Errors
/// The file of the study, or an acquisition, does not read.
pub fn read_oximetry_study(path: &Path) -> Result<Study<OxygenSeries>, IoError> {
    let OximetryStudy { title, calibration, acquisitions } = oximetry::read_file(path)?;
    let mut notices = Vec::new();
    let mut read = |(time_us, file): (f64, PathBuf)| -> Result<(f64, Sweep), IoError> {
        let study = read_sweep(&file, None)?;
        notices.extend(study.notices);
        Ok((time_us, study.measured))
    };
    let files: Vec<PathBuf> = acquisitions.iter().map(|(_, file)| file.clone()).collect();
    let (times_us, sweeps): (Vec<f64>, Vec<Sweep>) =
        acquisitions.into_iter().map(&mut read).collect::<Result<Vec<_>, IoError>>()?.into_iter().unzip();
    check_series(&files, &sweeps)?;
    let sweeps = times_us.into_iter().zip(sweeps).collect();
    let origin = Origin::of(path);
    Ok(Study { origin, notices, ..Study::new(title, OxygenSeries::spread(sweeps, calibration)) })
}

/// Refuses acquisitions that are no series of pulse oximetry, read from these files.
///
/// # Errors
/// An acquisition of another kind, space, sampling or other directions than the first, or with the data of an earlier one.
pub fn check_series(files: &[PathBuf], sweeps: &[Sweep]) -> Result<(), IoError> {
    match not_of_a_series(sweeps) {
        Some((index, problem)) => Err(IoError::unsupported(&files[index], OfSeries(problem))),
        None => Ok(()),
    }
}

/// An acquisition that does not belong to its series.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct OfSeries(SeriesProblem);

coded!(OfSeries = "io.unsupported.epri");

/// Reads images of another program, named after their file.
///
/// # Errors
/// Those of [`read_images`].
pub fn read_image_study(path: &Path) -> Result<Study<ImageSeries>, IoError> {
    let title = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let origin = Origin::of(path);
    let (series, notices) = read_images(path, ImageChoice::All)?;
    Ok(Study { origin, notices, ..Study::new(title, series) })
}
