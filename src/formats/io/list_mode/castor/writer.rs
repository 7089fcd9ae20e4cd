//! List-mode data as CASToR reads them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::factors::width_mm;
use super::header::{Header, Layout, Tof};
use crate::data::{Events, ListMetadata};
use crate::io::bytes::{OutputLock, PendingFile};
use crate::io::error::{IoError, Mismatch};
use crate::io::list_mode::castor::problem::CastorProblem;
use crate::scanner::{Crystal, Cylinder, Detectors};

/// Most layers of crystals that a table is written for.
const MAX_LAYERS: usize = 100;

/// Widths of intervals of time of flight that differ by less, in parts of them, are the same.
const SAME_WIDTH: f64 = 1e-4;

/// Writes list-mode data piece by piece: `path` is the header (`.Cdh`), the data file has the ending `.Cdf`, and the scanner's
/// table has the scanner's name (`.hscan`, `.lut`).
///
/// An event's factor is written as its normalisation (with the calibration 1), its background as its random rate.
pub struct Writer {
    facts: Arc<ListMetadata>,
    header: Header,
    data: PendingFile,
    /// Fields of the first events; all others have the same.
    fields: Option<Fields>,
}

/// Fields of each event.
#[derive(Clone, Debug, PartialEq)]
struct Fields {
    layout: Layout,
    /// Counts per second of an expected count (per mm, with time of flight).
    rate: f64,
    /// Width of the interval of time of flight.
    step_mm: Option<f64>,
}

impl Writer {
    /// Begins list-mode data with these facts.
    ///
    /// # Errors
    /// The scanner's name or crystals are not valid in such files, or the data file does not open.
    pub fn create(path: &Path, facts: Arc<ListMetadata>) -> Result<Self, IoError> {
        let scanner = facts.detectors.name().to_owned();
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '+');
        if scanner.trim() != scanner || scanner.is_empty() || scanner.starts_with('.') || !scanner.chars().all(is_plain) {
            return Err(IoError::unsupported(path, CastorProblem::ScannerName(scanner)));
        }
        let data = path.with_extension("Cdf");
        let name = data.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if data == path || name.contains(['#', ':', '\n', '\r']) || name.trim() != name || name.starts_with('!') {
            return Err(IoError::unsupported(path, CastorProblem::HeaderName));
        }
        layers(path, &facts.detectors)?;
        let header = Header {
            path: path.to_owned(),
            scanner,
            data: data.clone(),
            start_secs: facts.start_ms as f64 / 1e3,
            duration_secs: facts.duration_ms.unwrap_or_default() as f64 / 1e3,
            max_lines: 1,
            calibration: 1.0,
            max_axial_mm: max_axial_mm(&facts),
            isotope: facts.isotope.clone(),
            ..Header::default()
        };
        Ok(Self { facts, header, data: PendingFile::create(&data)?, fields: None })
    }

    /// Adds events, which must all have the same fields.
    ///
    /// # Errors
    /// Other fields than before, or fields that CASToR's format does not have; a failed write.
    pub fn put(&mut self, events: &Events) -> Result<(), IoError> {
        if events.is_empty() {
            return Ok(());
        }
        let fields = match self.fields.take() {
            Some(fields) => Ok(fields),
            None => self.fields(events),
        };
        let encoded = fields.and_then(|fields| Ok((encode(&fields, &self.facts, events)?, fields)));
        let (bytes, fields) = encoded.map_err(|problem| IoError::unsupported(&self.header.path, problem))?;
        self.fields = Some(fields);
        self.header.num_events += events.len() as u64;
        let last_ms = events.times_ms.iter().max().map_or(0, |&ms| u64::from(ms) + 1);
        if self.facts.duration_ms.is_none() {
            self.header.duration_secs = self.header.duration_secs.max(last_ms as f64 / 1e3);
        }
        self.data.write(|writer| writer.write_all(&bytes))
    }

    /// Writes the header and the scanner's table, and commits all files.
    ///
    /// # Errors
    /// A write fails, or another scanner's table has its name; existing files then remain.
    pub fn finish(self) -> Result<(), IoError> {
        let path = &self.header.path;
        let _lock = OutputLock::wait(path)?;
        let table = write_table(path, &self.header.scanner, &self.facts.detectors)?;
        let header = PendingFile::create(path)?;
        let text = text(&self.header);
        header.write(|writer| writer.write_all(text.as_bytes()))?;
        table.into_iter().try_for_each(PendingFile::commit)?;
        header.commit()?;
        self.data.commit()
    }

    /// Returns the fields of the first events and adds them to the header.
    fn fields(&mut self, events: &Events) -> Result<Fields, CastorProblem> {
        self.header.has_normalization = !events.multiplicative.is_empty() || self.facts.efficiency.is_some();
        self.header.has_randoms = !events.additive.is_empty();
        if self.header.has_randoms && self.header.duration_secs <= 0.0 {
            return Err(CastorProblem::NoDuration);
        }
        let mut rate = 1.0 / self.header.duration_secs;
        let mut step_mm = None;
        self.header.tof = None;
        if let Some([from, to]) = events.tof_mm.first().map(|interval| interval.map(f64::from)) {
            let tof = self.facts.tof.as_ref().ok_or(CastorProblem::NoTofResolution)?;
            step_mm = Some(to - from).filter(|&width| width > 0.0);
            let range_mm = tof.window_mm.iter().fold(0.0, |widest: f64, mm| widest.max(2.0 * mm.abs()));
            let [fwhm_ps, range_ps] = [tof.fwhm_mm, range_mm].map(|mm| mm / width_mm(1.0));
            self.header.tof = Some(Tof::List { fwhm_ps, range_ps, step_ps: step_mm.map(|mm| mm / width_mm(1.0)) });
            rate *= range_mm;
        }
        Ok(Fields { layout: self.header.layout(), rate, step_mm })
    }
}

