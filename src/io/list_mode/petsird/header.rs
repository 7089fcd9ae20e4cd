//! What the header tells: the scanner, its efficiencies and time of flight, and what the numbers of its events mean.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::binary::Value;
use super::coincidences::PairOfTypes;
use super::efficiency::{Efficiencies, are_in_coincidence};
use super::geometry::{ModuleType, Transform, crystals};
use crate::data::{ListMetadata, Notice, TofException, TofFacts};
use crate::geometry::LENGTHS_MM;
use crate::io::error::{IoError, PetsirdProblem};
use crate::scanner::Detectors;

/// What is needed of a header.
#[derive(Debug)]
pub struct Header {
    /// What is known beside the events.
    pub facts: ListMetadata,
    /// What the events of types t₁ ≥ t₂ mean, at t₁ (t₁ + 1) / 2 + t₂.
    pub pairs: Vec<PairOfTypes>,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

impl Header {
    /// Reads a header of a file; `refuse` makes an error of a problem.
    ///
    /// # Errors
    /// What is missing, contradicts itself, or is not understood.
    pub fn new(path: &Path, value: &Value, format: &str, refuse: impl Fn(PetsirdProblem) -> IoError) -> Result<Self, IoError> {
        let scanner = value.record("scanner").map_err(&refuse)?;
        let name = scanner.text("modelName").map_err(&refuse)?;
        let (types, crystals) = scanner.record("scannerGeometry").and_then(crystals).map_err(&refuse)?;
        let detectors = Detectors::new(name, crystals).map_err(|source| IoError::Detectors { path: path.to_owned(), source })?;
        let num_energies = num_energies(scanner, types.len()).map_err(&refuse)?;
        let mut header = Self { facts: ListMetadata::new(format, Arc::new(detectors)), pairs: Vec::new(), notices: Vec::new() };
        header.read_tof(scanner, &types, &num_energies).map_err(&refuse)?;
        header.read_efficiency(scanner, &types, &num_energies).map_err(&refuse)?;
        header.facts.isotope = isotope(value);
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
        let mut ways = Vec::new();
        for (t1, ty) in types.iter().enumerate() {
            for (t2, other) in types.iter().enumerate().take(t1 + 1) {
                let is_in_coincidence = are_in_coincidence(scanner, [t1, t2]);
                let (edges, fwhm_mm) = match tof_of_types(scanner, [t1, t2]) {
                    Ok(found) => found,
                    Err(problem) if is_in_coincidence => return Err(problem),
                    // No event can be of them, whatever is told.
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
                ways.push(Way { crystals, edges_mm, fwhm_mm, is_in_coincidence });
            }
        }
        let Some(rule) = ways.iter().find(|way| way.is_in_coincidence && way.fwhm_mm.is_some()) else { return Ok(()) };
        let mut tof = TofFacts {
            fwhm_mm: rule.fwhm_mm.unwrap_or_default(),
            window_mm: rule.window_mm(),
            edges_mm: rule.edges_mm.clone(),
            exceptions: Vec::new(),
        };
        for (pair, way) in self.pairs.iter_mut().zip(&ways) {
            pair.intervals_mm = way.edges_mm.windows(2).map(|edges| [edges[0] as f32, edges[1] as f32]).collect();
            // A pair without bins has the window alone, and the resolution of the others for its ends.
            let edges_mm = if way.fwhm_mm.is_some() { way.edges_mm.clone() } else { Vec::new() };
            let fwhm_mm = way.fwhm_mm.unwrap_or(tof.fwhm_mm);
            if way.is_in_coincidence && (fwhm_mm, &edges_mm) != (tof.fwhm_mm, &tof.edges_mm) {
                let (crystals, window_mm) = (way.crystals.clone(), way.window_mm());
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

/// Energy bins of each type of modules.
fn num_energies(scanner: &Value, num_types: usize) -> Result<Vec<usize>, PetsirdProblem> {
    /// Most of them.
    const MOST: usize = 1 << 10;
    let edges = scanner.list("eventEnergyBinEdges")?;
    if edges.len() != num_types {
        return Err(PetsirdProblem::EnergyTypes { found: edges.len(), expected: num_types });
    }
    let of_type = |edges: &Value| {
        let found = edges.numbers("edges")?.len();
        if (2..=MOST + 1).contains(&found) { Ok(found - 1) } else { Err(PetsirdProblem::EnergyEdges { found, most: MOST + 1 }) }
    };
    edges.iter().map(of_type).collect()
}

/// Time of flight of a pair of types of modules.
struct Way {
    /// Numbers of the crystals of both types.
    crystals: [Range<u32>; 2],
    edges_mm: Vec<f64>,
    /// `None` where there is one bin only, which tells nothing.
    fwhm_mm: Option<f64>,
    is_in_coincidence: bool,
}

impl Way {
    fn window_mm(&self) -> [f64; 2] {
        [self.edges_mm.first(), self.edges_mm.last()].map(|edge| edge.copied().unwrap_or_default())
    }
}

/// The edges of the bins of a pair of types of modules, which must rise, and the resolution where there are several bins.
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
        None => Err(PetsirdProblem::TofResolution { types: [t1, t2], mm: fwhm_mm, num_bins: edges.len() - 1 }),
    }
}

/// The edges of time-of-flight bins, which must rise.
fn checked_edges(edges: &[f64], t1: usize, t2: usize) -> Result<&[f64], PetsirdProblem> {
    let largest = *LENGTHS_MM.end();
    let rise = edges.windows(2).all(|pair| pair[0] < pair[1]);
    let are_places = edges.len() == 2 || edges.iter().all(|edge| edge.abs() <= largest);
    if edges.len() < 2 || !rise || !are_places {
        let first = edges.iter().copied().take(8).collect();
        return Err(PetsirdProblem::TofEdges { types: [t1, t2], edges: first });
    }
    Ok(edges)
}

/// What the list may hold that is not used, and whether it holds what is, as its policies tell: their first case is "none".
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

/// The name of the first radiopharmaceutical's nuclide, if one is told.
fn isotope(header: &Value) -> Option<String> {
    let pharmaceutical = header.maybe("exam")?.list("radiopharmaceuticals").ok()?.first()?;
    let name = pharmaceutical.record("radionuclideCodeSequence").ok()?.text("codeMeaning").ok()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
