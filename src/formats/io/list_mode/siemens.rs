//! Siemens' list mode of 32-bit words, little endian (`.l.hdr` and `.l`), of the Biograph mMR.
//!
//! | bits | |
//! |---|---|
//! | 31 = 0 | an event: bit 30 = 1 for a prompt, 0 for a delayed one; bits 0–29 its bin, (plane · views + view) · tangential positions + position |
//! | 31 = 1, 29–30 = 0 | a time tag: bits 0–28 ms; it applies to the words after it |
//! | 31 = 1 | another tag (gating, dead time, singles) |
//!
//! Every ninth place of a ring is a gap between blocks.

use std::path::Path;
use std::sync::Arc;

use super::options::ListOptions;
use super::reader::EventReader;
use super::records::{RecordDecoder, RecordReader, Records, u32_at};
use crate::coded::coded;
use crate::data::{EventChunk, Fingerprint, ListMetadata, ListSampling, Notice, PairEfficiency};
use crate::io::error::{IoError, Refusal};
use crate::io::notice;
use crate::io::sinograms::siemens::{ListHeader, read_list_header};
use crate::scanner::{Cylinder, Detectors, ScanGeometry, Segment};

const WORD_BYTES: usize = 4;
const IS_TAG: u32 = 1 << 31;
const IS_PROMPT: u32 = 1 << 30;
const TAG_KIND: u32 = 0b11 << 29;

/// Places of a ring from one gap to the next.
const GAP_STEP: u32 = 9;

/// Value for a gap in the tables.
const GAP: u32 = u32::MAX;

/// Makes events of words.
struct Decoder {
    /// First crystals of both rings of each plane.
    planes: Vec<[u32; 2]>,
    /// Both detectors of each view and tangential position; [`GAP`] where one is none.
    transaxial: Vec<[u32; 2]>,
    time_ms: u32,
    num_other_tags: u64,
    num_on_gaps: u64,
}

/// Gaps do not count.
#[derive(Debug)]
struct NoGaps {
    num_detectors: u32,
}

impl PairEfficiency for NoGaps {
    fn of(&self, pair: [u32; 2]) -> f32 {
        let is_gap = |crystal: u32| is_gap(crystal % self.num_detectors);
        if pair.into_iter().any(is_gap) { 0.0 } else { 1.0 }
    }

    fn identify(&self, into: &mut Fingerprint) {
        into.text("gaps");
        into.whole(self.num_detectors.into());
        into.whole(GAP_STEP.into());
    }

    fn of_crystal(&self, crystal: u32) -> Option<bool> {
        Some(!is_gap(crystal % self.num_detectors))
    }
}

fn is_gap(detector: u32) -> bool {
    detector.is_multiple_of(GAP_STEP)
}

/// Opens list-mode data.
///
/// # Errors
/// An invalid header, one of another scanner or of unsupported events; a data file that does not open.
pub fn open(path: &Path, _options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    let header = read_list_header(path)?;
    let records = Records::open(&header.data, WORD_BYTES)?;
    let num_words = records.stream.len()? / WORD_BYTES as u64;
    let is_whole = header.num_words.is_none_or(|num_expected_words| num_expected_words == num_words);
    let ListHeader { geometry, mut notices, .. } = header;
    if !is_whole {
        let num_expected_words = header.num_words.unwrap_or_default();
        let duration = header.facts.duration_secs.map_or_else(String::new, |secs| format!(" and {secs} s"));
        let text = format!(
            "its header has {num_expected_words} words{duration}, {} has {num_words}; the words of the file are used, and the duration is \
             that of its time tags",
            header.data.display()
        );
        notices.push(notice::warning(path, text));
    }
    let detectors = Detectors::of_cylinder(&geometry).map_err(|source| IoError::Detectors(path.to_owned(), source))?;
    let mut facts = ListMetadata::new("Siemens list mode (32 bits)", Arc::new(detectors));
    facts.efficiency = Some(Arc::new(NoGaps { num_detectors: geometry.num_detectors_per_ring as u32 }));
    facts.sampling =
        Some(ListSampling { num_tangential: geometry.num_tangential, max_ring_difference: header.max_ring_difference });
    facts.duration_ms = header.facts.duration_secs.filter(|_| is_whole).map(|secs| (secs * 1e3).round() as u64);
    facts.isotope = header.facts.isotope;
    facts.half_life_secs = header.facts.half_life_secs;
    facts.exam = header.facts.exam;
    let decoder = Decoder::new(&geometry);
    Ok(Box::new(RecordReader { facts: Arc::new(facts), decoder, records, num_expected: None, notices }))
}

