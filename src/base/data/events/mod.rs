//! Events one by one: pieces of a list, frames of a scan, histograms of lists.

pub mod chunk;
pub mod count_rates;
pub mod frames;
pub mod histogram;
pub mod list;
pub mod scan_time;
