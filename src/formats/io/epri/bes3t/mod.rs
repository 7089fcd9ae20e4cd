//! Bruker's BES3T: a text descriptor (`.DSC`) and a file of big- or little-endian numbers (`.DTA`), as EPR spectrometers of the
//! Elexsys and EMX series write it. An imaging acquisition (one spectrum per gradient) is read as continuous-wave projections, a
//! single spectrum as their reference spectrum: `NAME-h.DSC` in the folder of `NAME-proj.DSC`.

mod gradient;
mod header;
mod problem;

use std::path::{Path, PathBuf};

use self::gradient::Gradients;
use self::header::Descriptor;
use super::records::{Kind, Planned, Records, check_finite};
use super::reference_reader::ReferenceReader;
use super::spectrum_settings::SpectrumSettings;
use crate::data::{Notice, Phase, ReferenceSpectrum, Study, Sweep, SweepKind, SweepMetadata};
use crate::io::bytes::{ByteOrder, NumberFormat, NumberType};
use crate::io::epri::bes3t::problem::Bes3tProblem;
use crate::io::error::IoError;
use crate::io::notice;

/// Reader of the reference spectra of such acquisitions.
pub const REFERENCE: ReferenceReader =
    ReferenceReader { read: read_spectrum, default_path: reference_path, radicals: |_| Vec::new(), middle_mt, settings };

/// Most samples of a spectrum and most spectra.
const MAX_COUNT: usize = 1 << 24;

/// Part of the energy in the imaginary part that should not be there.
const LARGE_REMAINDER: f64 = 0.25;

/// mT/mm in a G/cm.
const MT_PER_MM: f64 = 0.01;

/// Layout of a data file, from its descriptor.
struct Layout {
    records: Records,
    /// Spectra in the file.
    num_spectra: usize,
    step_mt: f64,
    notices: Vec<Notice>,
}

impl Layout {
    fn from_descriptor(descriptor: &Descriptor) -> Result<Self, IoError> {
        let mut notices = Vec::new();
        let kind = kind(descriptor)?;
        let format = number_format(descriptor, &mut notices)?;
        let num_points = descriptor.count("DESC", "XPTS")?;
        let num_spectra = match descriptor.text("DESC", "YTYP") {
            None | Some("NODATA") => 1,
            _ => descriptor.count("DESC", "YPTS")?,
        };
        for (key, count) in [("XPTS", num_points), ("YPTS", num_spectra)] {
            if count > MAX_COUNT {
                return Err(descriptor.invalid(key, &count.to_string(), format!("at most {MAX_COUNT}")));
            }
        }
        if num_points < 3 {
            return Err(descriptor.invalid("XPTS", &num_points.to_string(), "at least 3 samples of a spectrum"));
        }
        if descriptor.text("DESC", "ZTYP").is_some_and(|kind| kind != "NODATA") {
            return Err(IoError::unsupported(&descriptor.path, Bes3tProblem::ThirdAxis));
        }
        let step_mt = field_step_mt(descriptor, num_points, &mut notices)?;
        let data = data_file(&descriptor.path)?;
        let records = Records { data, format, offset: 0, num_leading: 0, num_points, kind, plan: Vec::new() };
        Ok(Self { records, num_spectra, step_mt, notices })
    }
}

/// Refuses several spectra along an axis that is no gradient: powers (`AXS2 MWPW`), times, temperatures.
fn check_second_axis(descriptor: &Descriptor, num_spectra: usize) -> Result<(), IoError> {
    let other = |axis: &&str| num_spectra > 1 && !["GRAD", "NONE"].contains(axis);
    match descriptor.text("SPL", "AXS2").filter(other) {
        Some(axis) => {
            let name = descriptor.text("DESC", "YNAM").unwrap_or(axis).to_owned();
            Err(IoError::unsupported(&descriptor.path, Bes3tProblem::SecondAxis(name, num_spectra)))
        }
        None => Ok(()),
    }
}

/// Returns the kind of the samples, real or complex; several channels are refused.
fn kind(descriptor: &Descriptor) -> Result<Kind, IoError> {
    match descriptor.text("DESC", "IKKF") {
        None | Some("REAL") => Ok(Kind::Real),
        Some("CPLX") => match (descriptor.text("DESC", "IRFMT"), descriptor.text("DESC", "IIFMT")) {
            (real, Some(imaginary)) if real != Some(imaginary) => {
                Err(descriptor.invalid("IIFMT", imaginary, "the format of the real part (IRFMT)"))
            }
            _ => Ok(Kind::Complex(None)),
        },
        Some(other) => Err(descriptor.invalid("IKKF", other, "REAL or CPLX, one channel,")),
    }
}

