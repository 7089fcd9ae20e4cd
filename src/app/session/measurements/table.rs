//! Table of the measurements, and the types of their messages.

use serde::{Deserialize, Serialize};

use super::measurement::Measurement;
use super::peaks::Along;
use super::recovery::RecoverySearch;
use super::regions::{Edit, RoiSet};
use super::similarity::Similarity;
use crate::data::RunId;
use crate::session::history::History;

/// Makes the types of all measurements from lines `Key, field of the answers: type`. Between two inputs the measurer does them in this
/// order, the quick ones first.
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
        pub enum Active {
            $($key($measurement),)*
        }

        impl Query {
            pub fn key(&self) -> MeasurementKey {
                self.into()
            }

            /// Returns the regions of the query.
            pub fn regions(&mut self) -> Option<&mut RoiSet> {
                match self {
                    $(Query::$key(query) => <$measurement>::regions(query),)*
                }
            }

            /// Returns false for values that no window sends.
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
            /// See [`Measurement::begin`].
            pub fn begin(query: Query, before: Option<Self>) -> Option<Self> {
                match query {
                    $(Query::$key(query) => {
                        let before = if let Some(Active::$key(before)) = before { Some(before) } else { None };
                        <$measurement>::begin(query, before).map(Active::$key)
                    })*
                }
            }

            /// See [`Measurement::measure`].
            pub fn measure(&mut self, run: RunId, history: &History, is_idle: &dyn Fn() -> bool) -> Option<Answer> {
                match self {
                    $(Active::$key(measurement) => measurement.measure(run, history, is_idle).map(Answer::$key),)*
                }
            }

            /// See [`Measurement::IS_BY_SOLVER`].
            pub fn is_by_solver(&self) -> bool {
                match self {
                    $(Active::$key(_) => <$measurement>::IS_BY_SOLVER,)*
                }
            }
        }
    };
}

measurements! {
    Regions, regions: Edit;
    Similarity, comparisons: Similarity;
    Peaks, peaks: Along;
    Recovery, recovery: RecoverySearch;
}
