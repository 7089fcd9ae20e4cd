//! The window, driven by the names of its widgets: open, run, draw, switch, read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

extern crate tomoscope_app as tomoscope;

mod anonymise;
mod attenuation;
mod calibration;
mod colours;
mod compare;
mod contrast;
mod corrections;
#[cfg(target_os = "linux")] // names that are not UTF-8
mod dropped;
mod files;
mod frames;
mod fresh;
mod fusion;
mod images;
mod keyboard;
mod leaving;
mod lesions;
mod list_frames;
mod lists;
mod model;
mod nema;
mod next_start;
mod older_sessions;
mod oximetry;
mod pairs;
mod panes;
mod penalised;
mod picture;
mod pictures;
mod pixels;
mod provenance;
mod race;
mod radicals;
mod recovery;
mod regions;
mod replicates;
mod restore;
mod rooms;
mod send;
mod soak;
mod spectra;
mod streaming;
mod sweeps;
mod targets;
mod tools;
mod transitions;
mod tubes;
mod variation;
mod views;
mod work;

use tomoscope_support::window::*;
use tomoscope_support::{data, identity, nema_scan, node, radicals as radical_scan, scans, toy};
