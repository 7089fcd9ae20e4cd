//! Interface of a measurement.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::roi_set::RoiSet;
use crate::data::RunId;
use crate::session::history::History;

/// Run of a query for the iterates of the latest run, which follows the next one when it begins.
pub const LATEST_RUN: RunId = RunId::MAX;

/// Measurement of the stored iterates of a run. Each is measured once, also those to come, until another query replaces this one.
pub trait Measurement: Sized {
    type Query: Clone + Debug + PartialEq + Send + Serialize + DeserializeOwned;
    type Answer: Clone + Debug + Send + Serialize + DeserializeOwned;
    /// Answers so far.
    type Found: Clone + Debug + Default;

    /// Begins a measurement; `None` if the query ends it. `before` is the measurement that it replaces.
    fn begin(query: Self::Query, before: Option<Self>) -> Option<Self>;

    /// Measures the first iterate of a run that was not measured yet ([`History::next`]); `None` if all were measured.
    fn measure(&mut self, run: RunId, history: &History) -> Option<Self::Answer>;

    /// Adds an answer to those before.
    fn add(answer: &Self::Answer, found: &mut Self::Found);

    /// Returns the regions of a query.
    fn regions(_query: &mut Self::Query) -> Option<&mut RoiSet> {
        None
    }

    /// Returns false for a query with values that no window sends.
    fn is_valid(_query: &Self::Query) -> bool {
        true
    }
}