/// Returns the format of the numbers.
fn number_format(descriptor: &Descriptor, notices: &mut Vec<Notice>) -> Result<NumberFormat, IoError> {
    let byte_order = match descriptor.text("DESC", "BSEQ") {
        Some("BIG") => ByteOrder::Big,
        Some("LIT") => ByteOrder::Little,
        Some(other) => return Err(descriptor.invalid("BSEQ", other, "BIG or LIT")),
        None => {
            notices.push(notice::warning(&descriptor.path, "the key BSEQ (byte order) is missing; BIG is assumed"));
            ByteOrder::Big
        }
    };
    let number_type = match descriptor.required("DESC", "IRFMT")? {
        "C" => NumberType::Int8,
        "S" => NumberType::Int16,
        "I" => NumberType::Int32,
        "F" => NumberType::Float32,
        "D" => NumberType::Float64,
        other => return Err(descriptor.invalid("IRFMT", other, "one of C, S, I, F, D (whole numbers or floats)")),
    };
    Ok(NumberFormat { number_type, byte_order, scale: 1.0, intercept: 0.0 })
}

/// Returns the unit of the field axis; G if it has none.
fn mt_per_unit(descriptor: &Descriptor) -> Result<f64, IoError> {
    match descriptor.text("DESC", "XUNI") {
        None | Some("G") => Ok(0.1),
        Some("mT") => Ok(1.0),
        Some("T") => Ok(1000.0),
        Some(other) => Err(descriptor.invalid("XUNI", other, "a unit of the magnetic field: G, mT or T")),
    }
}

/// Returns the field of the middle sample, ⌊n/2⌋, mT; `None` if the descriptor does not have it.
pub fn middle_mt(path: &Path) -> Option<f64> {
    let descriptor = Descriptor::read(&descriptor_file(path)).ok()?;
    let num_points = descriptor.count("DESC", "XPTS").ok()?;
    let [first, width] = ["XMIN", "XWID"].map(|key| descriptor.number("DESC", key).ok());
    Some(mt_per_unit(&descriptor).ok()? * (first? + width? * (num_points / 2) as f64 / (num_points - 1) as f64))
}

/// Gains of a receiver, dB, and microwave frequencies that can be, Hz.
const GAINS_DB: std::ops::RangeInclusive<f64> = 0.0..=200.0;
const FREQUENCIES_HZ: std::ops::RangeInclusive<f64> = 1e7..=1e12;

/// Returns the settings of the spectrometer in a descriptor, in SI units there; `None` if it is not readable.
fn settings(path: &Path) -> Option<SpectrumSettings> {
    let descriptor = Descriptor::read(&descriptor_file(path)).ok()?;
    let number = |key| descriptor.number("SPL", key).ok();
    let scans = ["NbScansDone", "NbScansAcc"].into_iter().filter_map(|key| descriptor.number("recorder", key).ok());
    let done = scans.into_iter().find(|num| *num >= 1.0);
    Some(SpectrumSettings {
        gain: number("RCAG").filter(|decibels| GAINS_DB.contains(decibels)).map(|decibels| 10_f64.powf(decibels / 20.0)),
        num_scans: done.or_else(|| number("AVGS")),
        num_planned: number("AVGS"),
        is_normalised: ["signalChannel", "recorder"].iter().any(|device| descriptor.text(device, "SctNorm") == Some("True")),
        conversion_secs: number("SPTP"),
        time_constant_secs: number("RCTC"),
        temperature_k: number("STMP"),
        harmonic: number("RCHM"),
        modulation_mt: number("B0MA").map(|tesla| 1e3 * tesla),
        power_mw: number("MWPW").map(|watts| 1e3 * watts),
        phase_deg: number("RCPH"),
        // (Without a counter it is 0.)
        frequency_ghz: number("MWFQ").filter(|hertz| FREQUENCIES_HZ.contains(hertz)).map(|hertz| 1e-9 * hertz),
    })
}

