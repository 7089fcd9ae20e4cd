//! Data of one of several kinds: to reconstruct, or images as they are.

use std::ops::Range;
use std::sync::Arc;

use super::acquisition::{Acquisition, ListAcquisition};
use crate::data::{AttenuationMap, Counts, EventList, ImageSeries, OxygenSeries, PairCounts, RelaxationRate};
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::plan::algorithms::traits::{DataKind, Traits};
use crate::plan::iteration_scheme::IterationScheme;

/// Data that can be reconstructed.
#[derive(Clone, Debug)]
pub enum Data {
    /// Sinograms.
    Counts(Counts),
    /// Single events.
    Events {
        /// Those that were read; of a file that is still being written, those at the start.
        list: EventList,
        /// Where they come from while the file is still being written; the image is then one of those that have arrived.
        growing: Option<ListAcquisition>,
    },
    /// Crystal-pair histograms.
    Pairs(PairCounts),
    /// An EPRI sweep; while it grows the image grows with it.
    Sweep(Acquisition),
    /// Pulse acquisitions at several delays or echo times, for a map of oxygen.
    Oximetry(Arc<OxygenSeries>),
    /// Images of another program, which a run only shows.
    Images(Arc<ImageSeries>),
}

impl Data {
    /// Returns their kind.
    pub fn kind(&self) -> DataKind {
        match self {
            Data::Counts(_) => DataKind::Projections,
            Data::Events { .. } => DataKind::Events,
            Data::Pairs(_) => DataKind::Pairs,
            Data::Sweep(_) => DataKind::Sweep,
            Data::Oximetry(_) => DataKind::Oximetry,
            Data::Images(_) => DataKind::Images,
        }
    }

    /// Returns the traits on which the choice of an algorithm depends.
    pub fn traits(&self) -> Traits {
        let of_kind = Traits { kind: self.kind(), has_duration: self.duration_secs(None).is_some(), ..Traits::default() };
        match self {
            Data::Sweep(acquisition) => {
                // (Further sizes may arrive.)
                let grows = !acquisition.is_over();
                acquisition.look(|sweep| Traits {
                    is_slice: sweep.space.is_slice(),
                    is_continuous_wave: sweep.is_continuous_wave(),
                    separates_spectra: sweep.separates_spectra() || (grows && sweep.is_continuous_wave()),
                    ..of_kind
                })
            }
            Data::Oximetry(series) => {
                Traits { is_slice: series.sweeps.first().is_some_and(|sweep| sweep.space.is_slice()), ..of_kind }
            }
            _ => of_kind,
        }
    }

    /// Returns the frame of list-mode data, ms: the requested one, else the frame that was selected at reading; `None` = all events.
    pub fn frame_ms<'a>(&'a self, requested: Option<&'a Range<u32>>) -> Option<&'a Range<u32>> {
        let list = self.events()?;
        requested.or(list.frame_ms.as_ref())
    }

    /// Returns the duration of the scan, or of a frame of list-mode data (ms), s, if they contain it.
    pub fn duration_secs(&self, frame_ms: Option<&Range<u32>>) -> Option<f64> {
        match self {
            Data::Counts(counts) => counts.facts.duration_secs,
            Data::Events { list, .. } => {
                let ms = match self.frame_ms(frame_ms) {
                    Some(frame_ms) => list.frame_time(frame_ms).duration_ms,
                    None => list.time.duration_ms(&list.facts),
                };
                (ms > 0).then_some(ms as f64 / 1e3)
            }
            Data::Pairs(_) | Data::Sweep(_) | Data::Oximetry(_) | Data::Images(_) => None,
        }
    }

