//! YRT-PET's lists of events (`.lmDat`): no header, and events of 32-bit words, little endian – time (ms), two crystals, and what the
//! [`YrtFields`] say: time of flight t₂ − t₁ (ps; the sign is the other way round inside), randoms (counts per second). The scanner's
//! look-up table is CASToR's. Source: YRT-PET (Najmaoui et al. 2025).

use std::path::Path;
use std::sync::Arc;

use super::castor::scanner;
use super::options::{ListOptions, YrtFields};
use super::reader::EventReader;
use super::records::{RecordDecoder, RecordReader, Records, f32_at, finite, pair_at, u32_at};
use crate::data::{EventChunk, ListMetadata, Notice, TofFacts, tof_mm};
use crate::io::error::{EventProblem, IoError, Unsupported};
use crate::scanner::Detectors;

/// Bytes of time and crystals.
const PLAIN_BYTES: usize = 12;

/// Longest times that time of flight is told with, ps.
const MAX_TOF_PS: f64 = 1e9;

/// Makes events of bytes.
struct Decoder {
    num_crystals: usize,
    /// Where the time of flight is, and half the interval that an event tells of it, mm.
    tof: Option<(usize, f64)>,
    /// Where the random rate is, and how long the scan took, s.
    randoms: Option<(usize, f64)>,
    /// Width of the window over which the randoms are spread, mm; 1 without time of flight.
    window_mm: f64,
    /// Largest |d| of the range that was told, mm, and how many events are outside of it.
    reach_mm: f64,
    num_outside: u64,
}

/// Opens a list of events.
///
/// # Errors
/// No scanner or one that cannot be read; fields that do not go together.
pub fn open(path: &Path, options: &ListOptions) -> Result<Box<dyn EventReader>, IoError> {
    let Some(scanner) = &options.scanner else {
        return Err(IoError::unsupported(path, Unsupported::YrtNoTable));
    };
    let YrtFields { tof_ps, tof_range_ps, has_randoms } = options.yrt;
    let can_be = |[fwhm, step]: [f64; 2]| fwhm > 0.0 && fwhm <= MAX_TOF_PS && (0.0..=MAX_TOF_PS).contains(&step);
    if tof_ps.is_some_and(|tof_ps| !can_be(tof_ps)) {
        return Err(IoError::unsupported(path, Unsupported::YrtTof));
    }
    if tof_range_ps.is_some_and(|ps| !(ps > 0.0 && ps <= MAX_TOF_PS)) || (tof_range_ps.is_some() && tof_ps.is_none()) {
        return Err(IoError::unsupported(path, Unsupported::YrtTofRange));
    }
    let size = PLAIN_BYTES + if tof_ps.is_some() { 4 } else { 0 } + if has_randoms { 4 } else { 0 };
    let records = Records::open(path, size)?;
    let detectors = Arc::new(scanner::read(scanner)?.detectors);
    let randoms = if has_randoms { Some((size - 4, records.last(|record| u32_at(record, 0))?)) } else { None };
    let tof = tof_ps.map(|[fwhm_ps, _]| tof_facts(&detectors, fwhm_ps, tof_range_ps));
    let decoder = Decoder {
        num_crystals: detectors.crystals().len(),
        tof: tof_ps.map(|[_, step]| (PLAIN_BYTES, 0.5 * tof_mm(step))),
        // The last event comes within the last millisecond.
        randoms: randoms.map(|(at, last)| (at, last.map_or(0.0, |ms| (f64::from(ms) + 1.0) / 1e3))),
        window_mm: tof.as_ref().map_or(1.0, |tof| tof.window_mm[1] - tof.window_mm[0]),
        reach_mm: tof.as_ref().filter(|_| tof_range_ps.is_some()).map_or(f64::INFINITY, |tof| tof.window_mm[1]),
        num_outside: 0,
    };
    let mut facts = ListMetadata::new("YRT-PET list mode", detectors.clone());
    facts.tof = tof;
    facts.duration_ms = decoder.randoms.map(|(_, secs)| (1e3 * secs).round() as u64).filter(|&ms| ms > 0);
    Ok(Box::new(RecordReader { facts: Arc::new(facts), decoder, records, num_expected: None, notices: Vec::new() }))
}

/// Where no range is told, d is recorded up to beyond the farthest crystals, so far that nothing is lost.
fn tof_facts(detectors: &Detectors, fwhm_ps: f64, range_ps: Option<f64>) -> TofFacts {
    let [radius, half_length] = detectors.extent_mm();
    let fwhm_mm = tof_mm(fwhm_ps);
    let half_mm = range_ps.map_or(2.0 * (radius.hypot(half_length) + fwhm_mm), |range_ps| 0.5 * tof_mm(range_ps));
    TofFacts { fwhm_mm, window_mm: [-half_mm, half_mm], ..TofFacts::default() }
}

impl RecordDecoder for Decoder {
    fn decode(&mut self, record: &[u8], chunk: &mut EventChunk) -> Result<(), EventProblem> {
        let events = &mut chunk.prompts;
        events.pairs.push(pair_at(record, 4, self.num_crystals)?);
        events.times_ms.push(u32_at(record, 0));
        if let Some((at, half_mm)) = self.tof {
            let difference_ps = f32_at(record, at);
            if !difference_ps.is_finite() {
                return Err(EventProblem::TimeOfFlight(difference_ps));
            }
            let mm = -tof_mm(f64::from(difference_ps));
            self.num_outside += u64::from(mm.abs() > self.reach_mm * (1.0 + 1e-5));
            events.tof_mm.push([(mm - half_mm) as f32, (mm + half_mm) as f32]);
        }
        if let Some((at, duration_secs)) = self.randoms {
            let rate = f32_at(record, at);
            if !(rate >= 0.0 && rate.is_finite()) {
                return Err(EventProblem::Rate { name: "random", rate });
            }
            events.additive.push(finite(f64::from(rate) * duration_secs / self.window_mm, "its randoms")?);
        }
        Ok(())
    }

    fn notices(&mut self, data: &Path) -> Vec<Notice> {
        let num = std::mem::take(&mut self.num_outside);
        let text = format!("{}: the time of flight of {num} events lies outside the given range", data.display());
        (num > 0).then(|| Notice::warning(text)).into_iter().collect()
    }
}
