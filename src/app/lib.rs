//! What is between the engine and a person: the session that streams every iterate, also from another host, drawing, and the window.

pub use tomoscope_base::{coded, data, geometry, scanner, statistics, task, text};
pub use tomoscope_engine::{algebra, measure, montecarlo, operator, phantom, plan, recon, webgpu};
pub use tomoscope_formats::{io, pacs};
use tomoscope_report as report;

pub mod remote;
pub mod render;
pub mod session;
pub mod ui;