/// Returns the bytes of events.
fn encode(fields: &Fields, facts: &ListMetadata, events: &Events) -> Result<Vec<u8>, CastorProblem> {
    let (num, layout) = (events.len(), &fields.layout);
    let has = |values: usize, field: Option<usize>| values == field.map_or(0, |_| num);
    let has_factors = has(events.multiplicative.len(), layout.normalization) || facts.efficiency.is_some();
    let has_others = has(events.additive.len(), layout.randoms) && has(events.tof_mm.len(), layout.measured);
    if !has_factors || !has_others || events.times_ms.len() != num {
        return Err(CastorProblem::OtherFields);
    }
    let num_crystals = facts.detectors.crystals().len();
    let mut bytes = vec![0; num * layout.size];
    let mut put = |event: usize, at: Option<usize>, value: [u8; 4]| {
        if let Some(at) = at {
            bytes[event * layout.size + at..][..4].copy_from_slice(&value);
        }
    };
    for (event, &[a, b]) in events.pairs.iter().enumerate() {
        if a.max(b) as usize >= num_crystals || a == b {
            return Err(CastorProblem::EventCrystals([a, b], num_crystals - 1));
        }
        put(event, layout.time, events.times_ms[event].to_le_bytes());
        put(event, Some(layout.lines), a.to_le_bytes());
        put(event, Some(layout.lines + 4), b.to_le_bytes());
        if layout.normalization.is_some() {
            let event_factor = events.multiplicative.get(event).copied();
            let factor = event_factor.or_else(|| Some(facts.efficiency.as_ref()?.of([a, b]))).unwrap_or(1.0);
            if !(factor > 0.0 && factor.is_finite()) {
                return Err(CastorProblem::EventEfficiency([a, b], factor));
            }
            put(event, layout.normalization, (1.0 / factor).to_le_bytes());
        }
        if layout.randoms.is_some() {
            put(event, layout.randoms, ((f64::from(events.additive[event]) * fields.rate) as f32).to_le_bytes());
        }
        if let Some([from, to]) = events.tof_mm.get(event).map(|interval| interval.map(f64::from)) {
            let width = fields.step_mm.unwrap_or(0.0);
            if (to - from - width).abs() > SAME_WIDTH * width {
                return Err(CastorProblem::TofWidths(Mismatch { found: to - from, expected: width }));
            }
            let difference_ps = 0.5 * (from + to) / width_mm(1.0);
            put(event, layout.measured, (difference_ps as f32).to_le_bytes());
        }
    }
    Ok(bytes)
}

/// Returns the largest axial distance of crystals in coincidence, mm: half a ring more than the largest ring difference.
fn max_axial_mm(facts: &ListMetadata) -> Option<f64> {
    let max_ring_difference = facts.sampling?.max_ring_difference;
    let cylinder = Cylinder::recognise(&facts.detectors).ok()?;
    let is_limited = max_ring_difference + 1 < cylinder.num_rings;
    is_limited.then_some((max_ring_difference as f64 + 0.5) * cylinder.ring_spacing_mm)
}

