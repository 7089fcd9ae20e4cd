//! Interface of a measurement.

use std::collections::HashSet;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::regions::RoiSet;
use crate::data::RunId;
use crate::session::history::{History, StoredIterate};

/// Run of a query for the iterates of the latest run, which follows the next one when it begins.
pub const LATEST_RUN: RunId = RunId::MAX;

/// Measurement of the stored iterates of a run. Each is measured once, also those to come, until another query replaces this one.
pub trait Measurement: Sized {
    type Query: Clone + Debug + PartialEq + Send + Serialize + DeserializeOwned;
    type Answer: Clone + Debug + Send + Serialize + DeserializeOwned;
    /// Answers so far.
    type Found: Clone + Debug + Default;

    /// True if the solver measures new iterates: only those stored before a query, or before the solver has it, remain.
    const IS_BY_SOLVER: bool = false;

    /// Begins a measurement; `None` if the query ends it. `before` is the measurement that it replaces.
    fn begin(query: Self::Query, before: Option<Self>) -> Option<Self>;

    /// Measures the next iterates of a run that were not measured yet, in their order, at least one, and further ones while `is_idle`.
    /// `None` if all were measured.
    fn measure(&mut self, run: RunId, history: &History, is_idle: &dyn Fn() -> bool) -> Option<Self::Answer>;

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

/// Returns the images that are not done (by steps), while `is_idle`. The first is returned always, or frequent inputs would
/// delay it forever.
pub fn pending(
    images: Vec<StoredIterate>,
    done: &mut HashSet<usize>,
    is_idle: &dyn Fn() -> bool,
) -> impl Iterator<Item = StoredIterate> {
    let mut is_first = true;
    let new: Vec<_> = images.into_iter().filter(|image| !done.contains(&image.id.subiteration)).collect();
    new.into_iter().take_while(move |image| {
        let continues = std::mem::take(&mut is_first) || is_idle();
        continues && done.insert(image.id.subiteration)
    })
}
