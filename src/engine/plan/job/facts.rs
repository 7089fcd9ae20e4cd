//! Facts of each kind of data, on which settings and records of a run depend. Another kind of data is a variant of
//! [`super::data::Data`], its facts here, and its setup ([`crate::plan::setup`]).

use std::ops::Range;
use std::sync::Arc;

use super::acquisition::{Acquisition, ListData};
use super::defaults::{
    default_image_settings, default_list_settings, default_pair_settings, default_settings, default_settings_of_sweep,
    default_sweep_settings,
};
use super::settings::RunSettings;
use crate::data::{AttenuationMap, Counts, ImageSeries, OxygenSeries, PairCounts, RelaxationRate};
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::plan::algorithms::traits::{DataKind, Traits};
use crate::plan::error::SetupError;
use crate::plan::iteration_scheme::IterationScheme;
use crate::plan::problem::SetupProblem;

/// Facts of one kind of data.
pub(in crate::plan) trait DataFacts {
    /// Returns the kind.
    fn kind(&self) -> DataKind;

    /// Returns the traits on which the choice of an algorithm depends, from those of the kind.
    fn traits(&self, of_kind: Traits) -> Traits {
        of_kind
    }

    /// Returns the default settings.
    fn default_settings(&self) -> Result<RunSettings, SetupError>;

    /// Returns the duration of the scan, or of a frame of list-mode data (ms), s, if they contain it.
    fn duration_secs(&self, _frame_ms: Option<&Range<u32>>) -> Option<f64> {
        None
    }

    /// Returns the share of the scan's time that they are of, or a frame of list-mode data (ms); `None` where that is not known: of a
    /// frame of a list without a duration, and of a list that is still being written.
    fn share_of_scan(&self, _frame_ms: Option<&Range<u32>>) -> Option<f64> {
        Some(1.0)
    }

    /// Returns the iteration scheme of a run with them and this algorithm.
    fn iteration_scheme(&self, algorithm: AlgorithmChoice) -> IterationScheme;

    /// Returns the unit of amount and their number.
    fn amount(&self) -> (&'static str, f64);

    /// Returns the maps of the object's attenuation; none of data on a remote host.
    fn attenuation_maps(&self) -> &[Arc<AttenuationMap>] {
        &[]
    }
}

impl DataFacts for Counts {
    fn kind(&self) -> DataKind {
        DataKind::Projections
    }

    fn default_settings(&self) -> Result<RunSettings, SetupError> {
        default_settings(self)
    }

    fn duration_secs(&self, _: Option<&Range<u32>>) -> Option<f64> {
        self.facts.duration_secs
    }

    fn share_of_scan(&self, _: Option<&Range<u32>>) -> Option<f64> {
        Some(self.facts.share_of_scan.unwrap_or(1.0))
    }

    fn iteration_scheme(&self, _: AlgorithmChoice) -> IterationScheme {
        IterationScheme::ITERATIONS
    }

    fn amount(&self) -> (&'static str, f64) {
        ("bins", self.geometry().num_bins() as f64)
    }

    fn attenuation_maps(&self) -> &[Arc<AttenuationMap>] {
        &self.attenuation
    }
}

impl DataFacts for ListData {
    fn kind(&self) -> DataKind {
        DataKind::Events
    }

    fn default_settings(&self) -> Result<RunSettings, SetupError> {
        default_list_settings(&self.list)
    }

    fn duration_secs(&self, frame_ms: Option<&Range<u32>>) -> Option<f64> {
        let ms = match frame_ms {
            Some(frame_ms) => self.list.frame_time(frame_ms).duration_ms,
            None => self.list.time.duration_ms(&self.list.facts),
        };
        (ms > 0).then_some(ms as f64 / 1e3)
    }

    fn share_of_scan(&self, frame_ms: Option<&Range<u32>>) -> Option<f64> {
        if self.growing.is_some() {
            return None;
        }
        let Some(frame_ms) = frame_ms else { return Some(1.0) };
        let whole_ms = Some(self.list.time.duration_ms(&self.list.facts)).filter(|ms| *ms > 0)?;
        Some((self.list.frame_time(frame_ms).duration_ms as f64 / whole_ms as f64).min(1.0))
    }

    fn iteration_scheme(&self, _: AlgorithmChoice) -> IterationScheme {
        if self.growing.is_some() { IterationScheme::ARRIVING_EVENTS } else { IterationScheme::EVENTS }
    }

    fn amount(&self) -> (&'static str, f64) {
        ("events", self.list.numbers().num_prompts as f64)
    }

    fn attenuation_maps(&self) -> &[Arc<AttenuationMap>] {
        if self.list.elsewhere.is_none() { self.list.facts.attenuation.maps() } else { &[] }
    }
}

impl DataFacts for PairCounts {
    fn kind(&self) -> DataKind {
        DataKind::Pairs
    }

    fn default_settings(&self) -> Result<RunSettings, SetupError> {
        default_pair_settings(self)
    }

    fn iteration_scheme(&self, _: AlgorithmChoice) -> IterationScheme {
        IterationScheme::DENSITIES
    }

    fn amount(&self) -> (&'static str, f64) {
        ("pairs", self.counts.len() as f64)
    }
}

impl DataFacts for Acquisition {
    fn kind(&self) -> DataKind {
        DataKind::Sweep
    }

    fn traits(&self, of_kind: Traits) -> Traits {
        // (Further sizes may arrive.)
        let grows = !self.is_over();
        self.look(|sweep| Traits {
            is_slice: sweep.space.is_slice(),
            is_continuous_wave: sweep.is_continuous_wave(),
            separates_spectra: sweep.separates_spectra() || (grows && sweep.is_continuous_wave()),
            ..of_kind
        })
    }

    fn default_settings(&self) -> Result<RunSettings, SetupError> {
        self.look(default_settings_of_sweep)
    }

    fn iteration_scheme(&self, algorithm: AlgorithmChoice) -> IterationScheme {
        if algorithm.is_least_squares() { IterationScheme::LEAST_SQUARES } else { IterationScheme::PROJECTIONS }
    }

    fn amount(&self) -> (&'static str, f64) {
        ("projections", self.num_complete() as f64)
    }
}

impl DataFacts for Arc<OxygenSeries> {
    fn kind(&self) -> DataKind {
        DataKind::Oximetry
    }

    fn traits(&self, of_kind: Traits) -> Traits {
        Traits { is_slice: self.sweeps.first().is_some_and(|sweep| sweep.space.is_slice()), ..of_kind }
    }

    fn default_settings(&self) -> Result<RunSettings, SetupError> {
        default_sweep_settings(self.sweeps.first().ok_or(SetupProblem::NoProjections)?)
    }

    fn iteration_scheme(&self, _: AlgorithmChoice) -> IterationScheme {
        match self.calibration.rate {
            RelaxationRate::R1 => IterationScheme::DELAYS,
            RelaxationRate::R2 => IterationScheme::ECHOES,
        }
    }

    fn amount(&self) -> (&'static str, f64) {
        ("acquisitions", self.sweeps.len() as f64)
    }
}

impl DataFacts for Arc<ImageSeries> {
    fn kind(&self) -> DataKind {
        DataKind::Images
    }

    fn default_settings(&self) -> Result<RunSettings, SetupError> {
        default_image_settings(self)
    }

    fn iteration_scheme(&self, _: AlgorithmChoice) -> IterationScheme {
        IterationScheme { unit: self.unit(), ..IterationScheme::IMAGES }
    }

    fn amount(&self) -> (&'static str, f64) {
        ("images", self.images.len() as f64)
    }
}
