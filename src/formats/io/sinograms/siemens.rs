//! Siemens' dialect of Interfile (keys that begin with `%`): headers of list-mode data (`.l.hdr`) and sinograms (`.s.hdr`), of
//! the Biograph mMR.
//!
//! Sinograms are `[segment][axial][view][tangential]`, segments in the order 0, −1, +1, −2 …, prompts and then randoms. The sign
//! of segments and detectors is STIR's, whose table the scanner's figures are from (Thielemans et al. 2012, Phys Med Biol
//! 57:867).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::interfile::header::{DataSource, Header};
use super::interfile::layout::{AxisOrder, Layout};
use super::interfile::projections::{file_segments, read_counts, unusable_bin};
use super::interfile::scan_facts::scan_facts;
use super::interfile::scanner::Sampling;
use crate::coded::coded;
use crate::data::{Michelogram, Notice, ScanFacts};
use crate::io::bytes::{ByteOrder, NumberFormat};
use crate::io::error::IoError;
use crate::scanner::{InPlane, ScanGeometry, Segment};

/// The mMR in headers.
const ORIGINATING_SYSTEM: &str = "2008";
const NUM_RINGS: usize = 64;
const RING_SPACING_CM: f64 = 0.406_25;
const NUM_VIEWS: usize = 252;
const NUM_TANGENTIAL: usize = 344;
const INNER_RADIUS_CM: f64 = 32.8;
const DEPTH_OF_INTERACTION_MM: f64 = 7.0;
const FOV_RADIUS_MM: f64 = 298.0;

const AXIAL_COMPRESSION: &str = "%axial compression";
const MAX_RING_DIFFERENCE: &str = "%maximum ring difference";
const SEGMENT_TABLE: &str = "%segment table";

/// Content of the header of list-mode data.
pub struct ListHeader {
    /// The data file.
    pub data: PathBuf,
    /// Sampling of the events: a segment for each ring difference.
    pub geometry: ScanGeometry,
    /// The largest ring difference.
    pub max_ring_difference: usize,
    /// Words of the data file.
    pub num_words: Option<u64>,
    /// Facts of the scan.
    pub facts: ScanFacts,
    pub notices: Vec<Notice>,
}

/// Prompts of a scan, and its randoms where they were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SiemensSinograms {
    /// Measured counts.
    pub prompts: Michelogram,
    /// Counts of the delayed window.
    pub randoms: Option<Michelogram>,
    /// Facts of the scan.
    pub facts: ScanFacts,
}

/// Reads the header of list-mode data.
///
/// # Errors
/// An invalid header, one of another scanner, or of unsupported events.
pub fn read_list_header(path: &Path) -> Result<ListHeader, IoError> {
    let header = Header::read(path)?;
    check_scanner(&header)?;
    refuse_tof(&header)?;
    match header.count("%lm event and tag words format (bits)")? {
        None | Some(32) => {}
        Some(bits) => return Err(header.unsupported(SiemensProblem::WordBits(bits))),
    }
    let (span, max_ring_difference) = compression(&header)?;
    if span != 1 {
        return Err(header.unsupported(SiemensProblem::RingPairs(span)));
    }
    let mut notices = Vec::new();
    let segments = segments(&header, span, max_ring_difference)?;
    if let Some(table) = segment_table(&header)?
        && !table.iter().copied().eq(segments.iter().map(|segment| segment.num_axial_pos as i32))
    {
        notices.push(header.warning(format!(
            "its '{SEGMENT_TABLE}' of {} planes contradicts an axial compression of 1 up to the ring difference {max_ring_difference}, \
             which are used",
            table.iter().map(|&num| i64::from(num)).sum::<i64>()
        )));
    }
    let data = header.data_file().ok_or_else(|| header.missing("name of data file", "add the data file's name"))?;
    let geometry = geometry(&header, InPlane::DetectorPairs, segments)?;
    let num_words = header.number("%total listmode word counts")?.filter(|num| *num >= 0.0).map(|num| num as u64);
    let facts = scan_facts(&header, &mut notices);
    notices.extend(header.remarks());
    Ok(ListHeader { data, geometry, max_ring_difference, num_words, facts, notices })
}

