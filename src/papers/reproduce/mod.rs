//! The tables and figures of papers, measured again with this program and printed next to the published values.
//!
//! Each paper is a folder and a row of [`PAPERS`]; the trait `Paper` is their common shape, with the run that makes one.

mod belzunce_2012;
mod cabello_2012;
mod cache;
mod device;
mod error;
mod folder;
mod herraiz;
mod paper;
mod petric;
mod picture;
mod qiao_2015;

pub use error::ReproduceError;
pub use paper::{AnyPaper, Job, PaperInfo, Settings};
pub use petric::petric_reference;

use belzunce_2012::Belzunce;
use cabello_2012::Cabello;
use herraiz::Edition;
use petric::Petric;
use qiao_2015::Qiao;

/// Names that most files of a paper need.
mod prelude {
    pub(super) use std::sync::Arc;

    pub(super) use serde::{Deserialize, Serialize};
    pub(super) use serde_json::json;

    pub(super) use super::ReproduceError;
    pub(super) use super::cache::Cache;
    pub(super) use super::device::{self, Limits, joined, limits_key, on_threads};
    pub(super) use super::paper::{Measurement, Paper, PaperInfo, Stage};
    pub(super) use crate::data::Volume;
    pub(super) use crate::geometry::Grid;
    pub(super) use crate::plan::DeviceChoice;
    pub(super) use crate::report::{Tables, Value};
    pub(super) use crate::task::Task;
}

/// All papers, in the order of the command line's help.
pub static PAPERS: [&dyn AnyPaper; 6] = [&Belzunce, &Qiao, &Cabello, &Edition::Nima2011, &Edition::Report2010, &Petric];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every paper has its row in the documentation, and a name of its own.
    #[test]
    fn papers_are_documented() {
        let page = include_str!("../../../docs/papers.md");
        for (number, paper) in PAPERS.iter().enumerate() {
            let name = paper.info().name;
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
            assert!(paper.info().about.starts_with(paper.info().citation.split([',', '(']).next().unwrap().trim()), "{name}");
            assert!(PAPERS[..number].iter().all(|other| other.info().name != name), "{name}");
        }
    }
}
