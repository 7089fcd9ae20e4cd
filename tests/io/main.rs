//! Files: round trips, files that other programs wrote, and files that should not be.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)] // everything here is a test

extern crate tomoscope_formats as tomoscope;

mod castor;
mod castor_lines;
mod castor_reader;
mod castor_writer;
mod dicom;
mod dicom_pet;
mod dicom_read;
mod dicom_regions;
mod dicom_segmentation;
mod follow;
mod hostile;
mod hostile_lists;
mod images;
mod lists;
mod nifti;
mod numpy_images;
mod older_files;
mod pairs;
mod petsird;
mod plausible;
mod projections;
mod provenance;
mod saved_tubes;
mod siemens;
mod stir;
mod sweep_forms;
mod sweeps;
mod tables;
mod unfinished;
mod yrt;

use tomoscope_support::data;

use std::path::Path;

use tomoscope::coded::Coded as _;
use tomoscope::data::{Notice, Severity};
use tomoscope::io::IoError;

/// A folder that is removed at the end.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Numbers as a file holds them.
fn bytes_of(values: impl IntoIterator<Item = f64>, number: &str, big_endian: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        macro_rules! put {
            ($number:ty) => {{
                let value = value as $number;
                bytes.extend_from_slice(&if big_endian { value.to_be_bytes() } else { value.to_le_bytes() })
            }};
        }
        match number {
            "float 4" => put!(f32),
            "float 8" => put!(f64),
            "signed integer 1" => put!(i8),
            "signed integer 2" => put!(i16),
            "signed integer 4" => put!(i32),
            "signed integer 8" => put!(i64),
            "unsigned integer 1" => put!(u8),
            "unsigned integer 2" => put!(u16),
            "unsigned integer 4" => put!(u32),
            "unsigned integer 8" => put!(u64),
            other => panic!("{other}"),
        }
    }
    bytes
}

const NUMBERS: [&str; 10] = [
    "float 4",
    "float 8",
    "signed integer 1",
    "signed integer 2",
    "signed integer 4",
    "signed integer 8",
    "unsigned integer 1",
    "unsigned integer 2",
    "unsigned integer 4",
    "unsigned integer 8",
];

/// The header lines for a number type and byte order.
fn number_lines(number: &str, big_endian: bool) -> String {
    let (format, bytes) = number.rsplit_once(' ').unwrap();
    let order = if big_endian { "BIGENDIAN" } else { "LITTLEENDIAN" };
    format!("!number format := {format}\n!number of bytes per pixel := {bytes}\nimagedata byte order := {order}\n")
}

fn warns_of(notices: &[Notice], part: &str) -> bool {
    notices.iter().any(|notice| notice.severity == Severity::Warning && notice.text.contains(part))
}

/// An error in short: its code and its file, with its key and value, its sizes or its place where it has them.
fn brief(error: &IoError) -> String {
    let named = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let (path, more) = match error {
        IoError::Value { path, key, found, .. } => (path, format!(" {key}={found}")),
        IoError::MissingKey { path, key, .. } => (path, format!(" {key}")),
        IoError::TooShort { path, expected, found, .. } | IoError::Unfinished { path, expected, found, .. } => {
            (path, format!(" {found}/{expected}"))
        }
        IoError::TextTooLong { path, limit, .. } => (path, format!(" {limit}")),
        IoError::Events { path, position, problem } => (path, format!(" {position} {}", name_of(&problem.problem()))),
        IoError::Unsupported(path, refusal) => (path, format!(" {}", name_of(&refusal.problem()))),
        IoError::Geometry(path, source) => (path, format!(" {}", name_of(source))),
        IoError::Grid(path, source) => (path, format!(" {}", name_of(source))),
        IoError::Detectors(path, source) => (path, format!(" {}", name_of(source))),
        IoError::NotAPair { header, data, .. } | IoError::DataFileMissing { header, data, .. } => {
            (header, format!(" {}", named(data)))
        }
        IoError::OtherScan { companion, scan, .. } | IoError::StaleCompanion { companion, scan } => {
            (companion, format!(" {}", named(scan)))
        }
        IoError::Open(path, _)
        | IoError::Read(path, _)
        | IoError::Write(path, _)
        | IoError::NotAFile(path)
        | IoError::NotOurs(path)
        | IoError::Extension { path, .. }
        | IoError::OutputInUse { path, .. }
        | IoError::NotInterfile(path, _)
        | IoError::Memory(path, _)
        | IoError::Rois(path, _)
        | IoError::Csv(path, _) => (path, String::new()),
        IoError::Counts(_) => return error.code().to_owned(),
    };
    format!("{} {}{more}", error.code(), named(path))
}

/// Checks what an error is by its [`brief`] form.
#[track_caller]
fn assert_brief(error: &IoError, expected: &str) {
    assert_eq!(brief(error), expected, "{error}");
}

/// The problem of a refused file with its data: `EvenSegments(2)`. (As text, since a NaN does not equal itself.)
fn problem(error: &IoError) -> String {
    match error {
        IoError::Unsupported(_, refusal) | IoError::Events { problem: refusal, .. } => format!("{:?}", refusal.problem()),
        other => panic!("{other}"),
    }
}

/// The name of a variant without its data.
fn name_of(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Checks the problem of a refused file by its name and its first data; "…" is any data.
#[track_caller]
fn assert_problem(error: &IoError, expected: &str) {
    let found = problem(error);
    let mut rest = Some(found.as_str());
    for (index, part) in expected.split('…').enumerate() {
        rest = rest.and_then(|rest| if index == 0 { rest.strip_prefix(part) } else { Some(rest.split_once(part)?.1) });
    }
    assert!(rest.is_some(), "{expected} is expected: {found}: {error}");
}

/// Checks the position of an impossible event, and its problem with all data.
#[track_caller]
fn assert_event(error: &IoError, file: &str, at: usize, expected: &str) {
    let IoError::Events { path, position, .. } = error else { panic!("{error:?}") };
    assert!(path.ends_with(file) && *position == at as u64, "{error:?}");
    assert_eq!(problem(error), expected);
}

/// An error's sentence must hold all of these parts.
fn assert_says(error: &dyn std::error::Error, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}