/// Reads sinograms and their notices.
///
/// # Errors
/// An invalid header, one of another scanner or of unsupported data (time of flight, compressed data, counts from which randoms
/// were subtracted); a data file that is missing or too short.
pub fn read_siemens_sinograms(path: &Path) -> Result<(SiemensSinograms, Vec<Notice>), IoError> {
    let header = Header::read(path)?;
    let mut notices = Vec::new();
    let (layout, sorted_index, geometry) = sampling_of(&header)?;
    let geometry = Arc::new(geometry);
    let mut source = DataSource {
        path: header.data_file().ok_or_else(|| header.missing("name of data file", "add the data file's name"))?,
        offset: 0,
        format: number_format(&header, &mut notices)?,
    };
    let offsets = offsets(&header, geometry.num_bins() as u64 * source.format.number_type.num_bytes() as u64)?;
    source.offset = offsets.iter().flatten().copied().max().unwrap_or_default();
    let facts = scan_facts(&header, &mut notices);
    notices.extend(header.remarks());
    let what = format!("{NUM_VIEWS} views × {NUM_TANGENTIAL} tangential positions × {} planes", geometry.num_planes());
    source.check(&header, geometry.num_bins(), &what, &mut notices)?;
    let in_file = file_segments(&layout, &geometry, &sorted_index);
    let mut read = |offset: u64| {
        source.offset = offset;
        let counts = read_counts(&source, AxisOrder::Sinograms, &in_file, &geometry)?;
        let data = Michelogram { geometry: geometry.clone(), counts: Arc::new(counts), tof: None };
        if let Some((index, value)) = data.first_unusable_bin() {
            notices.push(header.warning(unusable_bin(&data, index, value)));
        }
        Ok::<_, IoError>(data)
    };
    let [prompts, randoms] = offsets;
    let sinograms =
        SiemensSinograms { prompts: read(prompts.unwrap_or_default())?, randoms: randoms.map(read).transpose()?, facts };
    Ok((sinograms, notices))
}

/// Reads the sampling of sinograms from their header alone, with notices.
///
/// # Errors
/// As [`read_siemens_sinograms`], but for the data file, which may be missing.
pub fn read_siemens_geometry(path: &Path) -> Result<(ScanGeometry, Vec<Notice>), IoError> {
    let header = Header::read(path)?;
    let (.., geometry) = sampling_of(&header)?;
    Ok((geometry, header.remarks()))
}

/// Returns the layout of the file, the index of each of its segments in the geometry, and the geometry.
fn sampling_of(header: &Header) -> Result<(Layout, Vec<usize>, ScanGeometry), IoError> {
    check_scanner(header)?;
    refuse_tof(header)?;
    if header.word("%compression").is_some_and(|word| word != "off") {
        return Err(header.unsupported(SiemensProblem::Compressed));
    }
    let (span, max_ring_difference) = compression(header)?;
    let segments = segments(header, span, max_ring_difference)?;
    check_sizes(header, &segments)?;
    let layout =
        Layout { order: AxisOrder::Sinograms, num_views: NUM_VIEWS, num_tangential: NUM_TANGENTIAL, segments, tof: None };
    let (Sampling { segments, .. }, sorted_index) = layout.sorted();
    let geometry = geometry(header, in_plane(header)?, segments)?;
    Ok((layout, sorted_index, geometry))
}

/// Refuses figures that are not the mMR's.
fn check_scanner(header: &Header) -> Result<(), IoError> {
    match header.text("originating system") {
        Some(ORIGINATING_SYSTEM) => {}
        Some(found) => {
            let expected = "2008, the Biograph mMR, the only Siemens scanner that is known,";
            return Err(header.invalid("originating system", found, expected));
        }
        None => return Err(header.missing("originating system", "add the scanner's name, 2008 for the Biograph mMR")),
    }
    for (key, expected) in
        [("number of rings", NUM_RINGS), ("%number of views", NUM_VIEWS), ("%number of projections", NUM_TANGENTIAL)]
    {
        if let Some(found) = header.count(key)?.filter(|&found| found != expected) {
            return Err(header.invalid(key, &found.to_string(), &format!("{expected} (the Biograph mMR's)")));
        }
    }
    for (key, expected) in [("distance between rings (cm)", RING_SPACING_CM), ("gantry crystal radius (cm)", INNER_RADIUS_CM)] {
        if let Some(found) = header.number(key)?.filter(|found| (found - expected).abs() > 1e-3 * expected || found.is_nan()) {
            return Err(header.invalid(key, &found.to_string(), &format!("{expected} (the Biograph mMR's)")));
        }
    }
    Ok(())
}

fn refuse_tof(header: &Header) -> Result<(), IoError> {
    const KEY: &str = "%number of tof time bins";
    match header.count(KEY)? {
        None | Some(1) => Ok(()),
        Some(num) => Err(header.unsupported(SiemensProblem::TofBins(num))),
    }
}

