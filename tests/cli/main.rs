//! The program as it is called from a shell.

// The helpers of tests may fail as tests may; clippy allows it by itself only inside test functions.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

mod simulate;

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a directory with arguments separated by spaces.
fn tomoscope(directory: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tomoscope"))
        .args(arguments.split_whitespace())
        .current_dir(directory)
        .output()
        .expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
