//! The workspace: what every tool sees (study, runs, displayed image, regions, second image, files, notices), and the requests of the
//! tools. It depends on no tool.

mod calibrate;
pub mod command_windows;
pub mod commands;
pub mod files;
mod layering;
mod list_mode;
mod opening;
pub mod panes;
pub mod persistence;
mod receive;
mod requests;
mod running;
mod simulation;
mod spectra;
pub mod state;
