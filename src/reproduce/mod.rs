//! The tables and figures of papers, measured again with this program and printed beside the published values.
//!
//! Each paper has a module of its own. Every measurement goes into a folder as soon as it is made, so that a run that
//! was cut short goes on where it ended and the tables can be printed again without measuring again.

pub mod belzunce_2012;
pub mod cabello_2012;
mod error;
mod folder;
pub mod herraiz;
mod limits;
mod picture;
pub mod qiao_2015;
mod schedule;

pub use error::ReproduceError;