impl Decoder {
    fn new(geometry: &ScanGeometry) -> Self {
        let num_detectors = geometry.num_detectors_per_ring as u32;
        let rings = |segment: &Segment| {
            let difference = segment.min_ring_difference;
            let [first, second] = [(-difference).max(0), difference.max(0)].map(|ring| ring as u32);
            (0..segment.num_axial_pos as u32).map(move |axial| [first + axial, second + axial].map(|ring| ring * num_detectors))
        };
        let cylinder = Cylinder::of(geometry);
        let first = -((geometry.num_tangential / 2) as i32);
        let detectors = |bin: usize| {
            let (view, tangential) = (bin / geometry.num_tangential, (bin % geometry.num_tangential) as i32);
            let pair = cylinder.detectors(view, first + tangential).map(|detector| detector as u32);
            if pair.into_iter().any(is_gap) { [GAP; 2] } else { pair }
        };
        Self {
            planes: geometry.segments.iter().flat_map(rings).collect(),
            transaxial: (0..geometry.num_transaxial()).map(detectors).collect(),
            time_ms: 0,
            num_other_tags: 0,
            num_on_gaps: 0,
        }
    }

    fn advance_to(&mut self, time_ms: u32) -> Result<(), Refusal> {
        let before_ms = std::mem::replace(&mut self.time_ms, time_ms);
        if time_ms < before_ms {
            return Err(SiemensListProblem::Backwards { time_ms, before_ms }.into());
        }
        Ok(())
    }
}

impl RecordDecoder for Decoder {
    fn decode(&mut self, record: &[u8], chunk: &mut EventChunk) -> Result<(), Refusal> {
        let word = u32_at(record, 0);
        if word & IS_TAG != 0 {
            match word & TAG_KIND {
                0 => self.advance_to(word & !(IS_TAG | TAG_KIND))?,
                _ => self.num_other_tags += 1,
            }
            return Ok(());
        }
        let bin = word & !IS_PROMPT;
        let num_transaxial = self.transaxial.len() as u32;
        let Some(&[first, second]) = self.planes.get((bin / num_transaxial) as usize) else {
            return Err(SiemensListProblem::Plane { bin, plane: bin / num_transaxial, num_planes: self.planes.len() }.into());
        };
        let [a, b] = self.transaxial[(bin % num_transaxial) as usize];
        if a == GAP {
            self.num_on_gaps += 1;
            return Ok(());
        }
        let events = if word & IS_PROMPT != 0 { &mut chunk.prompts } else { &mut chunk.delayeds };
        events.pairs.push([first + a, second + b]);
        events.times_ms.push(self.time_ms);
        Ok(())
    }

    fn notices(&mut self, data: &Path) -> Vec<Notice> {
        let [num_other_tags, num_on_gaps] = [&mut self.num_other_tags, &mut self.num_on_gaps].map(std::mem::take);
        let tags = format!("{num_other_tags} tags are not of time and were passed over");
        let tags = (num_other_tags > 0).then(|| notice::info(data, tags));
        let gaps = format!(
            "{num_on_gaps} events were left out, for one of their detectors is a gap between blocks; check that the file comes from this scanner"
        );
        let gaps = (num_on_gaps > 0).then(|| notice::warning(data, gaps));
        [tags, gaps].into_iter().flatten().collect()
    }
}

/// A problem of Siemens' list-mode data.
#[derive(Debug, thiserror::Error)]
enum SiemensListProblem {
    /// A time tag that is earlier than the one before it.
    #[error("its time tag is {time_ms} ms, but the one before it is {before_ms} ms: time runs backwards")]
    Backwards {
        /// Its time.
        time_ms: u32,
        /// Time of the tag before it.
        before_ms: u32,
    },
    /// An event in a plane that the scanner does not have.
    #[error("the event's bin {bin} is in plane {plane}, but there are {num_planes} planes; is it the data of this header?")]
    Plane {
        /// Number of the bin.
        bin: u32,
        /// Number of the plane.
        plane: u32,
        /// Planes of the scanner.
        num_planes: usize,
    },
}

coded!(SiemensListProblem = "io.unsupported.siemens");
