//! CASToR's histograms as lists: each bin is as many events as it has counts. The likelihood of these is that of the counts, for y ln ȳ
//! is y times that of one event. Which pairs can be in coincidence, and how well they count, is what the bins themselves tell.

use std::path::Path;
use std::sync::Arc;

use super::ends::Ends;
use super::facts::{facts, several_pairs};
use super::header::Header;
use super::histogram::{Histogram, HistogramBin};
use super::normalization::PairFactors;
use super::scanner::table_of;
use crate::data::{Attenuation, EventChunk, ListMetadata, Notice};
use crate::io::error::{IoError, Unsupported};
use crate::io::list_mode::bytes::ByteStream;
use crate::io::list_mode::options::ListOptions;
use crate::io::list_mode::reader::{EVENTS_AT_ONCE, EventReader};

/// Most counts of a bin: 32-bit floats hold all whole numbers up to here.
const MOST_COUNTS: f32 = 16_777_216.0;

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

/// Opens a histogram as a list of events.
///
/// # Errors
/// A header that cannot be; a scanner or a normalisation that cannot be read.
pub(super) fn open(path: &Path, header: &Header, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    let histogram = Histogram::open(path, options)?;
    let (facts, ends) = facts(header, table_of(header, options)?, options)?;
    let mut facts = ListMetadata { num_events: None, ..facts };
    facts.format = "CASToR histogram".to_owned();
    facts.tof = histogram.tof();
    let text = "a histogram: each count of a bin is used as one event";
    let mut notices = vec![Notice::info(format!("{}: {text}", path.display()))];
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
    /// Goes on to the next counts; `false` = there are none.
    fn advance(&mut self) -> Result<bool, IoError> {
        if self.num_begun == self.bin.counts.len() {
            if !self.histogram.next(&mut self.bin)? {
                return Ok(false);
            }
            (self.number, self.num_begun) = (self.number + 1, 0);
            self.has_empty_bins |= self.bin.counts.iter().all(|counts| *counts == 0.0);
        }
        let counts = self.bin.counts[self.num_begun];
        if !((0.0..=MOST_COUNTS).contains(&counts) && counts.fract() == 0.0) {
            let problem = Unsupported::BinCounts { bin: self.number, counts, most: MOST_COUNTS };
            return Err(IoError::unsupported(self.histogram.data_path(), problem));
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
            let pair = self.ends.pair(&bin.lines).map_err(|problem| IoError::unsupported(self.histogram.data_path(), problem))?;
            events.pairs.extend(std::iter::repeat_n(pair, num));
            events.times_ms.extend(std::iter::repeat_n(bin.time_ms, num));
            let mut additive = bin.additive[tof];
            if let Some(edges) = self.facts.tof.as_ref().map(|tof| &tof.edges_mm) {
                let interval = [edges[tof], edges[tof + 1]];
                additive /= (interval[1] - interval[0]) as f32;
                events.tof_mm.extend(std::iter::repeat_n(interval.map(|mm| mm as f32), num));
            }
            if self.histogram.has_background() {
                events.additive.extend(std::iter::repeat_n(additive, num));
            }
        }
        Ok(!events.pairs.is_empty())
    }

    fn check_end(&self) -> Result<(), IoError> {
        self.histogram.check_end()
    }

    fn stream(&mut self) -> &mut ByteStream {
        self.histogram.stream()
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        let is_at_the_end = self.number == self.histogram.num_bins();
        if is_at_the_end && self.number > 0 && !std::mem::replace(&mut self.has_empty_bins, true) {
            notices.push(Notice::warning(format!(
                "{}: none of its bins is without counts; where those were left out, pairs that counted nothing are missing in the sensitivity",
                self.histogram.data_path().display()
            )));
        }
        notices
    }
}
