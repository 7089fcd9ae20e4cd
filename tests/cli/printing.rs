//! Standard output and standard error that are closed or full: nothing panics, and no result is lost.

#[cfg(target_os = "linux")]
use std::fs::OpenOptions;
use std::io::{PipeWriter, pipe};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::done;

/// A pipe that nobody reads any more.
fn closed() -> PipeWriter {
    pipe().unwrap().1
}

/// A disk that is full.
#[cfg(target_os = "linux")]
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// Runs the program with these standard streams; what it said where that was not one of them.
fn run(folder: &Path, arguments: &str, out: Stdio, err: Stdio) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.current_dir(folder).env("CUDA_VISIBLE_DEVICES", "").args(arguments.split(' '));
    program.stdout(out).stderr(err).spawn().unwrap().wait_with_output().unwrap()
}

/// The exit code, and what standard error says.
fn outcome(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder with a scan and a sweep.
fn folder_with_data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for arguments in ["simulate cylinder --scanner small --counts 1e5 -o scan.hs", "simulate ball --epri 66 -o ball.sweep"] {
        done(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    }
    folder
}

/// A command, and the file that it writes.
const COMMANDS: [(&str, Option<&str>); 14] = [
    ("--help", None),
    ("reconstruct --help", None),
    ("devices", None),
    ("doctor --json", None),
    ("info scan.hs", None),
    ("reconstruct scan.hs -o out.hv --iterations 1 --device cpu", Some("out.hv")),
    ("reconstruct ball.sweep -o out.nii --image 8,8,8 --device cpu", Some("out.nii")),
    ("simulate cylinder --scanner small --counts 1e5 -o out.hs", Some("out.hs")),
    ("simulate ball --epri 66 -o out.sweep", Some("out.sweep")),
    ("backproject scan.hs --like like.nii -o out.hv", Some("out.hv")),
    ("project like.nii --like scan.hs -o out.hs", Some("out.hs")),
    ("convert like.nii out.npy", Some("out.npy")),
    ("compare like.nii like.nii", None),
    ("bench epri --size 8 --projections 9 --row-secs 0.01 --threads 1 --device cpu --json out.json", Some("out.json")),
];

#[test]
fn a_closed_pipe_costs_nothing() {
    let folder = folder_with_data();
    let at = folder.path();
    done(at, &["reconstruct", "scan.hs", "-o", "like.nii", "--iterations", "1", "--voxel-mm", "15,15,5"]);
    for (arguments, file) in COMMANDS {
        for (out, err) in [(closed().into(), Stdio::piped()), (Stdio::piped(), closed().into()), (closed().into(), full())] {
            let (code, said) = outcome(&run(at, arguments, out, err));
            assert_eq!(code, Some(0), "{arguments}: {said}");
            assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{arguments}: {said}");
            if let Some(file) = file {
                std::fs::remove_file(at.join(file)).unwrap_or_else(|error| panic!("{arguments}: {error}"));
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_told_and_costs_no_result() {
    let folder = folder_with_data();
    let at = folder.path();
    done(at, &["reconstruct", "scan.hs", "-o", "like.nii", "--iterations", "1", "--voxel-mm", "15,15,5"]);
    for (arguments, file) in COMMANDS {
        let (code, said) = outcome(&run(at, arguments, full(), Stdio::piped()));
        assert_eq!(code, Some(1), "{arguments}: {said}");
        assert!(said.contains("writing standard output failed: No space left"), "{arguments}: {said}");
        assert!(!said.contains("panicked"), "{arguments}: {said}");
        if let Some(file) = file {
            std::fs::remove_file(at.join(file)).unwrap_or_else(|error| panic!("{arguments}: {error}"));
        }
        assert_eq!(run(at, arguments, Stdio::piped(), full()).status.code(), Some(0), "{arguments}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_that_cannot_be_printed_has_its_exit_code_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code) in [("info missing.hs", 1), ("info", 2), ("reconstruct missing.hs -o out.hv", 1)] {
        for err in [closed().into(), full()] {
            assert_eq!(run(folder.path(), arguments, closed().into(), err).status.code(), Some(code), "{arguments}");
        }
    }
}
