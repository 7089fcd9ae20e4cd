//! The window beside the program: on another host, and with the numbers of the command line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

extern crate tomoscope_app as tomoscope;

mod numbers;
mod profiles;
#[cfg(target_os = "linux")] // names that are not UTF-8
mod remote;

use tomoscope_support::window::*;