/// Returns the distance of samples along the field axis.
fn field_step_mt(descriptor: &Descriptor, num_points: usize, notices: &mut Vec<Notice>) -> Result<f64, IoError> {
    if let Some(other) = descriptor.text("DESC", "XTYP").filter(|&kind| kind != "IDX") {
        return Err(descriptor.invalid("XTYP", other, "IDX (evenly spaced samples)"));
    }
    let mt_per_unit = mt_per_unit(descriptor)?;
    if descriptor.text("DESC", "XUNI").is_none() {
        notices.push(notice::warning(&descriptor.path, "the field axis has no unit (XUNI); G is assumed"));
    }
    let width = descriptor.number("DESC", "XWID")?;
    let step_mt = mt_per_unit * width / (num_points - 1) as f64;
    if step_mt > 0.0 { Ok(step_mt) } else { Err(descriptor.invalid("XWID", &width.to_string(), "a positive width")) }
}

/// Returns the time of a spectrum: the duration of the acquisition over their number, otherwise the samples times the time for
/// one.
fn secs_per_spectrum(descriptor: &Descriptor, records: &Records) -> Option<f64> {
    let secs = |text: &str| in_unit(text, &[("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)]);
    let whole = descriptor.text("grdUnit", "TotalTime").and_then(secs).map(|total| total / records.plan.len() as f64);
    let samples = || Some(descriptor.number("SPL", "SPTP").ok()? * records.num_points as f64);
    whole.or_else(samples).filter(|secs| secs.is_finite() && *secs > 0.0)
}

/// Returns the side of the planned image.
fn field_of_view_mm(descriptor: &Descriptor) -> Option<f64> {
    let mm = in_unit(descriptor.text("grdUnit", "FieldOfView")?, &[("mm", 1.0), ("cm", 10.0), ("m", 1000.0)]);
    mm.filter(|mm| mm.is_finite() && *mm > 0.0)
}

/// Returns a number with its unit as a multiple of the unit of 1.
fn in_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    Some(number.parse::<f64>().ok()? * factor)
}

/// Returns a descriptor's data file: the same name with `.DTA`, in the case of the descriptor's ending.
fn data_file(descriptor: &Path) -> Result<PathBuf, IoError> {
    let upper = descriptor.extension().is_some_and(|ending| ending == "DSC");
    let endings = if upper { ["DTA", "dta"] } else { ["dta", "DTA"] };
    let [first, second] = endings.map(|ending| descriptor.with_extension(ending));
    if first.exists() || !second.exists() { Ok(first) } else { Ok(second) }
}

/// Returns the descriptor and the data file of a `.DTA` or `.DSC` file.
pub fn pair(path: &Path) -> Vec<PathBuf> {
    let descriptor = descriptor_file(path);
    data_file(&descriptor).into_iter().chain([descriptor]).collect()
}

/// Returns the descriptor of a `.DTA` or `.DSC` file.
fn descriptor_file(path: &Path) -> PathBuf {
    let ending = path.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("dta") {
        path.with_extension(if ending == "dta" { "dsc" } else { "DSC" })
    } else {
        path.to_owned()
    }
}

/// Returns the path of the reference spectrum of an acquisition.
pub fn reference_path(path: &Path) -> Option<PathBuf> {
    let path = descriptor_file(path);
    let (stem, ending) = (path.file_stem()?.to_str()?, path.extension()?.to_str()?);
    let name = stem.strip_suffix("-proj")?;
    Some(path.with_file_name(format!("{name}-h.{ending}")))
}

/// Reads the header of an acquisition: a study without projections, and the records of its projections.
pub fn sweep_header(path: &Path) -> Result<(Study<Sweep>, Records), IoError> {
    let path = &descriptor_file(path);
    let descriptor = Descriptor::read(path)?;
    let Layout { mut records, num_spectra, step_mt, mut notices } = Layout::from_descriptor(&descriptor)?;
    check_second_axis(&descriptor, num_spectra)?;
    if num_spectra == 1 && descriptor.text("SPL", "GRAD").is_none() {
        return Err(IoError::unsupported(path, Bes3tProblem::SingleSpectrum));
    }
    let gradients = Gradients::from_descriptor(&descriptor)?;
    records.plan = gradients.plan();
    if num_spectra != records.plan.len() {
        let expected = format!("{}, the number of gradients (NrOfAlpha, ImageType),", records.plan.len());
        return Err(descriptor.invalid("YPTS", &num_spectra.to_string(), expected));
    }
    let gradient_mt_per_mm = gradients.size_g_per_cm * MT_PER_MM;
    let step_mm = step_mt / gradient_mt_per_mm;
    if !(step_mm.is_finite() && step_mm > 0.0) {
        let expected = "a gradient that fits the width of the sweep";
        return Err(descriptor.invalid("GRAD", &gradients.size_g_per_cm.to_string(), expected));
    }
    notices.extend(gradients.notices);
    let sweep = Sweep {
        kind: SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference: None },
        space: gradients.space,
        num_points: records.num_points,
        step_mm,
        centre: (records.num_points / 2) as f64,
        projections: Vec::new(),
        num_expected: Some(records.plan.len()),
        secs_per_projection: secs_per_spectrum(&descriptor, &records),
        facts: SweepMetadata { field_of_view_mm: field_of_view_mm(&descriptor), ..SweepMetadata::default() },
    };
    let title = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok((Study { notices, ..Study::new(title, sweep) }, records))
}

/// Reads an imaging acquisition without its reference spectrum. Complex projections are turned back by a phase in degrees, by
/// default the phase that their values have.
///
/// # Errors
/// A descriptor without a required key or with an invalid value, counts that contradict each other, a data file that is missing
/// or too short, samples that are not numbers, a phase for real values.
pub fn read_projections(path: &Path, phase: Option<f64>) -> Result<Study<Sweep>, IoError> {
    let (mut study, mut records) = sweep_header(path)?;
    records.check_phase(path, phase)?;
    records.check_len()?;
    let sweep = &mut study.measured;
    sweep.facts.phase = records.find_phase(0..records.plan.len(), phase)?;
    study.notices.extend(sweep.facts.phase.map(|phase| phase_notice("The complex projections", &phase)));
    let (projections, num_left) = records.read_all()?;
    if num_left > 0 {
        study.notices.push(Notice::warning(format!(
            "{} has {num_left} more bytes than the descriptor's {} projections of {} samples; they were left out",
            records.data.display(),
            records.plan.len(),
            records.num_points
        )));
    }
    sweep.projections = projections;
    Ok(study)
}

/// Returns the notice on the phase of complex spectra; `what` is their name.
pub fn phase_notice(what: &str, phase: &Phase) -> Notice {
    let text = format!("{what} are {}", phase.text());
    // Half of it is the dispersion of quadrature detection.
    let is_dispersion = phase.is_automatic && (phase.remainder - 0.5).abs() <= 0.1;
    match phase.remainder > LARGE_REMAINDER && !is_dispersion {
        true => Notice::warning(text),
        false if is_dispersion => Notice::info(format!("{text}, as the dispersion of quadrature detection")),
        false => Notice::info(text),
    }
}

/// Reads a single spectrum. A complex one is turned back by its own phase, which a notice reports.
///
/// # Errors
/// As [`read_projections`]; several spectra.
pub fn read_spectrum(path: &Path) -> Result<(ReferenceSpectrum, Vec<Notice>), IoError> {
    let path = &descriptor_file(path);
    let descriptor = Descriptor::read(path)?;
    let Layout { mut records, num_spectra, step_mt, .. } = Layout::from_descriptor(&descriptor)?;
    check_second_axis(&descriptor, num_spectra)?;
    if num_spectra != 1 {
        return Err(IoError::unsupported(path, Bes3tProblem::SeveralSpectra(num_spectra)));
    }
    let found = crate::io::bytes::regular_file_len(&records.data)?;
    if found < records.record_bytes() {
        let what = format!("a spectrum of {} samples", records.num_points);
        return Err(IoError::TooShort { path: records.data.clone(), what, expected: records.record_bytes(), found });
    }
    records.plan = vec![Planned { direction: [0.0; 3], weight: 0.0 }];
    let phase = records.find_phase(0..1, None)?;
    let notices = phase.map(|phase| phase_notice("The complex values of the reference spectrum", &phase)).into_iter().collect();
    let values = records.read(0..1)?.pop().map(|spectrum| spectrum.values).unwrap_or_default();
    check_finite(&records.data, "the spectrum", &values)?;
    Ok((ReferenceSpectrum { values, step_mt }, notices))
}
