//! The scanner of a projection header: the header's own figures, and the catalogue's where the header has none.

use super::header::Header;
use crate::data::Notice;
use crate::io::error::IoError;
use crate::io::sinograms::interfile::problem::InterfileProblem;
use crate::scanner::{InPlane, ScanGeometry, Scanner, Segment, find_by_originating_system};

/// Lengths that differ by less are the same: STIR writes six digits.
const LENGTH_TOLERANCE_MM: f64 = 0.01;
const ANGLE_TOLERANCE_DEG: f64 = 0.001;

const DIAMETER: &str = "inner ring diameter (cm)";
const DEPTH: &str = "average depth of interaction (cm)";

/// Sampling of the data, as the header's matrix sizes give it.
pub struct Sampling {
    pub num_views: usize,
    pub num_tangential: usize,
    /// Ascending by mean ring difference.
    pub segments: Vec<Segment>,
}

/// The header's figures and the catalogue's.
struct Figures<'a> {
    header: &'a Header,
    known: Option<&'a Scanner>,
    /// Keys that the header leaves out.
    taken: Vec<&'static str>,
    /// Keys and texts of figures that differ.
    contradictions: Vec<(&'static str, String)>,
}

/// Returns the scanner that the header describes or names, with the header's sampling.
pub fn geometry(header: &Header, sampling: Sampling, notices: &mut Vec<Notice>) -> Result<ScanGeometry, IoError> {
    let names = [header.text("scanner type"), header.text("originating system")];
    let known = names.iter().flatten().find_map(|name| find_by_originating_system(name));
    let mut figures = Figures { header, known, taken: Vec::new(), contradictions: Vec::new() };
    let in_plane = figures.in_plane(notices)?;
    let mut geometry = ScanGeometry {
        scanner: names.into_iter().flatten().next().unwrap_or("unknown").to_owned(),
        num_rings: figures.count("number of rings", |g| g.num_rings)?,
        ring_spacing_mm: figures.length_mm("distance between rings (cm)", 10.0, |g| g.ring_spacing_mm)?,
        num_detectors_per_ring: figures.count("number of detectors per ring", |g| g.num_detectors_per_ring)?,
        inner_radius_mm: figures.length_mm(DIAMETER, 5.0, |g| g.inner_radius_mm)?,
        depth_of_interaction_mm: figures.length_mm(DEPTH, 10.0, |g| g.depth_of_interaction_mm)?,
        num_views: sampling.num_views,
        num_tangential: sampling.num_tangential,
        view_offset_deg: figures.view_offset_deg()?,
        in_plane,
        segments: sampling.segments,
        fov_radius_mm: 1.0,
    };
    // Lines depend on the sum of the two alone, and lists have only that.
    if known.is_some_and(|scanner| (scanner.geometry.radius_mm() - geometry.radius_mm()).abs() <= LENGTH_TOLERANCE_MM) {
        figures.contradictions.retain(|(key, _)| ![DIAMETER, DEPTH].contains(key));
    }
    figures.report(notices);
    geometry.fov_radius_mm = geometry.usual_fov_radius_mm(known);
    let geometry = geometry.validate().map_err(|source| IoError::Geometry(header.path.clone(), source))?;
    check_detectors(header, &geometry, notices)?;
    Ok(geometry)
}

