//! An EPRI sweep out of its files: projections, and the reference spectrum of continuous-wave ones.

use std::path::{Path, PathBuf};

use crate::data::{Notice, ReferenceSpectrum, Study, Sweep, SweepKind};
use crate::io::bytes::regular_file_len;
use crate::io::epri::follow::SweepFollower;
use crate::io::epri::plausibility;
use crate::io::epri::problem::SweepProblem;
use crate::io::epri::records::num_measured;
use crate::io::epri::reference_reader::ReferenceReader;
use crate::io::epri::saved_sweep;
use crate::io::epri::spectrum_settings::{SpectrumSettings, match_settings};
use crate::io::error::IoError;
use crate::io::formats::{Access, Content, FileKind, Format, unsupported_format};
use crate::io::readers::Reader;

/// Reads an acquisition. Continuous-wave projections get the reference spectrum of `reference`, or the one in their folder
/// (`NAME-h.DSC` for `NAME-proj.DSC`); if it is missing, a notice describes the remedy.
///
/// # Errors
/// An unsupported ending, an error of the format's reader, an unusable requested reference.
pub fn read_sweep(path: &Path, reference: Option<&Path>) -> Result<Study<Sweep>, IoError> {
    read_sweep_at_phase(path, reference, None)
}

/// The reference spectrum of a continuous-wave acquisition.
#[derive(Clone, Copy, Debug)]
pub enum ReferenceChoice<'a> {
    /// That in the folder of the projections, if there is one.
    Beside,
    /// That of a file.
    File(&'a Path),
    /// None: spectra of radicals take its place.
    OfRadicals,
}

impl<'a> From<Option<&'a Path>> for ReferenceChoice<'a> {
    fn from(file: Option<&'a Path>) -> Self {
        file.map_or(Self::Beside, Self::File)
    }
}

/// Reads an acquisition with a phase, in degrees, by which complex projections (BES3T) are turned back; `None` = the phase of
/// their values. A complex reference spectrum always has its own.
///
/// # Errors
/// As [`read_sweep`]; a phase for real values.
pub fn read_sweep_at_phase<'a>(
    path: &Path,
    reference: impl Into<ReferenceChoice<'a>>,
    phase: Option<f64>,
) -> Result<Study<Sweep>, IoError> {
    let mut study = match Format::of(path).map(|format| &format.reader) {
        Some(Reader::Sweep(reader)) => (reader.projections)(path, phase)?,
        _ => return Err(unsupported_format(path, Content::Sweep, Access::Read)),
    };
    remove_unmeasured(&mut study, path)?;
    study.notices.extend(plausibility::remove_zeros(&mut study.measured));
    study.notices.extend(plausibility::cut_off(&study.measured));
    study.notices.extend(plausibility::extent(&study.measured));
    study.notices.extend(plausibility::gap(&study.measured));
    attach_reference(&mut study, path, reference.into())?;
    Ok(study)
}

/// Opens an acquisition (Bruker's BES3T or the program's own form) that is still being written: a study without projections, and
/// the follower of its data file. `reference` as in [`read_sweep`].
///
/// # Errors
/// The header does not read, another format, an unusable requested reference.
pub fn follow_sweep<'a>(
    path: &Path,
    reference: impl Into<ReferenceChoice<'a>>,
) -> Result<(Study<Sweep>, SweepFollower), IoError> {
    let followed = match Format::of(path).map(|format| &format.reader) {
        Some(Reader::Sweep(reader)) => reader.header,
        _ => None,
    };
    let read_header = followed.ok_or_else(|| IoError::unsupported(path, SweepProblem::NotFollowed))?;
    let (mut study, follower) = SweepFollower::new(path, read_header)?;
    attach_reference(&mut study, path, reference.into())?;
    Ok((study, follower))
}

/// Takes projections of zeros off the end: acquisition programs allocate a file in advance and fill it from the start.
fn remove_unmeasured(study: &mut Study<Sweep>, path: &Path) -> Result<(), IoError> {
    let num_available = study.measured.projections.len();
    let num_measured = num_measured(&study.measured.projections);
    match num_available - num_measured {
        0 => {}
        _ if num_measured == 0 => return Err(IoError::unsupported(path, SweepProblem::AllZero(num_available))),
        1 => study.notices.push(Notice::warning(format!(
            "The last of {num_available} projections is zero, so it was not measured yet: it is left out, and the image is of the others"
        ))),
        num_zero => study.notices.push(Notice::warning(format!(
            "The last {num_zero} of {num_available} projections are zero, so they were not measured yet: they are left out, and the image is of the first {num_measured}"
        ))),
    }
    study.measured.projections.truncate(num_measured);
    Ok(())
}

/// Reads a reference spectrum, a single spectrum without a gradient, and its notices.
///
/// # Errors
/// An unsupported ending, or an error of the format's reader.
pub fn read_reference(path: &Path) -> Result<(ReferenceSpectrum, Vec<Notice>), IoError> {
    // (The format of NumPy arrays follows from the files of a set: a missing file has none.)
    regular_file_len(path)?;
    match reference_reader(path) {
        Some(reader) => {
            let (spectrum, mut notices) = (reader.read)(path)?;
            notices.extend(plausibility::sum_of_reference(path, &spectrum));
            Ok((spectrum, notices))
        }
        None => Err(IoError::Extension {
            path: path.to_owned(),
            what: "a reference spectrum",
            understood: "a Bruker descriptor (.DSC, with its .DTA) or a NumPy array (NAME-h.npy, with NAME-B.npy)".into(),
        }),
    }
}

