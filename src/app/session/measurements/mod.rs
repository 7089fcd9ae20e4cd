//! Measurements of the stored iterates of a run, in parallel with the solver, on this host or on a server.
//!
//! A measurement is a file of this folder that implements [`Measurement`], and a line of the table in `table.rs`. Query and answer are sent
//! as they are: [`Session::measure`](super::Session::measure) takes the query, [`EventKind::Measured`](super::EventKind::Measured) has the
//! answer, and [`Found`] collects the answers of a run.

mod measurement;
mod peaks;
mod recovery;
mod regions;
mod similarity;
mod table;
#[cfg(test)]
mod testing;
mod thinning;

pub use measurement::LATEST_RUN;
pub use peaks::{PeakLine, PeaksAlong, PeaksFound, PeaksPoint};
pub use recovery::{RecoveryFound, RecoveryQuery};
pub use regions::{RegionSums, RoiSet};
pub use similarity::{CompareWith, Compared, Comparison, ReferenceId};
pub(super) use table::Active;
pub use table::{Answer, Found, MeasurementKey, Query};
pub use thinning::limit;