impl Figures<'_> {
    fn count(&mut self, key: &'static str, of: impl Fn(&ScanGeometry) -> usize) -> Result<usize, IoError> {
        let known = self.known.map(|scanner| of(&scanner.geometry));
        let found = self.header.count(key)?;
        if let (Some(found), Some(known)) = (found, known)
            && found != known
        {
            self.contradictions.push((key, format!("'{key}' is {found}, the catalogue has {known}")));
        }
        self.choose(key, found, known)
    }

    /// Returns a length; the header's figure times `factor` is in mm.
    fn length_mm(&mut self, key: &'static str, factor: f64, of: impl Fn(&ScanGeometry) -> f64) -> Result<f64, IoError> {
        let known = self.known.map(|scanner| of(&scanner.geometry));
        let found = self.header.number(key)?.map(|value| value * factor);
        if let (Some(found), Some(known)) = (found, known)
            && (found - known).abs() > LENGTH_TOLERANCE_MM
        {
            let written = found / factor;
            self.contradictions.push((key, format!("'{key}' is {written}, the catalogue has {:.5}", known / factor)));
        }
        self.choose(key, found, known)
    }

    /// Returns the intrinsic tilt; 0, as in STIR, if neither header nor catalogue has it.
    fn view_offset_deg(&mut self) -> Result<f64, IoError> {
        const KEY: &str = "view offset (degrees)";
        let known = self.known.map(|scanner| scanner.geometry.view_offset_deg);
        let found = self.header.number(KEY)?;
        if let (Some(found), Some(known)) = (found, known)
            && (found - known).abs() > ANGLE_TOLERANCE_DEG
        {
            self.contradictions.push((KEY, format!("'{KEY}' is {found}, the catalogue has {known}")));
        }
        if found.is_none() && known.is_some_and(|angle| angle != 0.0) {
            self.taken.push(KEY);
        }
        Ok(found.or(known).unwrap_or(0.0))
    }

    fn choose<T>(&mut self, key: &'static str, found: Option<T>, known: Option<T>) -> Result<T, IoError> {
        if found.is_none() && known.is_some() {
            self.taken.push(key);
        }
        let hint = "its scanner is not in the catalogue either; add the key, or name a known scanner as 'originating system'";
        found.or(known).ok_or_else(|| self.header.missing(key, hint))
    }

    /// Returns the sampling in the plane: arc-corrected unless `applied corrections` excludes it.
    fn in_plane(&mut self, notices: &mut Vec<Notice>) -> Result<InPlane, IoError> {
        const KEY: &str = "applied corrections";
        match self.header.words(KEY) {
            None => notices.push(self.header.warning(format!("the key '{KEY}' is missing; the data count as arc-corrected"))),
            Some(words) if !words.iter().any(|word| word == "arc correction" || word == "arc corrected") => {
                return Ok(InPlane::Detectors);
            }
            Some(_) => {}
        }
        let written = match self.header.number("effective central bin size (cm)")? {
            Some(bin) => Some(bin),
            None => self.header.number("default bin size (cm)")?,
        };
        let known = self.known.map(|scanner| scanner.geometry.in_plane);
        let known_mm = known.and_then(|in_plane| in_plane.bin_mm());
        let bin_mm = self.choose("effective central bin size (cm)", written.map(|bin| bin * 10.0), known_mm)?;
        // The header has no words for heads: that is known by the scanner's name.
        Ok(match known {
            Some(InPlane::Heads { .. }) => InPlane::Heads { bin_mm },
            _ => InPlane::ArcCorrected { bin_mm },
        })
    }

    fn report(&self, notices: &mut Vec<Notice>) {
        let Some(known) = self.known else { return };
        if !self.taken.is_empty() {
            let keys = self.taken.join("', '");
            notices.push(self.header.info(format!("'{keys}' missing; values of the scanner catalogue used ({})", known.title)));
        }
        if !self.contradictions.is_empty() {
            let list = self.contradictions.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("; ");
            notices.push(
                self.header
                    .warning(format!("it contradicts the catalogue's {}: {list}. The header's figures are used", known.title)),
            );
        }
    }
}

/// Reports or refuses content that a cylinder of detectors does not represent exactly.
fn check_detectors(header: &Header, geometry: &ScanGeometry, notices: &mut Vec<Notice>) -> Result<(), IoError> {
    let layout = header.text("scanner geometry (blocksoncylindrical/cylindrical/generic)").unwrap_or("cylindrical");
    match layout.to_lowercase().as_str() {
        "cylindrical" => {}
        "blocksoncylindrical" => notices.push(
            header.warning("its detectors are in flat blocks ('Scanner geometry'); a cylinder is assumed, which blurs the edges"),
        ),
        _ => return Err(header.unsupported(InterfileProblem::ScannerGeometry(layout.to_owned()))),
    }
    if !matches!(geometry.in_plane, InPlane::Detectors | InPlane::DetectorPairs) {
        return Ok(());
    }
    if !geometry.num_detectors_per_ring.is_multiple_of(2 * geometry.num_views) {
        notices.push(header.warning(format!(
            "{} detectors per ring do not make {} views of whole detector pairs; angles are spread evenly over 180°",
            geometry.num_detectors_per_ring, geometry.num_views
        )));
    }
    let expected = geometry.central_bin_mm();
    if let Some(bin) = header.number("effective central bin size (cm)")?
        && (bin * 10.0 - expected).abs() > 0.1
    {
        notices.push(header.warning(format!(
            "'effective central bin size (cm)' is {bin}, the detectors give {:.5}; the detectors' is used",
            expected / 10.0
        )));
    }
    Ok(())
}
