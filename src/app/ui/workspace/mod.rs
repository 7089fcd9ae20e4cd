//! The window as a whole: state, layout of the panels, actions.

pub mod actions;
pub mod app;
pub mod apply;
mod banner;
mod calibrate;
pub mod commands;
pub mod files;
mod layering;
pub mod layout;
mod lesions;
pub mod list_mode;
mod model;
mod opening;
pub mod panes;
pub mod persistence;
pub mod receive;
mod recovery;
mod series_chooser;
pub mod simulation;
mod spectra;
pub mod status;
mod tables;
mod tools;