    /// Returns the iteration scheme of a run with them and this algorithm.
    pub fn iteration_scheme(&self, algorithm: AlgorithmChoice) -> IterationScheme {
        match self {
            Data::Sweep(_) if algorithm == AlgorithmChoice::TV => IterationScheme::LEAST_SQUARES,
            Data::Counts(_) => IterationScheme::ITERATIONS,
            Data::Events { growing: None, .. } => IterationScheme::EVENTS,
            Data::Events { growing: Some(_), .. } => IterationScheme::ARRIVING_EVENTS,
            Data::Sweep(_) => IterationScheme::PROJECTIONS,
            Data::Pairs(_) => IterationScheme::DENSITIES,
            Data::Oximetry(series) => match series.calibration.rate {
                RelaxationRate::R1 => IterationScheme::DELAYS,
                RelaxationRate::R2 => IterationScheme::ECHOES,
            },
            Data::Images(series) => IterationScheme { unit: series.unit(), ..IterationScheme::IMAGES },
        }
    }

    /// Returns their unit of amount and their number, for a trace.
    pub fn amount(&self) -> (&'static str, f64) {
        match self {
            Data::Counts(counts) => ("bins", counts.geometry().num_bins() as f64),
            Data::Events { list, .. } => ("events", list.numbers().num_prompts as f64),
            Data::Pairs(pairs) => ("pairs", pairs.counts.len() as f64),
            Data::Sweep(acquisition) => ("projections", acquisition.num_complete() as f64),
            Data::Oximetry(series) => ("acquisitions", series.sweeps.len() as f64),
            Data::Images(series) => ("images", series.images.len() as f64),
        }
    }

    /// Returns the maps of the object's attenuation; none of data on a remote host.
    pub fn attenuation_maps(&self) -> &[Arc<AttenuationMap>] {
        match self {
            Data::Counts(counts) => &counts.attenuation,
            Data::Events { list, .. } if list.elsewhere.is_none() => list.facts.attenuation.maps(),
            _ => &[],
        }
    }

    /// Returns the source of further events of a list that is still being written.
    pub fn growing_list(&self) -> Option<&ListAcquisition> {
        if let Data::Events { growing, .. } = self { growing.as_ref() } else { None }
    }

    /// Returns projection data.
    pub fn counts(&self) -> Option<&Counts> {
        if let Data::Counts(counts) = self { Some(counts) } else { None }
    }

    /// Returns single events.
    pub fn events(&self) -> Option<&EventList> {
        if let Data::Events { list, .. } = self { Some(list) } else { None }
    }

    /// Returns a crystal-pair histogram.
    pub fn pairs(&self) -> Option<&PairCounts> {
        if let Data::Pairs(pairs) = self { Some(pairs) } else { None }
    }

    /// Returns an EPRI sweep.
    pub fn sweep(&self) -> Option<&Acquisition> {
        if let Data::Sweep(acquisition) = self { Some(acquisition) } else { None }
    }

    /// Returns the acquisitions of pulse oximetry.
    pub fn oximetry(&self) -> Option<&Arc<OxygenSeries>> {
        if let Data::Oximetry(series) = self { Some(series) } else { None }
    }

    /// Returns images of another program.
    pub fn images(&self) -> Option<&Arc<ImageSeries>> {
        if let Data::Images(series) = self { Some(series) } else { None }
    }
}

impl From<Counts> for Data {
    fn from(counts: Counts) -> Self {
        Data::Counts(counts)
    }
}

impl From<EventList> for Data {
    fn from(list: EventList) -> Self {
        Data::Events { list, growing: None }
    }
}

impl From<PairCounts> for Data {
    fn from(pairs: PairCounts) -> Self {
        Data::Pairs(pairs)
    }
}

impl From<ImageSeries> for Data {
    fn from(series: ImageSeries) -> Self {
        Data::Images(Arc::new(series))
    }
}

impl From<OxygenSeries> for Data {
    fn from(series: OxygenSeries) -> Self {
        Data::Oximetry(Arc::new(series))
    }
}

impl From<Acquisition> for Data {
    fn from(acquisition: Acquisition) -> Self {
        Data::Sweep(acquisition)
    }
}
