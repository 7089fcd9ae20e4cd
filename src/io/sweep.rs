//! An EPRI sweep out of its files: projections, and the reference spectrum of continuous-wave ones.

use std::path::{Path, PathBuf};

use crate::data::{Notice, ReferenceSpectrum, Study, Sweep, SweepKind};
use crate::io::epri::follow::SweepFollower;
use crate::io::epri::records::num_measured;
use crate::io::epri::saved_sweep;
use crate::io::error::{IoError, Unsupported};
use crate::io::formats::{Access, Content, FileKind, Format, Reader, ReferenceReader, not_understood};

/// Reads a sweep. Continuous-wave projections get the reference spectrum of `reference`, or else the one found beside them
/// (`NAME-h.DSC` beside `NAME-proj.DSC`); where there is none, a notice tells how to give one.
///
/// # Errors
/// An ending that is not understood, what the format's reader says, a reference that was asked for and cannot be used.
pub fn read_sweep(path: &Path, reference: Option<&Path>) -> Result<Study<Sweep>, IoError> {
    read_sweep_at_phase(path, reference, None)
}

/// The same with a phase, in degrees, that complex projections (BES3T) are turned back by; `None` = the one that their own
/// values have. A complex reference spectrum always has its own.
///
/// # Errors
/// As [`read_sweep`]; a phase of real values.
pub fn read_sweep_at_phase(path: &Path, reference: Option<&Path>, phase: Option<f64>) -> Result<Study<Sweep>, IoError> {
    let mut study = match Format::of(path).map(|format| &format.reader) {
        Some(Reader::Sweep(reader)) => (reader.projections)(path, phase)?,
        _ => return Err(not_understood(path, Content::Sweep, Access::Read)),
    };
    leave_out_unmeasured(&mut study, path)?;
    attach_reference(&mut study, path, reference)?;
    Ok(study)
}

/// Opens a sweep (Bruker's BES3T or the program's own form) that is still being written: a study without projections, and what
/// follows its data file. `reference` as in [`read_sweep`].
///
/// # Errors
/// The header cannot be read, another format, a reference that was asked for and cannot be used.
pub fn follow_sweep(path: &Path, reference: Option<&Path>) -> Result<(Study<Sweep>, SweepFollower), IoError> {
    let followed = match Format::of(path).map(|format| &format.reader) {
        Some(Reader::Sweep(reader)) => reader.header,
        _ => None,
    };
    let read_header = followed.ok_or_else(|| IoError::unsupported(path, Unsupported::NotFollowed))?;
    let (mut study, follower) = SweepFollower::new(path, read_header)?;
    attach_reference(&mut study, path, reference)?;
    Ok((study, follower))
}

/// Takes projections of zeros off the end: acquisition programs allocate a file in advance and fill it from the start.
fn leave_out_unmeasured(study: &mut Study<Sweep>, path: &Path) -> Result<(), IoError> {
    let num_there = study.measured.projections.len();
    let num_measured = num_measured(&study.measured.projections);
    match num_there - num_measured {
        0 => {}
        _ if num_measured == 0 => {
            return Err(IoError::unsupported(path, Unsupported::AllZero(num_there)));
        }
        1 => study.notices.push(Notice::warning(format!(
            "The last of {num_there} projections is zero, so it was not measured yet: it is left out, and the image is of the others"
        ))),
        num_zero => study.notices.push(Notice::warning(format!(
            "The last {num_zero} of {num_there} projections are zero, so they were not measured yet: they are left out, and the image is of the first {num_measured}"
        ))),
    }
    study.measured.projections.truncate(num_measured);
    Ok(())
}

/// Reads a reference spectrum: a single spectrum without a gradient; and what a user should know about it.
///
/// # Errors
/// An ending that is not understood, or what the format's reader says.
pub fn read_reference(path: &Path) -> Result<(ReferenceSpectrum, Vec<Notice>), IoError> {
    match reference_reader(path) {
        Some(reader) => (reader.read)(path),
        None => Err(IoError::Extension {
            path: path.to_owned(),
            what: "a reference spectrum",
            understood: "a Bruker descriptor (.DSC, with its .DTA) or a NumPy array (NAME-h.npy, with NAME-B.npy)".into(),
        }),
    }
}

/// Writes a sweep in the program's own form.
///
/// # Errors
/// An ending that is not understood, or what [`saved_sweep::write_sweep`] says.
pub fn write_sweep(path: &Path, study: &Study<Sweep>) -> Result<(), IoError> {
    match FileKind::of(path) {
        Some(FileKind::SavedSweep) => saved_sweep::write_sweep(path, study),
        _ => Err(not_understood(path, Content::Sweep, Access::Write)),
    }
}

/// Gives a continuous-wave sweep its reference spectrum, and notes where everything came from.
fn attach_reference(study: &mut Study<Sweep>, path: &Path, asked_for: Option<&Path>) -> Result<(), IoError> {
    study.origin.measured = Some(path.to_owned());
    let SweepKind::ContinuousWave { step_mt, reference, .. } = &mut study.measured.kind else {
        if let Some(given) = asked_for {
            let text = format!("{} is not needed: these projections were measured with pulses", given.display());
            study.notices.push(Notice::warning(text));
        }
        return Ok(());
    };
    let beside = path_beside(path).filter(|beside| beside.exists());
    let found = match (asked_for, beside) {
        (Some(given), _) => {
            let (spectrum, found) = read_reference(given)?;
            study.notices.extend(found);
            Some((given.to_owned(), spectrum))
        }
        (None, None) => None,
        (None, Some(beside)) => match read_reference(&beside) {
            Ok((spectrum, found)) => {
                study.notices.extend(found);
                study.notices.push(Notice::info(format!("The reference spectrum is that of {}", beside.display())));
                Some((beside, spectrum))
            }
            Err(error) => {
                study.notices.push(Notice::warning(format!(
                    "The reference spectrum in the folder of the projections is not usable: {error}"
                )));
                None
            }
        },
    };
    match found {
        Some((from, spectrum)) => {
            if (spectrum.step_mt / *step_mt - 1.0).abs() > 1e-3 {
                study.notices.push(Notice::warning(format!(
                    "The samples of the reference spectrum {} are {:.5} mT apart, those of the projections {:.5} mT",
                    from.display(),
                    spectrum.step_mt,
                    step_mt
                )));
            }
            *reference = Some(spectrum);
            study.origin.reference = Some(from);
        }
        None if reference.is_none() => study.notices.push(Notice::warning(
            "No reference spectrum found to deconvolve continuous-wave projections: measure one without a \
             gradient and copy it to their folder as NAME-h.DSC (for NAME-proj.DSC; NAME-h.npy for NAME-proj.npy), or set it (--reference FILE)",
        )),
        None => {}
    }
    Ok(())
}

/// Where the reference spectrum of a file is looked for: `NAME-h` beside `NAME-proj`, with the same ending.
fn path_beside(path: &Path) -> Option<PathBuf> {
    (reference_reader(path)?.beside)(path)
}

fn reference_reader(path: &Path) -> Option<&'static ReferenceReader> {
    match &Format::of(path)?.reader {
        Reader::Sweep(reader) => reader.reference.as_ref(),
        _ => None,
    }
}
