//! The built program on the command line: what it writes, and how it refuses.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

extern crate tomoscope_app as tomoscope;

mod anonymise;
mod batch;
mod companions;
mod concentration;
mod corrections;
mod doctor;
mod earl;
mod ends;
mod epri;
mod error_codes;
mod exchange;
mod field;
mod info;
mod info_text;
mod lesions;
mod limits;
mod list_times;
mod lists;
mod matrix;
#[cfg(target_os = "linux")] // `ulimit -v`
mod memory;
mod model;
mod mu_map;
mod nema;
mod off_axis;
mod one_frame;
mod outputs;
mod oximetry;
mod penalised;
mod petric;
mod printing;
mod provenance;
mod refusals;
mod replicates;
mod reproduce;
mod send;
mod serve;
mod simulate;
mod small_scanner;
mod spectra;
mod stir;
mod stop_rules;
mod tof_lists;
mod tubes;
mod two_writers;
mod uptake;
mod variation;
mod ways;

use tomoscope_support::{data, identity, nema_scan, node, scans};

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program in a folder with these arguments, on the processor and without a window: GPU and screen of the machine are hidden
/// from it. What it keeps for later goes there too.
fn tomoscope(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.current_dir(folder).env("CUDA_VISIBLE_DEVICES", "").env("XDG_CACHE_HOME", cache(folder));
    program.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
    program.args(arguments).output().unwrap()
}

/// Where it keeps things for later.
fn cache(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap().join("cache")
}

/// Runs it and expects that it does what it was asked; what it printed.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = tomoscope(folder, arguments);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{out}\n{err}");
    out.into_owned()
}

/// Runs it and expects this exit code and nothing written to standard output that looks like a result; what it said.
fn refused(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = tomoscope(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{text}");
    assert!(!text.contains("panicked"), "{arguments:?}\n{text}");
    text
}

/// Runs a command that has `--json` and expects an error of this code, with exit code 1; what it said.
#[track_caller]
fn failed(folder: &Path, code: &str, arguments: &[&str]) -> String {
    let output = tomoscope(folder, &[arguments, &["--json"]].concat());
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(1), "{arguments:?}\n{out}\n{err}");
    let printed: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"));
    assert_eq!(printed["error"]["code"], code, "{arguments:?}\n{err}");
    assert!(!err.contains("panicked"), "{arguments:?}\n{err}");
    err
}
