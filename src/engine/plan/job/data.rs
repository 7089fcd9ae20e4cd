//! Data of one of several kinds: to reconstruct, or images as they are.

use std::ops::Range;
use std::sync::Arc;

use super::acquisition::{Acquisition, ListAcquisition, ListData};
use super::facts::DataFacts;
use super::settings::RunSettings;
use crate::data::{AttenuationMap, Counts, EventList, ImageSeries, OxygenSeries, PairCounts};
use crate::plan::algorithms::registry::AlgorithmChoice;
use crate::plan::algorithms::traits::{DataKind, Traits};
use crate::plan::error::SetupError;
use crate::plan::iteration_scheme::IterationScheme;

/// Declares the kinds of data, each with its content and the access to it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($content:ty): $get:ident;)*) => {
        /// Data that can be reconstructed.
        #[derive(Clone, Debug)]
        pub enum Data {
            $($(#[$doc])* $kind($content),)*
        }

        impl Data {
            /// Returns their facts.
            pub(in crate::plan) fn facts(&self) -> &dyn DataFacts {
                match self {
                    $(Data::$kind(content) => content,)*
                }
            }

            $(
                /// Returns the content if it is of this kind.
                pub fn $get(&self) -> Option<&$content> {
                    if let Data::$kind(content) = self { Some(content) } else { None }
                }
            )*
        }

        $(
            impl From<$content> for Data {
                fn from(content: $content) -> Self {
                    Data::$kind(content)
                }
            }
        )*
    };
}

kinds! {
    /// Sinograms.
    Counts(Counts): counts;
    /// Single events.
    Events(ListData): list;
    /// Crystal-pair histograms.
    Pairs(PairCounts): pairs;
    /// An EPRI sweep; while it grows the image grows with it.
    Sweep(Acquisition): sweep;
    /// Pulse acquisitions at several delays or echo times, for a map of oxygen.
    Oximetry(Arc<OxygenSeries>): oximetry;
    /// Images of another program, which a run only shows.
    Images(Arc<ImageSeries>): images;
}

impl Data {
    /// Returns their kind.
    pub fn kind(&self) -> DataKind {
        self.facts().kind()
    }

    /// Returns the traits on which the choice of an algorithm depends.
    pub fn traits(&self) -> Traits {
        let facts = self.facts();
        facts.traits(Traits { kind: facts.kind(), has_duration: facts.duration_secs(None).is_some(), ..Traits::default() })
    }

    /// Returns the default settings for them.
    ///
    /// # Errors
    /// The default image grid is invalid.
    pub fn default_settings(&self) -> Result<RunSettings, SetupError> {
        self.facts().default_settings()
    }

    /// Returns the frame of list-mode data, ms: the requested one, else the frame that was selected at reading; `None` = all events.
    pub fn frame_ms<'a>(&'a self, requested: Option<&'a Range<u32>>) -> Option<&'a Range<u32>> {
        let list = self.events()?;
        requested.or(list.frame_ms.as_ref())
    }

    /// Returns the duration of the scan, or of a frame of list-mode data (ms), s, if they contain it.
    pub fn duration_secs(&self, frame_ms: Option<&Range<u32>>) -> Option<f64> {
        self.facts().duration_secs(self.frame_ms(frame_ms))
    }

    /// Returns the iteration scheme of a run with them and this algorithm.
    pub fn iteration_scheme(&self, algorithm: AlgorithmChoice) -> IterationScheme {
        self.facts().iteration_scheme(algorithm)
    }

    /// Returns their unit of amount and their number, for a trace.
    pub fn amount(&self) -> (&'static str, f64) {
        self.facts().amount()
    }

    /// Returns the maps of the object's attenuation; none of data on a remote host.
    pub fn attenuation_maps(&self) -> &[Arc<AttenuationMap>] {
        self.facts().attenuation_maps()
    }

    /// Returns the source of further events of a list that is still being written.
    pub fn growing_list(&self) -> Option<&ListAcquisition> {
        self.list()?.growing.as_ref()
    }

    /// Returns single events.
    pub fn events(&self) -> Option<&EventList> {
        self.list().map(|data| &data.list)
    }
}

impl From<EventList> for Data {
    fn from(list: EventList) -> Self {
        ListData { list, growing: None }.into()
    }
}

impl From<ImageSeries> for Data {
    fn from(series: ImageSeries) -> Self {
        Arc::new(series).into()
    }
}

impl From<OxygenSeries> for Data {
    fn from(series: OxygenSeries) -> Self {
        Arc::new(series).into()
    }
}
