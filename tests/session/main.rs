//! The live session: its protocol with scripted algorithms, and real runs on the small scanner.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

mod forecast;
mod handing_over;
mod kept_runs;
mod lists;
mod makers;
mod oximetry;
mod protocol;
#[path = "../support/radicals.rs"]
#[allow(dead_code)] // files are for the window
mod radical_scan;
mod radicals;
mod remote;
mod rooms;
mod runs;
mod script;
mod spectra;
mod stop_rules;
mod sweeps;
#[path = "../support/toy.rs"]
mod toy;