/// Returns names and files of the spectra of several radicals in the folder of the projections (`NAME-hRADICAL.npy` for
/// `NAME-proj.npy`); none of fewer than two.
pub fn radical_spectra(path: &Path) -> Vec<(String, PathBuf)> {
    let found = reference_reader(path).map_or(Vec::new(), |reader| (reader.radicals)(path));
    if found.len() < 2 { Vec::new() } else { found }
}

/// Writes an acquisition in the program's own form.
///
/// # Errors
/// An unsupported ending, or an error of [`saved_sweep::write_sweep`].
pub fn write_sweep(path: &Path, study: &Study<Sweep>) -> Result<(), IoError> {
    match FileKind::of(path) {
        Some(FileKind::SavedSweep) => saved_sweep::write_sweep(path, study),
        _ => Err(unsupported_format(path, Content::Sweep, Access::Write)),
    }
}

/// Gives a continuous-wave sweep its reference spectrum, and notes where everything came from.
fn attach_reference(study: &mut Study<Sweep>, path: &Path, choice: ReferenceChoice) -> Result<(), IoError> {
    study.origin.measured = Some(path.to_owned());
    let has_sizes = study.measured.num_gradient_sizes() > 1;
    let SweepKind::ContinuousWave { step_mt, reference, .. } = &mut study.measured.kind else {
        if let ReferenceChoice::File(given) = choice {
            let text = format!("{} is not needed: these projections were measured with pulses", given.display());
            study.notices.push(Notice::warning(text));
        }
        return Ok(());
    };
    let default = reference_reader(path).and_then(|reader| (reader.default_path)(path)).filter(|default| default.exists());
    let found = match (choice, default) {
        (ReferenceChoice::OfRadicals, _) => return Ok(()),
        (ReferenceChoice::File(given), _) => Some((read_reference(given)?, given.to_owned())),
        (ReferenceChoice::Beside, None) => None,
        (ReferenceChoice::Beside, Some(default)) => match read_reference(&default) {
            Ok((spectrum, mut found)) => {
                found.push(Notice::info(format!("The reference spectrum is that of {}", default.display())));
                Some(((spectrum, found), default))
            }
            Err(error) => {
                let text = format!("The reference spectrum in the folder of the projections is not usable: {error}");
                study.notices.push(Notice::warning(text));
                None
            }
        },
    };
    match found {
        Some(((mut spectrum, notices), from)) => {
            study.notices.extend(notices);
            if let (Some(own), Some(of_projections)) = (settings_of(&from), settings_of(path)) {
                study.notices.extend(match_settings(&mut spectrum, [&own, &of_projections], &from));
            }
            if (spectrum.step_mt / *step_mt - 1.0).abs() > 1e-3 {
                study.notices.push(Notice::info(format!(
                    "The samples of the reference spectrum {} are {:.5} mT apart, those of the projections {:.5} mT: the transforms take both \
                     distances into account",
                    from.display(),
                    spectrum.step_mt,
                    step_mt
                )));
            }
            *reference = Some(spectrum);
            study.notices.extend(field_notice(&from, path, &study.measured));
            study.origin.reference = Some(from);
        }
        None if reference.is_none() && has_sizes => study.notices.push(Notice::info(
            "Projections under gradients of several sizes and no reference spectrum: reconstruct a spectrum in each voxel (--algorithm tv \
             --spectral-samples N)",
        )),
        None if reference.is_none() => study.notices.push(no_reference(&radical_spectra(path))),
        None => {}
    }
    Ok(())
}

/// Returns the notice on a missing reference spectrum, with the spectra of radicals that were found in its place.
fn no_reference(radicals: &[(String, PathBuf)]) -> Notice {
    if radicals.is_empty() {
        return Notice::warning(
            "No reference spectrum found to deconvolve continuous-wave projections: measure one without a \
             gradient and copy it to their folder as NAME-h.DSC (for NAME-proj.DSC; NAME-h.npy for NAME-proj.npy), or set it (--reference FILE)",
        );
    }
    let sources: Vec<String> = radicals.iter().map(|(name, file)| format!("{name}={}", file.display())).collect();
    Notice::info(format!(
        "No reference spectrum, but spectra of {} radicals in the folder of the projections: total variation makes an image of each \
         (--algorithm tv --radicals {}). For one image, set the reference spectrum (--reference FILE)",
        radicals.len(),
        sources.join(",")
    ))
}

/// Returns a notice if, by the headers, the line of a spectrum is at another place among its samples than those of the projections `path`.
pub fn field_notice(reference: &Path, path: &Path, sweep: &Sweep) -> Option<Notice> {
    let both = |of: &dyn Fn(&Path) -> Option<f64>| Some([of(reference)?, of(path)?]);
    let middles_mt = both(&|path| reference_reader(path).and_then(|reader| (reader.middle_mt)(path)));
    let frequencies_ghz = both(&|path| settings_of(path)?.frequency_ghz);
    plausibility::other_field(reference, middles_mt, frequencies_ghz, sweep)
}

/// Returns the settings of the spectrometer for a spectrum or for projections, if their file has them.
fn settings_of(path: &Path) -> Option<SpectrumSettings> {
    reference_reader(path).and_then(|reader| (reader.settings)(path))
}

fn reference_reader(path: &Path) -> Option<&'static ReferenceReader> {
    match &Format::of(path)?.reader {
        Reader::Sweep(reader) => reader.reference.as_ref(),
        _ => None,
    }
}
