//! The header: the scanner, its efficiencies and time of flight, and the meaning of the numbers of its events.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::binary::Value;
use super::coincidences::PairOfTypes;
use super::efficiency::{Efficiencies, are_in_coincidence};
use super::geometry::{ModuleType, Transform, crystals};
use crate::data::{Exam, ListMetadata, Notice, Sex, TofException, TofMeasurement};
use crate::geometry::LENGTHS_MM;
use crate::io::error::{Excess, IoError, Mismatch};
use crate::io::list_mode::petsird::problem::PetsirdProblem;
use crate::scanner::Detectors;

/// The required content of a header.
#[derive(Debug)]
pub struct Header {
    /// Facts other than the events.
    pub facts: ListMetadata,
    /// Meaning of the events of types t₁ ≥ t₂, at t₁ (t₁ + 1) / 2 + t₂.
    pub pairs: Vec<PairOfTypes>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

impl Header {
    /// Reads a header of a file; `refuse` makes an error of a problem.
    ///
    /// # Errors
    /// Missing, contradictory or unsupported content.
    pub fn new(path: &Path, value: &Value, format: &str, refuse: impl Fn(PetsirdProblem) -> IoError) -> Result<Self, IoError> {
        let scanner = value.record("scanner").map_err(&refuse)?;
        let name = scanner.text("modelName").map_err(&refuse)?;
        let (types, crystals) = scanner.record("scannerGeometry").and_then(crystals).map_err(&refuse)?;
        let detectors = Detectors::new(name, crystals).map_err(|source| IoError::Detectors(path.to_owned(), source))?;
        let num_energies = num_energies(scanner, types.len()).map_err(&refuse)?;
        let mut header = Self { facts: ListMetadata::new(format, Arc::new(detectors)), pairs: Vec::new(), notices: Vec::new() };
        header.read_tof(scanner, &types, &num_energies).map_err(&refuse)?;
        header.read_efficiency(scanner, &types, &num_energies).map_err(&refuse)?;
        header.facts.isotope = isotope(value);
        header.facts.exam = exam(value);
        header.notices.extend(unused(scanner));
        if let Some(transform) = scanner.maybe("gantryAlignment")
            && !Transform::new(transform).map_err(&refuse)?.is_identity()
        {
            header.notices.push(Notice::info(
                "the gantry is not aligned with the axes of the patient (gantryAlignment); the image has the scanner's own axes",
            ));
        }
        Ok(header)
    }

    /// Reads the bins and the resolution of time of flight of all pairs of types of modules. The first pair that measures it is the
    /// rule; other pairs in coincidence with other bins or another resolution are the exceptions.
    fn read_tof(&mut self, scanner: &Value, types: &[ModuleType], num_energies: &[usize]) -> Result<(), PetsirdProblem> {
        let mut of_types = Vec::new();
        for (t1, ty) in types.iter().enumerate() {
            for (t2, other) in types.iter().enumerate().take(t1 + 1) {
                let is_in_coincidence = are_in_coincidence(scanner, [t1, t2]);
                let (edges, fwhm_mm) = match tof_of_types(scanner, [t1, t2]) {
                    Ok(found) => found,
                    Err(problem) if is_in_coincidence => return Err(problem),
                    // No event has these types, so their content is ignored.
                    Err(_) => (&[][..], None),
                };
                self.pairs.push(PairOfTypes {
                    num_bins: [(ty, t1), (other, t2)].map(|(ty, t)| (ty.num_crystals() * num_energies[t]) as u64),
                    num_energies: [t1, t2].map(|t| num_energies[t] as u32),
                    first_crystals: [ty, other].map(|ty| ty.first_crystal as u32),
                    num_tof: edges.len().saturating_sub(1) as u64,
                    intervals_mm: Vec::new(),
                });
                let crystals = [ty, other].map(|ty| ty.first_crystal as u32..(ty.first_crystal + ty.num_crystals()) as u32);
                // (One bin may be without end.)
                let edges_mm: Vec<f64> = edges.iter().map(|edge| edge.clamp(-LENGTHS_MM.end(), *LENGTHS_MM.end())).collect();
                of_types.push(TypesTof { crystals, edges_mm, fwhm_mm, is_in_coincidence });
            }
        }
        let Some(rule) = of_types.iter().find(|types_tof| types_tof.is_in_coincidence && types_tof.fwhm_mm.is_some()) else {
            return Ok(());
        };
        let mut tof = TofMeasurement {
            fwhm_mm: rule.fwhm_mm.unwrap_or_default(),
            window_mm: rule.window_mm(),
            edges_mm: rule.edges_mm.clone(),
            exceptions: Vec::new(),
        };
        for (pair, types_tof) in self.pairs.iter_mut().zip(&of_types) {
            pair.intervals_mm = types_tof.edges_mm.windows(2).map(|edges| [edges[0] as f32, edges[1] as f32]).collect();
            // A pair without bins has the window alone, and the resolution of the others for its ends.
            let edges_mm = if types_tof.fwhm_mm.is_some() { types_tof.edges_mm.clone() } else { Vec::new() };
            let fwhm_mm = types_tof.fwhm_mm.unwrap_or(tof.fwhm_mm);
            if types_tof.is_in_coincidence && (fwhm_mm, &edges_mm) != (tof.fwhm_mm, &tof.edges_mm) {
                let (crystals, window_mm) = (types_tof.crystals.clone(), types_tof.window_mm());
                tof.exceptions.push(TofException { crystals, fwhm_mm, window_mm, edges_mm });
            }
        }
        self.facts.tof = Some(tof);
        Ok(())
    }

