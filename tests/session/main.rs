//! The live session: its protocol with scripted algorithms, and real runs on the small scanner.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

extern crate tomoscope_app as tomoscope;

mod forecast;
mod handing_over;
mod kept_runs;
mod lists;
mod makers;
mod oximetry;
mod protocol;
mod radicals;
mod remote;
mod rooms;
mod runs;
mod script;
mod spectra;
mod stop_rules;
mod sweeps;

use tomoscope_support::{radicals as radical_scan, toy};