/// Returns the number of ring differences that a segment adds, and the largest one.
fn compression(header: &Header) -> Result<(usize, usize), IoError> {
    let span = header.count(AXIAL_COMPRESSION)?.ok_or_else(|| header.missing(AXIAL_COMPRESSION, "add it: 1 or 11"))?;
    let largest = header.count(MAX_RING_DIFFERENCE)?.ok_or_else(|| header.missing(MAX_RING_DIFFERENCE, "add it: 60"))?;
    if span.is_multiple_of(2) || span >= 2 * NUM_RINGS {
        return Err(header.invalid(AXIAL_COMPRESSION, &span.to_string(), "an odd number (1 or 11)"));
    }
    if largest >= NUM_RINGS {
        return Err(header.invalid(MAX_RING_DIFFERENCE, &largest.to_string(), &format!("less than the {NUM_RINGS} rings")));
    }
    Ok((span, largest))
}

/// Returns the segments in the order of the file.
fn segments(header: &Header, span: usize, max_ring_difference: usize) -> Result<Vec<Segment>, IoError> {
    let (span, largest) = (span as i32, max_ring_difference as i32);
    let half = (span - 1) / 2;
    if largest < half {
        let expected = format!("at least {half}, as '{AXIAL_COMPRESSION}' is {span}");
        return Err(header.invalid(MAX_RING_DIFFERENCE, &largest.to_string(), &expected));
    }
    let mut segments = vec![Segment::full(-half, half, NUM_RINGS)];
    for middle in (span..).step_by(span as usize).take_while(|middle| middle - half <= largest) {
        let (min, max) = (middle - half, (middle + half).min(largest));
        segments.push(Segment::full(-max, -min, NUM_RINGS));
        segments.push(Segment::full(min, max, NUM_RINGS));
    }
    Ok(segments)
}

/// Returns the planes of each segment from the header.
fn segment_table(header: &Header) -> Result<Option<Vec<i32>>, IoError> {
    let Some(text) = header.text(SEGMENT_TABLE) else { return Ok(None) };
    let table = header.integers(SEGMENT_TABLE)?;
    let largest = 2 * NUM_RINGS as i32 - 1;
    if table.is_empty() || table.iter().any(|num| !(1..=largest).contains(num)) {
        return Err(header.invalid(SEGMENT_TABLE, text, &format!("1 to {largest} planes in each segment")));
    }
    Ok(Some(table))
}

/// Refuses sizes that are not those of the segments.
fn check_sizes(header: &Header, segments: &[Segment]) -> Result<(), IoError> {
    let planes = segments.iter().map(|segment| segment.num_axial_pos);
    if let Some(table) = segment_table(header)?.filter(|table| !table.iter().copied().eq(planes.clone().map(|num| num as i32))) {
        let expected: Vec<String> = planes.clone().map(|num| num.to_string()).collect();
        let expected = format!("{{{}}} ('{AXIAL_COMPRESSION}', '{MAX_RING_DIFFERENCE}')", expected.join(","));
        let table: Vec<String> = table.iter().map(i32::to_string).collect();
        return Err(header.invalid(SEGMENT_TABLE, &table.join(","), &expected));
    }
    for (axis, expected) in [(1, NUM_TANGENTIAL), (2, NUM_VIEWS), (3, planes.sum())] {
        let found = header.count_at("matrix size", axis)?;
        if found != expected {
            return Err(header.invalid(&format!("matrix size [{axis}]"), &found.to_string(), &expected.to_string()));
        }
    }
    Ok(())
}

/// Returns the detectors' own positions, unless the data was corrected for them.
fn in_plane(header: &Header) -> Result<InPlane, IoError> {
    let words = header.words("applied corrections").or_else(|| header.words("%applied corrections")).unwrap_or_default();
    if !words.iter().any(|word| word.contains("arc")) {
        return Ok(InPlane::Detectors);
    }
    const KEY: &str = "scale factor (mm/pixel)";
    let hint = "its sinograms are arc-corrected: add the distance between their bins";
    let bin_mm = header.number_at(KEY, 1)?.ok_or_else(|| header.missing(&format!("{KEY} [1]"), hint))?;
    Ok(InPlane::ArcCorrected { bin_mm })
}

fn geometry(header: &Header, in_plane: InPlane, segments: Vec<Segment>) -> Result<ScanGeometry, IoError> {
    let mut geometry = ScanGeometry {
        scanner: "Siemens mMR".into(),
        num_rings: NUM_RINGS,
        ring_spacing_mm: 10.0 * RING_SPACING_CM,
        num_detectors_per_ring: 2 * NUM_VIEWS,
        inner_radius_mm: 10.0 * INNER_RADIUS_CM,
        depth_of_interaction_mm: DEPTH_OF_INTERACTION_MM,
        num_views: NUM_VIEWS,
        num_tangential: NUM_TANGENTIAL,
        view_offset_deg: 0.0,
        in_plane,
        segments,
        fov_radius_mm: FOV_RADIUS_MM,
    };
    geometry.fov_radius_mm = geometry.usual_fov_radius_mm(None).min(FOV_RADIUS_MM);
    geometry.validate().map_err(|source| IoError::Geometry(header.path.clone(), source))
}

