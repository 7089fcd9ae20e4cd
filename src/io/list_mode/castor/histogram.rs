//! CASToR's histograms: bins of one or several pairs of crystals, with their counts, also of those without any.

use std::path::Path;
use std::sync::Arc;

use super::ends::lines_of;
use super::factors::{Factors, width_mm};
use super::header::{Header, Mode, Tof};
use super::scanner::table_of;
use crate::data::TofFacts;
use crate::io::error::{EventProblem, IoError, Unsupported};
use crate::io::list_mode::bytes::ByteStream;
use crate::io::list_mode::options::ListOptions;
use crate::io::list_mode::records::{Records, f32_at, finite, u32_at};
use crate::scanner::Detectors;

/// A bin of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistogramBin {
    /// When it begins, ms.
    pub time_ms: u32,
    /// Its pairs of crystals. Its line runs between the means of their first and of their second ones.
    pub lines: Vec<[u32; 2]>,
    /// Counts of each bin of time of flight.
    pub counts: Vec<f32>,
    /// Expected counts per line integral in mm, of all bins of time of flight together.
    pub multiplicative: f32,
    /// Expected background counts of each bin of time of flight.
    pub additive: Vec<f32>,
}

/// Reads a histogram from its beginning on, bin by bin.
#[derive(Debug)]
pub struct Histogram {
    header: Header,
    factors: Factors,
    detectors: Arc<Detectors>,
    records: Records,
    /// Bins of the block that was peeked last which were given.
    num_given: usize,
}

impl Histogram {
    /// Opens a histogram.
    ///
    /// # Errors
    /// A header that is none, or not of a histogram; a scanner that cannot be read; a data file that does not have the size that its
    /// header tells.
    pub fn open(path: &Path, options: &ListOptions) -> Result<Self, IoError> {
        let header = Header::read(path)?;
        if header.mode != Mode::Histogram {
            return Err(IoError::unsupported(path, Unsupported::NotAHistogram));
        }
        let detectors = Arc::new(table_of(&header, options)?.detectors);
        let factors = Factors::new(&header);
        let records = Records::open(&header.data, factors.layout.size)?;
        records.check_num(Some(header.num_events))?;
        Ok(Self { header, factors, detectors, records, num_given: 0 })
    }

    /// The scanner.
    pub fn detectors(&self) -> &Arc<Detectors> {
        &self.detectors
    }

    /// Number of bins.
    pub fn num_bins(&self) -> u64 {
        self.header.num_events
    }

    /// How time of flight is measured, with the edges of its bins.
    pub fn tof(&self) -> Option<TofFacts> {
        let Some(Tof::Histogram { fwhm_ps, num_bins, bin_ps }) = self.header.tof else { return None };
        let width = width_mm(bin_ps);
        let edges_mm: Vec<f64> = (0..=num_bins).map(|edge| (edge as f64 - 0.5 * num_bins as f64) * width).collect();
        let half_mm = 0.5 * num_bins as f64 * width;
        Some(TofFacts { fwhm_mm: width_mm(fwhm_ps), window_mm: [-half_mm, half_mm], edges_mm, ..TofFacts::default() })
    }

    /// Whether its bins tell a background.
    pub(super) fn has_background(&self) -> bool {
        self.header.has_scatter || self.header.has_randoms
    }

    /// Its data file.
    pub(super) fn data_path(&self) -> &Path {
        &self.header.data
    }

    /// Refuses a data file of another size than its header tells.
    ///
    /// # Errors
    /// Where, and what.
    pub(super) fn check_end(&self) -> Result<(), IoError> {
        self.records.check_num(Some(self.header.num_events)).map(|_| ())
    }

    /// The data file, at the place up to which it was read.
    pub(super) fn stream(&mut self) -> &mut ByteStream {
        self.records.stream()
    }

    /// Puts the next bin in place of the given one; `false` = there is none.
    ///
    /// # Errors
    /// The file cannot be read or holds what cannot be: where, and what.
    pub fn next(&mut self, bin: &mut HistogramBin) -> Result<bool, IoError> {
        let block = self.records.peek()?;
        if block.len() == 0 {
            return Ok(false);
        }
        let (factors, header, num_crystals) = (&self.factors, &self.header, self.detectors.crystals().len());
        block.nth(self.num_given, |record| decode(record, factors, header, num_crystals, bin))?;
        self.num_given += 1;
        if self.num_given == block.len() {
            self.records.advance(self.num_given);
            self.num_given = 0;
        }
        Ok(true)
    }
}

fn decode(
    record: &[u8],
    factors: &Factors,
    header: &Header,
    num_crystals: usize,
    bin: &mut HistogramBin,
) -> Result<(), EventProblem> {
    let layout = &factors.layout;
    bin.time_ms = layout.time.map_or(0, |at| u32_at(record, at));
    bin.multiplicative = factors.multiplicative(record)?;
    let (num_tof, bytes) = (header.num_tof_bins(), header.bytes_per_tof_bin());
    let randoms = factors.expected(record, layout.randoms, "random")? / num_tof as f64;
    bin.counts.clear();
    bin.additive.clear();
    let first = layout.measured.unwrap_or_default();
    for at in (0..num_tof).map(|tof| first + tof * bytes) {
        let counts = f32_at(record, at);
        if !counts.is_finite() {
            return Err(EventProblem::Counts(counts));
        }
        let scatter = factors.expected(record, header.has_scatter.then_some(at + 4), "scatter")?;
        bin.counts.push(counts);
        bin.additive.push(finite(randoms + scatter, "its background")?);
    }
    lines_of(record, layout, header.max_lines, num_crystals, &mut bin.lines)
}
