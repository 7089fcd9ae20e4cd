//! How a reconstruction ends: by signals, with less than was asked for, and what its exit code says of it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tomoscope::io::measurements::read_measurements;
use tomoscope::io::read_volume;

use super::scans::leave_unmeasured;
use super::{done, tomoscope};

/// Starts the program. It hears signals even where the tests were started by `nohup`.
pub fn start(folder: &Path, arguments: &str) -> Child {
    let tomoscope = env!("CARGO_BIN_EXE_tomoscope");
    let mut program = Command::new(if cfg!(target_os = "linux") { "env" } else { tomoscope });
    if cfg!(target_os = "linux") {
        program.args(["--default-signal=INT,TERM,HUP", tomoscope]);
    }
    program.current_dir(folder).env("CUDA_VISIBLE_DEVICES", "").args(arguments.split(' '));
    program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends a signal to the program of this number. (The shell's own `kill`: not every machine has the command.)
pub fn kill(pid: impl std::fmt::Display, signal: &str) {
    let line = format!("kill -{signal} {pid}");
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
}

/// Waits until a table has rows of some steps.
fn wait_for_steps(table: &Path) {
    wait_for_rows(table, 21);
}

/// Waits until a table has so many rows.
pub fn wait_for_rows(table: &Path, num: usize) {
    let begin = Instant::now();
    while !read_measurements(table).is_ok_and(|rows| rows.len() >= num) {
        assert!(begin.elapsed() < Duration::from_secs(180), "no step in three minutes");
        // Another process writes the table: it can only be looked at.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes `rois.toml` with the same sphere in the middle so many times.
pub fn put_roi(folder: &Path, count: usize) {
    let roi = "[[roi]]\nname = \"m\"\nshape = \"sphere\"\ncentre_mm = [0.0, 0.0, 0.0]\nradius_mm = 9.0\n";
    std::fs::write(folder.join("rois.toml"), format!("version = 1\n{}", roi.repeat(count))).unwrap();
}

/// The exit code of a program that ends, what it printed and what it said.
pub fn ended(program: Child) -> (Option<i32>, String, String) {
    let output = program.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn assert_nothing_unfinished(folder: &Path) {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names.filter(|name| name.contains("unfinished")).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn folder_with_scan() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    folder
}

#[cfg(unix)]
#[test]
fn signals_keep_the_last_iterate() {
    let folder = folder_with_scan();
    let at = folder.path();
    for signals in [&["INT"][..], &["TERM"], &["HUP"], &["TERM", "TERM", "HUP"]] {
        let program = start(at, "reconstruct scan.hs -o out.hv --iterations 4000000 --csv table.csv --device cpu");
        wait_for_steps(&at.join("table.csv"));
        signals.iter().for_each(|signal| kill(program.id(), signal));
        let (code, out, err) = ended(program);
        assert_eq!(code, Some(3), "{signals:?}: {out}{err}");
        assert!(out.contains("stopped by hand after iteration") && err.contains("of 4000000 iterations"), "{out}{err}");
        assert!(read_volume(&at.join("out.hv")).unwrap().0.sum() > 0.0);
        assert_nothing_unfinished(at);
        for name in ["out.hv", "out.v", "table.csv"] {
            std::fs::remove_file(at.join(name)).unwrap();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn only_a_second_interrupt_discards() {
    let folder = folder_with_scan();
    let at = folder.path();
    // A table that nobody reads, with more in a step than a pipe holds: what is kept after the first signal is never complete.
    assert!(Command::new("mkfifo").arg(at.join("table.csv")).status().unwrap().success());
    put_roi(at, 500);
    let arguments = "reconstruct scan.hs -o out.hv --iterations 4000000 --rois rois.toml --csv table.csv --device cpu";
    let mut program = start(at, arguments);
    let mut table = BufReader::new(std::fs::File::open(at.join("table.csv")).unwrap());
    for _ in 0..21 {
        assert!(table.read_line(&mut String::new()).unwrap() > 0);
    }
    for signal in ["TERM", "INT", "HUP"] {
        kill(program.id(), signal);
        // Time enough for the other process to end, which it must not do: nothing tells that it will not.
        std::thread::sleep(Duration::from_millis(300));
        assert!(program.try_wait().unwrap().is_none(), "one {signal} ended it");
    }
    kill(program.id(), "INT");
    let (code, _, said) = ended(program);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("aborted; no image saved") && !at.join("out.hv").exists(), "{said}");
    assert_nothing_unfinished(at);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let folder = folder_with_scan();
    let at = folder.path();
    // As nohup starts it. (What it says is not read meanwhile.)
    let line = format!(
        "trap '' HUP; exec env --default-signal=INT,TERM {} reconstruct scan.hs -o out.hv --iterations 4000000 --csv table.csv --device cpu",
        env!("CARGO_BIN_EXE_tomoscope")
    );
    let mut shell = Command::new("sh");
    let program = shell.args(["-c", &line]).current_dir(at).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let table = at.join("table.csv");
    wait_for_steps(&table);
    kill(program.id(), "HUP");
    let before = std::fs::metadata(&table).unwrap().len();
    let begin = Instant::now();
    while std::fs::metadata(&table).unwrap().len() < before + 10_000 {
        assert!(begin.elapsed() < Duration::from_secs(180), "the run did not go on");
        // Another process writes the table: it can only be looked at.
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(program.id(), "TERM");
    assert_eq!(ended(program).0, Some(3));
}

/// A sweep `ball.sweep` whose last ten projections are still zero.
fn unfinished_sweep(folder: &Path) {
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    leave_unmeasured(&folder.join("ball.sweep"), 66, 56);
}

#[test]
fn a_sweep_without_its_end_gives_an_incomplete_image() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    unfinished_sweep(at);
    for more in ["", " --algorithm fbp-multistage"] {
        let arguments = format!("reconstruct ball.sweep -o out.nii --image 16,16,16 --device cpu{more}");
        let output = tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("the image holds 56 of 66 projections"), "{said}");
        assert!(at.join("out.nii").exists());
    }
}

#[cfg(unix)]
#[test]
fn following_ends_incomplete_where_the_length_is_known_and_complete_where_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (is_known, code) in [(true, 3), (false, 0)] {
        unfinished_sweep(at);
        if !is_known {
            let header = std::fs::read_to_string(at.join("ball.sweep")).unwrap();
            let lines: Vec<&str> = header.lines().filter(|line| !line.starts_with("num_expected")).collect();
            assert!(lines.len() < header.lines().count());
            std::fs::write(at.join("ball.sweep"), lines.join("\n")).unwrap();
        }
        put_roi(at, 1);
        let arguments = "reconstruct ball.sweep -o out.nii --follow --image 16,16,16 --rois rois.toml --csv t.csv --device cpu";
        let program = start(at, arguments);
        wait_for_steps(&at.join("t.csv"));
        kill(program.id(), "INT");
        let (found, out, err) = ended(program);
        assert_eq!(found, Some(code), "{out}{err}");
        assert!(out.contains("out.nii: the image after"), "{out}{err}");
        std::fs::remove_file(at.join("t.csv")).unwrap();
    }
}

#[test]
fn progress_moves_and_the_image_is_the_same_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "ball", "--epri", "208", "-o", "ball.sweep"]);
    for (more, what) in [("", "projection "), (" --algorithm fbp-multistage", "backprojection ")] {
        let arguments = format!("reconstruct ball.sweep -o out.nii --image 96,96,96 --device cpu --threads 1{more}");
        let output = tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let lines = said.lines().filter(|line| line.starts_with(what)).count();
        // A step that is over soon may have no progress to show.
        assert!(lines >= if more.is_empty() { 9 } else { 0 }, "{said}");
        assert!(said.contains("projection 208 of 208") || !more.is_empty(), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn two_stages_are_stopped_inside_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &["simulate", "ball", "--epri", "828", "-o", "ball.sweep"]);
    let arguments = "reconstruct ball.sweep -o out.nii --algorithm fbp-multistage --image 320,320,320 --device cpu --threads 1";
    let mut program = start(at, arguments);
    let mut lines = BufReader::new(program.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("backprojection ") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it ended without a word of its progress");
    }
    kill(program.id(), "INT");
    let mut said = String::new();
    lines.read_to_string(&mut said).unwrap();
    assert_eq!(program.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("nothing was written") && !at.join("out.nii").exists(), "{said}");
    assert_nothing_unfinished(at);
}
