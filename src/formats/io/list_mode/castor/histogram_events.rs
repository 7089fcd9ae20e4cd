//! CASToR's histograms as list-mode data: each count of a bin is an event. The likelihood of these events is that of the counts,
//! because y ln ȳ is y times the term of one event. The bins define the pairs in coincidence and their detection efficiency.

use std::path::Path;
use std::sync::Arc;

use super::ends::Ends;
use super::facts::{facts, several_pairs};
use super::header::Header;
use super::histogram::{Histogram, HistogramBin};
use super::normalization::PairFactors;
use super::scanner::table_of;
use crate::data::{Attenuation, EventChunk, ListMetadata, Notice};
use crate::io::error::IoError;
use crate::io::list_mode::bytes::ByteStream;
use crate::io::list_mode::castor::problem::{CastorProblem, MAX_COUNTS};
use crate::io::list_mode::options::ListOptions;
use crate::io::list_mode::reader::{EVENTS_AT_ONCE, EventReader};
use crate::io::notice;

/// The events of a histogram.
struct HistogramEvents {
    histogram: Histogram,
    facts: Arc<ListMetadata>,
    ends: Ends,
    bin: HistogramBin,
    /// Number of the bin, from 1 on.
    number: u64,
    /// Bins of time of flight of it that were begun, and the counts of the last one that are left.
    num_begun: usize,
    num_left: usize,
    has_empty_bins: bool,
    notices: Vec<Notice>,
}

/// Opens a histogram as list-mode data.
///
/// # Errors
/// An invalid header; a scanner or a normalisation that does not read.
pub(super) fn open(path: &Path, header: &Header, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    let histogram = Histogram::open(path, options)?;
    let (facts, ends) = facts(header, table_of(header, options)?, options)?;
    let mut facts = ListMetadata { num_events: None, ..facts };
    facts.format = "CASToR histogram".to_owned();
    facts.tof = histogram.tof();
    let mut notices = vec![notice::info(path, "a histogram: each count of a bin is used as one event")];
    notices.extend(several_pairs(header, &ends));
    if options.normalization.is_none() {
        let factors = PairFactors::of_entries(header, &ends)?;
        facts.efficiency = Some(Arc::new(factors));
    }
    if header.has_attenuation {
        facts.attenuation = Attenuation::InFactors;
    }
    Ok(Box::new(HistogramEvents {
        histogram,
        facts: Arc::new(facts),
        ends,
        bin: HistogramBin::default(),
        number: 0,
        num_begun: 0,
        num_left: 0,
        has_empty_bins: false,
        notices,
    }))
}

impl HistogramEvents {
    /// Moves to the next counts; `false` = there are none.
    fn advance(&mut self) -> Result<bool, IoError> {
        if self.num_begun == self.bin.counts.len() {
            if !self.histogram.next(&mut self.bin)? {
                return Ok(false);
            }
            (self.number, self.num_begun) = (self.number + 1, 0);
            self.has_empty_bins |= self.bin.counts.iter().all(|counts| *counts == 0.0);
        }
        let counts = self.bin.counts[self.num_begun];
        if !((0.0..=MAX_COUNTS).contains(&counts) && counts.fract() == 0.0) {
            return Err(IoError::unsupported(&self.histogram.header.data, CastorProblem::BinCounts(self.number, counts)));
        }
        (self.num_left, self.num_begun) = (counts as usize, self.num_begun + 1);
        Ok(true)
    }
}

impl EventReader for HistogramEvents {
    fn facts(&self) -> &Arc<ListMetadata> {
        &self.facts
    }

    fn next(&mut self, chunk: &mut EventChunk) -> Result<bool, IoError> {
        chunk.clear();
        let events = &mut chunk.prompts;
        let header = &self.histogram.header;
        let has_background = header.has_scatter || header.has_randoms;
        while events.pairs.len() < EVENTS_AT_ONCE {
            if self.num_left == 0 {
                if !self.advance()? {
                    break;
                }
                continue;
            }
            let num = self.num_left.min(EVENTS_AT_ONCE - events.pairs.len());
            self.num_left -= num;
            let (bin, tof) = (&self.bin, self.num_begun - 1);
            let pair = self.ends.pair(&bin.lines);
            let pair = pair.map_err(|problem| IoError::unsupported(&self.histogram.header.data, problem))?;
            events.pairs.extend(std::iter::repeat_n(pair, num));
            events.times_ms.extend(std::iter::repeat_n(bin.time_ms, num));
            let mut additive = bin.additive[tof];
            if let Some(edges) = self.facts.tof.as_ref().map(|tof| &tof.edges_mm) {
                let interval = [edges[tof], edges[tof + 1]];
                additive /= (interval[1] - interval[0]) as f32;
                events.tof_mm.extend(std::iter::repeat_n(interval.map(|mm| mm as f32), num));
            }
            if has_background {
                events.additive.extend(std::iter::repeat_n(additive, num));
            }
        }
        Ok(!events.pairs.is_empty())
    }

    fn check_end(&self) -> Result<(), IoError> {
        self.histogram.records.check_num(Some(self.histogram.num_bins()))
    }

    fn stream(&mut self) -> &mut ByteStream {
        &mut self.histogram.records.stream
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        let is_at_the_end = self.number == self.histogram.num_bins();
        if is_at_the_end && self.number > 0 && !std::mem::replace(&mut self.has_empty_bins, true) {
            let text = "none of its bins is without counts; where those were left out, pairs that counted nothing are missing in the sensitivity";
            notices.push(notice::warning(&self.histogram.header.data, text));
        }
        notices
    }
}
