//! Lists of events as CASToR reads them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::factors::width_mm;
use super::header::{Header, Layout, Mode, Tof};
use super::scanner::CRYSTAL_BYTES;
use crate::data::{Events, ListMetadata};
use crate::io::bytes::PendingFile;
use crate::io::error::{IoError, Unsupported};
use crate::scanner::{Cylinder, Detectors};

/// Most layers of crystals that a table is written for.
const MAX_LAYERS: usize = 100;

/// Widths of intervals of time of flight that differ by less, in parts of them, are the same.
const SAME_WIDTH: f64 = 1e-4;

/// Writes a list of events piece by piece: `path` is the header (`.Cdh`), its data goes beside it under the ending `.Cdf`, and the
/// scanner's table under the scanner's name (`.hscan`, `.lut`).
///
/// An event's factor is written as its normalisation (with the calibration 1), its background as its random rate.
pub struct Writer {
    facts: Arc<ListMetadata>,
    header: Header,
    data: PendingFile,
    /// Whether the events that were put first tell these; all others do too.
    fields: Option<Fields>,
    bytes: Vec<u8>,
}

/// What each event tells.
#[derive(Clone, Debug, PartialEq)]
struct Fields {
    layout: Layout,
    /// Counts per second of an expected count (per mm, with time of flight).
    rate: f64,
    /// Width of the interval of time of flight.
    step_mm: Option<f64>,
    has_factors: bool,
    has_background: bool,
}

impl Writer {
    /// Begins a list of which this is known.
    ///
    /// # Errors
    /// The scanner's name or crystals cannot stand in such files, or the data file cannot be written.
    pub fn create(path: &Path, facts: Arc<ListMetadata>) -> Result<Self, IoError> {
        let scanner = facts.detectors.name().to_owned();
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '+');
        if scanner.trim() != scanner || scanner.is_empty() || scanner.starts_with('.') || !scanner.chars().all(is_plain) {
            return Err(IoError::unsupported(path, Unsupported::ScannerName(scanner)));
        }
        let data = path.with_extension("Cdf");
        let name = data.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if data == path || name.contains(['#', ':', '\n', '\r']) || name.trim() != name || name.starts_with('!') {
            return Err(IoError::unsupported(path, Unsupported::CastorName));
        }
        layers(path, &facts.detectors)?;
        let header = Header {
            path: path.to_owned(),
            scanner,
            data: data.clone(),
            num_events: 0,
            mode: Mode::List,
            start_secs: facts.start_ms as f64 / 1e3,
            duration_secs: facts.duration_ms.unwrap_or_default() as f64 / 1e3,
            max_lines: 1,
            calibration: 1.0,
            has_attenuation: false,
            has_normalization: false,
            has_scatter: false,
            has_randoms: false,
            has_kind: false,
            max_axial_mm: max_axial_mm(&facts),
            isotope: facts.isotope.clone(),
            tof: None,
        };
        Ok(Self { facts, header, data: PendingFile::create(&data)?, fields: None, bytes: Vec::new() })
    }

    /// Adds events. All that are added must tell the same.
    ///
    /// # Errors
    /// They tell something else than those before, or what CASToR's format cannot; the file cannot be written.
    pub fn put(&mut self, events: &Events) -> Result<(), IoError> {
        if events.is_empty() {
            return Ok(());
        }
        let fields = match self.fields.take() {
            Some(fields) => fields,
            None => self.fields(events)?,
        };
        self.bytes.clear();
        let written = encode(&fields, &self.facts, events, &mut self.bytes);
        written.map_err(|problem| IoError::unsupported(&self.header.path, problem))?;
        self.fields = Some(fields);
        self.header.num_events += events.len() as u64;
        let last_ms = events.times_ms.iter().max().map_or(0, |&ms| u64::from(ms) + 1);
        if self.facts.duration_ms.is_none() {
            self.header.duration_secs = self.header.duration_secs.max(last_ms as f64 / 1e3);
        }
        self.data.write(|writer| writer.write_all(&self.bytes))
    }

    /// Writes the header and the scanner's table, and puts all files in their places.
    ///
    /// # Errors
    /// A file cannot be written, or another scanner's table has its name; what was there before then still is.
    pub fn finish(self) -> Result<(), IoError> {
        let path = &self.header.path;
        let table = Table::of(path, &self.header.scanner, &self.facts.detectors)?;
        let table = table.write()?;
        let header = PendingFile::create(path)?;
        let text = text(&self.header);
        header.write(|writer| writer.write_all(text.as_bytes()))?;
        table.into_iter().try_for_each(PendingFile::commit)?;
        header.commit()?;
        self.data.commit()
    }

    /// What the first events tell, which goes into the header.
    fn fields(&mut self, events: &Events) -> Result<Fields, IoError> {
        let refuse = |problem: Unsupported| IoError::unsupported(&self.header.path, problem);
        let has_background = !events.additive.is_empty();
        if has_background && self.header.duration_secs <= 0.0 {
            return Err(refuse(Unsupported::NoDuration));
        }
        let mut rate = 1.0 / self.header.duration_secs;
        let mut step_mm = None;
        self.header.tof = None;
        if let Some([from, to]) = events.tof_mm.first().map(|interval| interval.map(f64::from)) {
            let Some(tof) = &self.facts.tof else {
                return Err(refuse(Unsupported::NoTofResolution));
            };
            step_mm = Some(to - from).filter(|&width| width > 0.0);
            let range_mm = tof.window_mm.iter().fold(0.0, |widest: f64, mm| widest.max(2.0 * mm.abs()));
            let [fwhm_ps, range_ps] = [tof.fwhm_mm, range_mm].map(|mm| mm / width_mm(1.0));
            self.header.tof = Some(Tof::List { fwhm_ps, range_ps, step_ps: step_mm.map(|mm| mm / width_mm(1.0)) });
            rate *= range_mm;
        }
        let has_factors = !events.multiplicative.is_empty() || self.facts.efficiency.is_some();
        self.header.has_normalization = has_factors;
        self.header.has_randoms = has_background;
        Ok(Fields { layout: self.header.layout(), rate, step_mm, has_factors, has_background })
    }
}