/// Returns the text of a header.
fn text(header: &Header) -> String {
    let data = header.data.file_name().unwrap_or_default().to_string_lossy();
    let mut text = format!(
        "Scanner name: {}\nData filename: {data}\nNumber of events: {}\nData mode: list-mode\nData type: PET\n\
         Start time (s): {}\nDuration (s): {}\nMaximum number of lines per event: 1\nCalibration factor: 1\n",
        header.scanner, header.num_events, header.start_secs, header.duration_secs
    );
    let mut flag = |key: &str, is_set: bool| {
        if is_set {
            let _ = writeln!(text, "{key}: 1");
        }
    };
    flag("Normalization correction flag", header.has_normalization);
    flag("Random correction flag", header.has_randoms);
    flag("TOF information flag", header.tof.is_some());
    if let Some(Tof::List { fwhm_ps, range_ps, step_ps }) = header.tof {
        let _ = writeln!(text, "TOF resolution (ps): {fwhm_ps}\nList TOF measurement range (ps): {range_ps}");
        if let Some(step_ps) = step_ps {
            let _ = writeln!(text, "List TOF quantization bin size (ps): {step_ps}");
        }
    }
    if let Some(max_axial_mm) = header.max_axial_mm {
        let _ = writeln!(text, "Maximum axial difference mm: {max_axial_mm}");
    }
    let plain: Option<String> =
        header.isotope.as_ref().map(|name| name.chars().filter(|c| !c.is_control() && *c != '#').collect());
    if let Some(isotope) = plain.filter(|name| !name.is_empty()) {
        let _ = writeln!(text, "Isotope: {isotope}");
    }
    text
}

/// Returns the layers of a scanner's crystals: those of one size that follow each other.
fn layers<'a>(path: &Path, detectors: &'a Detectors) -> Result<Vec<&'a [Crystal]>, IoError> {
    let layers: Vec<_> = detectors.crystals().chunk_by(|a, b| a.size_mm == b.size_mm).collect();
    if layers.len() > MAX_LAYERS { Err(IoError::unsupported(path, CastorProblem::CrystalSizes)) } else { Ok(layers) }
}

/// Writes a scanner's table in CASToR's form, its text and its crystals, and returns the files that did not exist: complete, under
/// temporary names.
fn write_table(path: &Path, name: &str, detectors: &Detectors) -> Result<Vec<PendingFile>, IoError> {
    let layers = layers(path, detectors)?;
    let [radius_mm, half_length_mm] = detectors.extent_mm();
    let heights: BTreeSet<u64> = detectors.crystals().iter().map(|crystal| crystal.centre_mm[2].to_bits()).collect();
    let list = |of: &dyn Fn(&&[Crystal]) -> String| layers.iter().map(of).collect::<Vec<_>>().join(",");
    let (bore_mm, length_mm) = (detectors.bore_mm().max(1.0), 2.0 * half_length_mm.max(1.0));
    let text = format!(
        "scanner name: {name}\nmodality: PET\nscanner radius: {}\nnumber of rings in scanner: {}\nnumber of elements: {}\n\
         number of layers: {}\nnumber of crystals in layer(s): {}\ncrystals size depth: {}\ncrystals size transaxial: {}\n\
         crystals size axial: {}\nmean depth of interaction: {}\nmin angle difference: 0\nvoxels number transaxial: 128\n\
         voxels number axial: 64\nfield of view transaxial: {bore_mm}\nfield of view axial: {length_mm}\n",
        list(&|layer| (radius_mm - 0.5 * layer[0].size_mm[0]).to_string()),
        heights.len(),
        detectors.crystals().len(),
        layers.len(),
        list(&|layer| layer.len().to_string()),
        list(&|layer| layer[0].size_mm[0].to_string()),
        list(&|layer| layer[0].size_mm[1].to_string()),
        list(&|layer| layer[0].size_mm[2].to_string()),
        list(&|_| "-1".to_owned()),
    );
    let numbers = detectors.crystals().iter().flat_map(|crystal| crystal.centre_mm.into_iter().chain(crystal.axes[0]));
    let lut: Vec<u8> = numbers.flat_map(|number| (number as f32).to_le_bytes()).collect();
    let mut pending = Vec::new();
    for (ending, bytes) in [("lut", lut), ("hscan", text.into_bytes())] {
        let path = path.with_file_name(format!("{name}.{ending}"));
        match std::fs::read(&path) {
            Ok(found) if found == bytes => {}
            Ok(_) => return Err(IoError::unsupported(&path, CastorProblem::OtherTable)),
            Err(_) => {
                let file = PendingFile::create(&path)?;
                file.write(|writer| writer.write_all(&bytes))?;
                pending.push(file);
            }
        }
    }
    Ok(pending)
}
