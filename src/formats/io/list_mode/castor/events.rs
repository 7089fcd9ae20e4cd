//! CASToR's list mode.

use std::path::Path;
use std::sync::Arc;

use super::ends::Ends;
use super::factors::{Factors, width_mm};
use super::facts::{facts, several_pairs};
use super::header::{Header, Mode, Tof};
use super::histogram_events;
use super::scanner::table_of;
use crate::data::{EventChunk, Notice};
use crate::io::error::{IoError, Refusal};
use crate::io::list_mode::castor::problem::CastorProblem;
use crate::io::list_mode::options::ListOptions;
use crate::io::list_mode::reader::EventReader;
use crate::io::list_mode::records::{RecordDecoder, RecordReader, Records, finite, outside_range, tof_mm_at, u32_at};
use crate::io::notice;

/// Makes events of entries.
struct Decoder {
    factors: Factors,
    ends: Ends,
    max_lines: usize,
    /// Room for the pairs of an event.
    lines: Vec<[u32; 2]>,
    tof: Option<ListTof>,
    /// True if the events have factors, which replace those of their pairs.
    has_factors: bool,
    has_background: bool,
    /// Events whose time of flight is outside the range of the header.
    num_outside: u64,
    /// Positions of the crystals along the axis and the largest difference of the header, mm.
    axial_mm: Option<(Vec<f64>, f64)>,
    /// Events of crystals that are farther apart.
    num_beyond: u64,
}

/// Positions along the axis are rounded by as much, mm.
const AXIAL_ROUNDING_MM: f64 = 1e-3;

/// Time of flight of a list, mm.
#[derive(Clone, Copy)]
struct ListTof {
    /// Width of the range of d.
    range_mm: f64,
    /// Half the width of an event's interval.
    half_mm: f64,
}

/// Opens list-mode data, or a histogram as list-mode data.
///
/// # Errors
/// An invalid header; a scanner or a normalisation that does not read.
pub fn open(path: &Path, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    let header = Header::read(path)?;
    if header.mode == Mode::Histogram {
        return histogram_events::open(path, &header, options);
    }
    if header.mode != Mode::List {
        return Err(IoError::unsupported(path, CastorProblem::NoEvents));
    }
    let table = table_of(&header, options)?;
    let factors = Factors::new(&header);
    let records = Records::open(&header.data, factors.layout.size)?;
    let mut notices = notices(&header, options);
    let (facts, ends) = facts(&header, table, options)?;
    notices.extend(several_pairs(&header, &ends));
    let facts = Arc::new(facts);
    let tof = match header.tof {
        Some(Tof::List { range_ps, step_ps, .. }) => {
            Some(ListTof { range_mm: width_mm(range_ps), half_mm: 0.5 * width_mm(step_ps.unwrap_or_default()) })
        }
        _ => None,
    };
    let decoder = Decoder {
        ends,
        max_lines: header.max_lines,
        lines: Vec::new(),
        tof,
        has_factors: header.has_attenuation || header.has_normalization,
        has_background: header.has_scatter || header.has_randoms,
        factors,
        num_outside: 0,
        axial_mm: header
            .max_axial_mm
            .map(|most| (facts.detectors.crystals().iter().map(|crystal| crystal.centre_mm[2]).collect(), most)),
        num_beyond: 0,
    };
    if header.has_kind {
        notices.push(notice::info(path, "its events have a kind, which is ignored"));
    }
    Ok(Box::new(RecordReader { facts, decoder, records, num_expected: Some(header.num_events), notices }))
}

fn notices(header: &Header, options: &ListOptions) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |text: &str| notices.push(notice::info(&header.path, text));
    if header.has_normalization && options.normalization.is_none() {
        add("only a normalisation file contains the pairs in coincidence and their efficiencies; without one all pairs of the \
             scanner have the same efficiency, also those of dead crystals");
    }
    if header.has_attenuation && options.normalization.is_none() {
        add("the attenuation is known for pairs with events only; without a normalisation file \
             the sensitivity is that of an object without attenuation");
    }
    if header.start_secs != 0.0 {
        let start = header.start_secs;
        add(&format!("it begins at {start} s ('Start time (s)'); the times of its events are taken as they are"));
    }
    notices
}

impl RecordDecoder for Decoder {
    fn decode(&mut self, record: &[u8], chunk: &mut EventChunk) -> Result<(), Refusal> {
        let events = &mut chunk.prompts;
        let layout = &self.factors.layout;
        let pair = self.ends.pair_of(record, layout, self.max_lines, &mut self.lines)?;
        if let Some((along, most)) = &self.axial_mm {
            let [a, b] = pair.map(|crystal| along[crystal as usize]);
            self.num_beyond += u64::from((a - b).abs() > most + AXIAL_ROUNDING_MM);
        }
        events.pairs.push(pair);
        events.times_ms.push(layout.time.map_or(0, |at| u32_at(record, at)));
        if self.has_factors {
            events.multiplicative.push(self.factors.multiplicative(record)?);
        }
        if self.has_background {
            let randoms = self.factors.expected(record, layout.randoms, "random")?;
            let scatter = self.factors.expected(record, layout.scatter, "scatter")?;
            let additive = randoms / self.tof.map_or(1.0, |tof| tof.range_mm) + scatter;
            events.additive.push(finite(additive, "its background")?);
        }
        if let (Some(tof), Some(at)) = (self.tof, layout.measured) {
            let mm = tof_mm_at(record, at)?;
            // Rounded to 32 bits, a number may be a little outside.
            self.num_outside += u64::from(mm.abs() > 0.5 * tof.range_mm * (1.0 + 1e-5));
            events.tof_mm.push([(mm - tof.half_mm) as f32, (mm + tof.half_mm) as f32]);
        }
        Ok(())
    }

    fn notices(&mut self, data: &Path) -> Vec<Notice> {
        let range = "is outside the range of its header ('List TOF measurement range (ps)')";
        let mut notices = outside_range(data, &mut self.num_outside, range);
        let num_beyond = std::mem::take(&mut self.num_beyond);
        if num_beyond > 0 {
            let text = format!(
                "{num_beyond} events are of crystals farther apart along the axis than 'Maximum axial difference mm' of the header: the \
                 sensitivity has no such pairs"
            );
            notices.push(notice::warning(data, text));
        }
        notices
    }
}
