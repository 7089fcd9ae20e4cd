//! CASToR's histograms: bins of one or several pairs of crystals, with their counts, also of those without any.

use std::path::Path;
use std::sync::Arc;

use super::ends::lines_of;
use super::factors::{Factors, width_mm};
use super::header::{Header, Mode, Tof};
use super::scanner::table_of;
use crate::data::TofMeasurement;
use crate::io::error::{IoError, Refusal};
use crate::io::list_mode::castor::problem::CastorProblem;
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
    pub(super) header: Header,
    factors: Factors,
    detectors: Arc<Detectors>,
    pub(super) records: Records,
}

impl Histogram {
    /// Opens a histogram.
    ///
    /// # Errors
    /// An invalid header, or one of other data; a scanner that does not read; a data file of another size than its header
    /// describes.
    pub fn open(path: &Path, options: &ListOptions) -> Result<Self, IoError> {
        let header = Header::read(path)?;
        if header.mode != Mode::Histogram {
            return Err(IoError::unsupported(path, CastorProblem::NotAHistogram));
        }
        let detectors = Arc::new(table_of(&header, options)?.detectors);
        let factors = Factors::new(&header);
        let records = Records::open(&header.data, factors.layout.size)?;
        records.check_num(Some(header.num_events))?;
        Ok(Self { header, factors, detectors, records })
    }

    /// Returns the scanner.
    pub fn detectors(&self) -> &Arc<Detectors> {
        &self.detectors
    }

    /// Returns number of bins.
    pub fn num_bins(&self) -> u64 {
        self.header.num_events
    }

    /// Returns the resolution of time of flight and the edges of its bins.
    pub fn tof(&self) -> Option<TofMeasurement> {
        let Some(Tof::Histogram { fwhm_ps, num_bins, bin_ps }) = self.header.tof else { return None };
        let width = width_mm(bin_ps);
        let edges_mm: Vec<f64> = (0..=num_bins).map(|edge| (edge as f64 - 0.5 * num_bins as f64) * width).collect();
        let half_mm = 0.5 * num_bins as f64 * width;
        Some(TofMeasurement { fwhm_mm: width_mm(fwhm_ps), window_mm: [-half_mm, half_mm], edges_mm, ..TofMeasurement::default() })
    }

    /// Replaces the given bin by the next one; `false` at the end.
    ///
    /// # Errors
    /// The file does not read or has an invalid bin.
    pub fn next(&mut self, bin: &mut HistogramBin) -> Result<bool, IoError> {
        let (factors, header, num_crystals) = (&self.factors, &self.header, self.detectors.crystals().len());
        Ok(self.records.next_of(1, |record| decode(record, factors, header, num_crystals, bin))? == 1)
    }
}

fn decode(record: &[u8], factors: &Factors, header: &Header, num_crystals: usize, bin: &mut HistogramBin) -> Result<(), Refusal> {
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
            return Err(CastorProblem::Counts(counts).into());
        }
        let scatter = factors.expected(record, header.has_scatter.then_some(at + 4), "scatter")?;
        bin.counts.push(counts);
        bin.additive.push(finite(randoms + scatter, "its background")?);
    }
    lines_of(record, layout, header.max_lines, num_crystals, &mut bin.lines)
}