/// The bytes of events.
fn encode(fields: &Fields, facts: &ListMetadata, events: &Events, bytes: &mut Vec<u8>) -> Result<(), Unsupported> {
    let num = events.len();
    let is_told = |values: usize, is_told: bool| values == if is_told { num } else { 0 };
    let factors_told = is_told(events.multiplicative.len(), fields.has_factors) || facts.efficiency.is_some();
    let tells_the_same = factors_told
        && is_told(events.additive.len(), fields.has_background)
        && is_told(events.tof_mm.len(), fields.layout.measured.is_some());
    if !tells_the_same || events.times_ms.len() != num {
        return Err(Unsupported::OtherFields);
    }
    let num_crystals = facts.detectors.crystals().len();
    let start = bytes.len();
    bytes.resize(start + num * fields.layout.size, 0);
    let mut put = |event: usize, at: Option<usize>, value: [u8; 4]| {
        if let Some(at) = at {
            let at = start + event * fields.layout.size + at;
            bytes[at..at + 4].copy_from_slice(&value);
        }
    };
    let layout = &fields.layout;
    for (event, &[a, b]) in events.pairs.iter().enumerate() {
        if a.max(b) as usize >= num_crystals || a == b {
            return Err(Unsupported::EventCrystals { first: a, second: b, last: num_crystals - 1 });
        }
        put(event, layout.time, events.times_ms[event].to_le_bytes());
        put(event, Some(layout.lines), a.to_le_bytes());
        put(event, Some(layout.lines + 4), b.to_le_bytes());
        if fields.has_factors {
            let told = events.multiplicative.get(event).copied();
            let factor = told.or_else(|| Some(facts.efficiency.as_ref()?.of([a, b]))).unwrap_or(1.0);
            if !(factor > 0.0 && factor.is_finite()) {
                return Err(Unsupported::EventEfficiency { first: a, second: b, efficiency: factor });
            }
            put(event, layout.normalization, (1.0 / factor).to_le_bytes());
        }
        if fields.has_background {
            put(event, layout.randoms, ((f64::from(events.additive[event]) * fields.rate) as f32).to_le_bytes());
        }
        if let Some([from, to]) = events.tof_mm.get(event).map(|interval| interval.map(f64::from)) {
            let width = fields.step_mm.unwrap_or(0.0);
            if (to - from - width).abs() > SAME_WIDTH * width {
                return Err(Unsupported::TofWidths { expected: width, found: to - from });
            }
            let difference_ps = 0.5 * (from + to) / width_mm(1.0);
            put(event, layout.measured, (difference_ps as f32).to_le_bytes());
        }
    }
    Ok(())
}