    fn read_efficiency(&mut self, scanner: &Value, types: &[ModuleType], num_energies: &[usize]) -> Result<(), PetsirdProblem> {
        let Some(value) = scanner.maybe("detectionEfficiencies") else { return Ok(()) };
        let calibration = match value.maybe("calibrationFactor") {
            Some(_) => value.number("calibrationFactor")?,
            None => 1.0,
        };
        if !(calibration.is_finite() && calibration >= 0.0) {
            return Err(PetsirdProblem::Calibration(calibration));
        }
        if calibration == 0.0 {
            self.notices.push(Notice::warning(
                "the file's calibrationFactor is 0, as where it was never set; 1 is taken, so activities have no unit",
            ));
        }
        let calibration = if calibration == 0.0 { 1.0 } else { calibration };
        if let Some(efficiencies) = Efficiencies::new(value, types, num_energies, calibration)? {
            self.facts.efficiency = Some(Arc::new(efficiencies));
        }
        Ok(())
    }
}

/// Returns the number of energy bins of each type of modules.
fn num_energies(scanner: &Value, num_types: usize) -> Result<Vec<usize>, PetsirdProblem> {
    /// Most of them.
    const MAX: usize = 1 << 10;
    let edges = scanner.list("eventEnergyBinEdges")?;
    if edges.len() != num_types {
        return Err(PetsirdProblem::EnergyTypes(Mismatch { found: edges.len(), expected: num_types }));
    }
    let of_type = |edges: &Value| {
        let found = edges.numbers("edges")?.len();
        if (2..=MAX + 1).contains(&found) {
            Ok(found - 1)
        } else {
            Err(PetsirdProblem::EnergyEdges(Excess { found, max: MAX + 1 }))
        }
    };
    edges.iter().map(of_type).collect()
}

/// Time of flight of a pair of types of modules.
struct TypesTof {
    /// Numbers of the crystals of both types.
    crystals: [Range<u32>; 2],
    edges_mm: Vec<f64>,
    /// `None` if there is only one bin, which contains no information.
    fwhm_mm: Option<f64>,
    is_in_coincidence: bool,
}

impl TypesTof {
    fn window_mm(&self) -> [f64; 2] {
        [self.edges_mm.first(), self.edges_mm.last()].map(|edge| edge.copied().unwrap_or_default())
    }
}

/// Returns the edges of the bins of a pair of types of modules, which must rise, and the resolution if there are several bins.
fn tof_of_types(scanner: &Value, [t1, t2]: [usize; 2]) -> Result<(&[f64], Option<f64>), PetsirdProblem> {
    let edges = scanner.list("tofBinEdges")?.get(t1).and_then(Value::items).and_then(|row| row.get(t2));
    let edges = edges.ok_or(PetsirdProblem::NoTofEdges([t1, t2]))?;
    let edges = checked_edges(edges.numbers("edges")?, t1, t2)?;
    if edges.len() == 2 {
        return Ok((edges, None));
    }
    let fwhm_mm = scanner.list("tofResolution")?.get(t1).and_then(Value::as_numbers).and_then(|row| row.get(t2)).copied();
    match fwhm_mm.filter(|fwhm| *fwhm > 0.0 && LENGTHS_MM.end() >= fwhm) {
        Some(fwhm_mm) => Ok((edges, Some(fwhm_mm))),
        None => Err(PetsirdProblem::TofResolution([t1, t2], fwhm_mm, edges.len() - 1)),
    }
}

/// Returns the edges of time-of-flight bins, which must rise.
fn checked_edges(edges: &[f64], t1: usize, t2: usize) -> Result<&[f64], PetsirdProblem> {
    let largest = *LENGTHS_MM.end();
    let rise = edges.windows(2).all(|pair| pair[0] < pair[1]);
    let are_places = edges.len() == 2 || edges.iter().all(|edge| edge.abs() <= largest);
    if edges.len() < 2 || !rise || !are_places {
        let first = edges.iter().copied().take(8).collect();
        return Err(PetsirdProblem::TofEdges([t1, t2], first));
    }
    Ok(edges)
}

/// Returns the notices on unused or missing content, from the policies of the file: their first case is "none".
fn unused(scanner: &Value) -> Vec<Notice> {
    let is_none = |name: &str| scanner.number(name).map(|policy| policy == 0.0).ok();
    let kinds = [
        ("singleEventPolicy", "single events"),
        ("tripleEventPolicy", "coincidences of three photons"),
        ("quadrupleEventPolicy", "coincidences of four photons"),
    ];
    let found: Vec<&str> = kinds.iter().filter(|(name, _)| is_none(name) == Some(false)).map(|(_, what)| *what).collect();
    let mut notices = Vec::new();
    if !found.is_empty() {
        notices.push(Notice::info(format!("the list may hold {}, which are not used", found.join(", "))));
    }
    if is_none("promptEventPolicy") == Some(true) {
        notices.push(Notice::warning("the file contains no coincidences (promptEventPolicy is none)"));
    }
    notices
}

/// Returns the name of the first radiopharmaceutical's nuclide, if the file has one.
fn isotope(header: &Value) -> Option<String> {
    let pharmaceutical = header.maybe("exam")?.list("radiopharmaceuticals").ok()?.first()?;
    let name = pharmaceutical.record("radionuclideCodeSequence").ok()?.text("codeMeaning").ok()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns start, injection and patient; numbers of 0 and times before 1970 are unknown.
fn exam(header: &Value) -> Exam {
    let Some(exam) = header.maybe("exam") else { return Exam::default() };
    let number =
        |value: Option<&Value>, name: &str| value?.number(name).ok().filter(|number| number.is_finite() && *number > 0.0);
    // Nanoseconds since 1970.
    let moment = |value: Option<&Value>, name: &str| {
        let micros = (number(value, name)? / 1e3).round() as i64;
        Some(Timestamp::from_microsecond(micros).ok()?.to_zoned(TimeZone::UTC).datetime())
    };
    let patient = exam.record("patient").ok();
    let tracer = exam.list("radiopharmaceuticals").ok().and_then(|all| all.first());
    let name = tracer.and_then(|tracer| tracer.record("radiopharmaceuticalCodeSequence").ok()?.text("codeMeaning").ok());
    Exam {
        start: moment(Some(exam), "startOfAcquisition").or_else(|| moment(Some(exam), "startOfStudy")),
        injection: moment(tracer, "radiopharmaceuticalStartDateTime"),
        dose_bq: number(tracer, "radionuclideTotalDose"),
        tracer: name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
        weight_kg: number(patient, "patientsWeight"),
        height_m: number(patient, "patientsSize"),
        sex: match patient.and_then(|patient| patient.text("patientsSex").ok()) {
            Some("F") => Some(Sex::Female),
            Some("M") => Some(Sex::Male),
            Some("O") => Some(Sex::Other),
            _ => None,
        },
        is_local: false,
    }
}
