//! The facts of a CASToR file other than its events.

use std::sync::Arc;

use super::ends::Ends;
use super::factors::width_mm;
use super::header::{Header, Tof};
use super::normalization::{Allowed, PairFactors};
use crate::data::{Attenuation, ListMetadata, Notice, TofMeasurement};
use crate::io::error::IoError;
use crate::io::list_mode::options::ListOptions;
use crate::io::notice;
use crate::io::own::crystals::Crystals;

/// Returns the facts other than the events, and the crystals at the ends of entries.
///
/// # Errors
/// A normalisation that does not read, invalid entries of several pairs.
pub(super) fn facts(header: &Header, table: Crystals, options: &ListOptions) -> Result<(ListMetadata, Ends), IoError> {
    let Crystals { detectors, min_angle_deg } = table;
    let mut ends = Ends::new(detectors);
    ends.gather(header)?;
    let normalization = options.normalization.as_ref().map(|path| PairFactors::read(path, header, &mut ends)).transpose()?;
    let detectors = Arc::new(ends.detectors(header)?);
    let mut facts = ListMetadata::new("CASToR list mode", detectors.clone());
    let mut has_attenuation = header.has_attenuation;
    facts.efficiency = Some(match normalization {
        Some(factors) => {
            has_attenuation |= factors.has_attenuation;
            Arc::new(factors)
        }
        None => Arc::new(Allowed::new(header, detectors, min_angle_deg, ends.num_real())),
    });
    if has_attenuation {
        facts.attenuation = Attenuation::InFactors;
    }
    facts.tof = match header.tof {
        Some(Tof::List { fwhm_ps, range_ps, .. }) => {
            let half_mm = 0.5 * width_mm(range_ps);
            Some(TofMeasurement { fwhm_mm: width_mm(fwhm_ps), window_mm: [-half_mm, half_mm], ..TofMeasurement::default() })
        }
        _ => None,
    };
    facts.start_ms = (header.start_secs * 1e3).round().max(0.0) as u64;
    facts.duration_ms = Some((header.duration_secs * 1e3).round() as u64).filter(|&ms| ms > 0);
    facts.num_events = Some(header.num_events);
    facts.isotope = header.isotope.clone();
    Ok((facts, ends))
}

/// Returns the notice on entries of several pairs.
pub(super) fn several_pairs(header: &Header, ends: &Ends) -> Option<Notice> {
    let num = ends.num_entries;
    (num > 0).then(|| {
        let text = "entries have several pairs of crystals; each is one line between the means of its crystals, as in CASToR";
        notice::info(&header.path, format!("{num} {text}"))
    })
}