/// Returns the largest axial distance of crystals in coincidence, mm: half a ring more than the largest ring difference.
fn max_axial_mm(facts: &ListMetadata) -> Option<f64> {
    let max_ring_difference = facts.sampling?.max_ring_difference;
    let cylinder = Cylinder::recognise(&facts.detectors).ok()?;
    let is_limited = max_ring_difference + 1 < cylinder.num_rings;
    is_limited.then_some((max_ring_difference as f64 + 0.5) * cylinder.ring_spacing_mm)
}

/// The text of a header.
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

/// How many crystals that follow each other have which sides, mm.
type Layer = (usize, [f64; 3]);

/// The layers of a scanner's crystals.
fn layers(path: &Path, detectors: &Detectors) -> Result<Vec<Layer>, IoError> {
    let mut layers: Vec<Layer> = Vec::new();
    for crystal in detectors.crystals() {
        match layers.last_mut() {
            Some((num, size_mm)) if *size_mm == crystal.size_mm => *num += 1,
            _ => layers.push((1, crystal.size_mm)),
        }
        if layers.len() > MAX_LAYERS {
            return Err(IoError::unsupported(path, Unsupported::CrystalSizes));
        }
    }
    Ok(layers)
}

/// A scanner's table as CASToR's files have it.
struct Table {
    hscan: (PathBuf, Vec<u8>),
    lut: (PathBuf, Vec<u8>),
}

impl Table {
    fn of(path: &Path, name: &str, detectors: &Detectors) -> Result<Self, IoError> {
        let layers = layers(path, detectors)?;
        let [radius_mm, half_length_mm] = detectors.extent_mm();
        let heights: BTreeSet<u64> = detectors.crystals().iter().map(|crystal| crystal.centre_mm[2].to_bits()).collect();
        let list = |of: &dyn Fn(&Layer) -> String| layers.iter().map(of).collect::<Vec<_>>().join(",");
        let (bore_mm, length_mm) = (detectors.bore_mm().max(1.0), 2.0 * half_length_mm.max(1.0));
        let text = format!(
            "scanner name: {name}\nmodality: PET\nscanner radius: {}\nnumber of rings in scanner: {}\nnumber of elements: {}\n\
             number of layers: {}\nnumber of crystals in layer(s): {}\ncrystals size depth: {}\ncrystals size transaxial: {}\n\
             crystals size axial: {}\nmean depth of interaction: {}\nmin angle difference: 0\nvoxels number transaxial: 128\n\
             voxels number axial: 64\nfield of view transaxial: {bore_mm}\nfield of view axial: {length_mm}\n",
            list(&|(_, size_mm)| (radius_mm - 0.5 * size_mm[0]).to_string()),
            heights.len(),
            detectors.crystals().len(),
            layers.len(),
            list(&|(num, _)| num.to_string()),
            list(&|(_, size_mm)| size_mm[0].to_string()),
            list(&|(_, size_mm)| size_mm[1].to_string()),
            list(&|(_, size_mm)| size_mm[2].to_string()),
            list(&|_| "-1".to_owned()),
        );
        let mut lut = Vec::with_capacity(detectors.crystals().len() * CRYSTAL_BYTES as usize);
        for crystal in detectors.crystals() {
            let numbers = crystal.centre_mm.into_iter().chain(crystal.axes[0]);
            numbers.for_each(|number| lut.extend((number as f32).to_le_bytes()));
        }
        let beside = |ending: &str| path.with_file_name(format!("{name}.{ending}"));
        Ok(Self { hscan: (beside("hscan"), text.into_bytes()), lut: (beside("lut"), lut) })
    }

    /// The files, complete, not yet in their places; those that are there already are not written again.
    fn write(self) -> Result<Vec<PendingFile>, IoError> {
        let mut pending = Vec::new();
        for (path, bytes) in [self.lut, self.hscan] {
            match std::fs::read(&path) {
                Ok(found) if found == bytes => {}
                Ok(_) => {
                    return Err(IoError::unsupported(&path, Unsupported::OtherTable));
                }
                Err(_) => {
                    let file = PendingFile::create(&path)?;
                    file.write(|writer| writer.write_all(&bytes))?;
                    pending.push(file);
                }
            }
        }
        Ok(pending)
    }
}