/// Returns the format of the numbers, which are little endian unless the header specifies another byte order.
fn number_format(header: &Header, notices: &mut Vec<Notice>) -> Result<NumberFormat, IoError> {
    const KEY: &str = "image data byte order";
    let word = header.word(KEY).or_else(|| header.word("imagedata byte order"));
    let byte_order = word.map_or(Ok(ByteOrder::Little), |word| header.byte_order_of(KEY, &word))?;
    Ok(NumberFormat { number_type: header.number_type(notices)?, byte_order, scale: 1.0, intercept: 0.0 })
}

/// Returns the offsets of prompts and randoms.
fn offsets(header: &Header, num_bytes: u64) -> Result<[Option<u64>; 2], IoError> {
    const NUM: &str = "number of scan data types";
    const WHAT: &str = "scan data type description";
    const OFFSET: &str = "data offset in bytes";
    let num = header.count(NUM)?.unwrap_or(1);
    if num > 2 {
        return Err(header.invalid(NUM, &num.to_string(), "1 (prompts) or 2 (prompts and randoms)"));
    }
    let mut offsets: [Option<u64>; 2] = [None; 2];
    for index in 1..=num {
        let what = header.text_at(WHAT, index).unwrap_or(if index == 1 { "prompts" } else { "randoms" }).to_lowercase();
        let kind = match what.as_str() {
            "prompts" => 0,
            "randoms" | "delayeds" | "delayed" => 1,
            _ => {
                let expected = "prompts or randoms, because subtracted or corrected data are not counts,";
                return Err(header.invalid(&format!("{WHAT} [{index}]"), &what, expected));
            }
        };
        let offset = header.text_at(OFFSET, index).unwrap_or("0");
        let bytes = offset.parse().map_err(|_| header.invalid(&format!("{OFFSET} [{index}]"), offset, "a number of bytes"))?;
        if offsets[kind].replace(bytes).is_some() {
            return Err(header.unsupported(SiemensProblem::Twice(what)));
        }
    }
    match offsets {
        [None, _] => Err(header.unsupported(SiemensProblem::NoPrompts)),
        [Some(a), Some(b)] if a.abs_diff(b) < num_bytes => Err(header.unsupported(SiemensProblem::Overlap(num_bytes, [a, b]))),
        _ => Ok(offsets),
    }
}

/// A problem of Siemens' sinograms, or of the header of their lists.
#[derive(Debug, thiserror::Error)]
enum SiemensProblem {
    /// Siemens data with several bins of time of flight.
    #[error("it holds time-of-flight data ('%number of tof time bins' is {0}), which is not read; add its time bins up")]
    TofBins(usize),
    /// Events of another size.
    #[error("its words have {0} bits each; only lists of 32 bits are read")]
    WordBits(usize),
    /// Events in planes of several ring pairs.
    #[error(
        "its events are in planes of several ring pairs ('%axial compression' is {0}); only planes of one ring pair are supported"
    )]
    RingPairs(usize),
    /// Compressed sinograms.
    #[error(
        "its data is packed in a way that only Siemens' software unpacks ('%compression' is on); let that write it again \
         without compression"
    )]
    Compressed,
    /// Prompts or randoms twice.
    #[error("it holds {0} twice ('scan data type description')")]
    Twice(String),
    /// No prompts.
    #[error("it holds no prompts ('scan data type description')")]
    NoPrompts,
    /// Prompts and randoms that overlap: the bytes of each, and their offsets.
    #[error("its prompts and randoms of {} bytes each overlap ('data offset in bytes [i]': {} and {})", .0, .1[0], .1[1])]
    Overlap(u64, [u64; 2]),
}

coded!(SiemensProblem = "io.unsupported.siemens");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_the_planes_of_siemens_tables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.s.hdr");
        std::fs::write(&path, "!INTERFILE:=\n").unwrap();
        let header = Header::read(&path).unwrap();
        let planes = |span, largest| -> Vec<usize> {
            segments(&header, span, largest).unwrap().iter().map(|segment| segment.num_axial_pos).collect()
        };
        assert_eq!(planes(11, 60), [127, 115, 115, 93, 93, 71, 71, 49, 49, 27, 27]);
        assert_eq!(planes(1, 60).iter().sum::<usize>(), 4084);
        assert_eq!(planes(1, 60)[..5], [64, 63, 63, 62, 62]);
        let differences: Vec<i32> = segments(&header, 11, 60).unwrap().iter().map(|s| s.min_ring_difference).collect();
        assert_eq!(differences, [-5, -16, 6, -27, 17, -38, 28, -49, 39, -60, 50]);
        assert!(segments(&header, 11, 4).is_err());
    }
}
