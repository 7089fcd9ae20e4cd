//! Measurements of the stored iterates of a run, in parallel with the solver, on this host or on a server.
//!
//! A measurement is a file of this folder that implements [`Measurement`], and a line of the table below. Query and answer are sent
//! as they are: [`Control::Measure`](super::Control::Measure) has the query, [`EventKind::Measured`](super::EventKind::Measured) has the
//! answer, and [`Found`] collects the answers of a run.

mod measurement;
mod peaks;
mod recovery;
mod regions;
mod roi_set;
mod similarity;
#[cfg(test)]
mod testing;
mod thinning;

pub use measurement::LATEST_RUN;
use measurement::Measurement;
pub use peaks::{PeakLine, PeaksFound, PeaksPoint};
pub(super) use recovery::FILTERS_MM;
pub use recovery::{RecoveryFound, RecoveryQuery};
pub use regions::RegionSums;
pub use roi_set::RoiSet;
use serde::{Deserialize, Serialize};
pub use similarity::{CompareWith, Comparison, ReferenceId};
pub use thinning::limit;

use super::history::History;
use crate::data::RunId;

/// Makes the types of all measurements from lines `Key, field of the answers: type`, the quick ones first.
macro_rules! measurements {
    ($($key:ident, $found:ident: $measurement:ty;)*) => {
        /// Query for a measurement of the stored iterates of a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::EnumDiscriminants)]
        #[strum_discriminants(name(MeasurementKey), derive(PartialOrd, Ord))]
        pub enum Query {
            $($key(<$measurement as Measurement>::Query),)*
        }

        /// Results of a measurement.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum Answer {
            $($key(<$measurement as Measurement>::Answer),)*
        }

        /// Answers so far of all measurements of a run.
        #[derive(Clone, Debug, Default)]
        pub struct Found {
            $(pub $found: <$measurement as Measurement>::Found,)*
        }

        /// Measurement under way.
        pub(super) enum Active {
            $($key($measurement),)*
        }

        impl Query {
            pub fn regions(&mut self) -> Option<&mut RoiSet> {
                match self {
                    $(Query::$key(query) => <$measurement>::regions(query),)*
                }
            }

            pub fn is_valid(&self) -> bool {
                match self {
                    $(Query::$key(query) => <$measurement>::is_valid(query),)*
                }
            }
        }

        impl Found {
            pub fn add(&mut self, answer: &Answer) {
                match answer {
                    $(Answer::$key(answer) => <$measurement>::add(answer, &mut self.$found),)*
                }
            }
        }

        impl Active {
            pub fn begin(query: Query, before: Option<Self>) -> Option<Self> {
                match query {
                    $(Query::$key(query) => {
                        let before = if let Some(Active::$key(before)) = before { Some(before) } else { None };
                        <$measurement>::begin(query, before).map(Active::$key)
                    })*
                }
            }

            pub fn measure(&mut self, run: RunId, history: &History) -> Option<Answer> {
                match self {
                    $(Active::$key(measurement) => measurement.measure(run, history).map(Answer::$key),)*
                }
            }
        }
    };
}

measurements! {
    Regions, regions: regions::Edit;
    Similarity, comparisons: similarity::Similarity;
    Peaks, peaks: peaks::Along;
    Recovery, recovery: recovery::RecoverySearch;
}
