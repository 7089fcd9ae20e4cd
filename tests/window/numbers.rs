//! The numbers that the window writes are those of the command line, byte for byte.

use std::path::Path;
use std::process::Command;

use egui::Theme;
use egui_kittest::Harness;
use tomoscope::data::Study;
use tomoscope::io::rois::write_rois;
use tomoscope::io::{write_projections, write_sweep};
use tomoscope::ui::{App, BUILT_IN, Source};

use super::{finished, renderer, wait_for, window_on};

const SIZE: [f32; 2] = [1000.0, 700.0];

/// What the window writes of its first run, and the command line of its own on the file `scan` in the same folder.
fn tables(harness: &Harness<'_, App>, folder: &Path, scan: &str, more: &[&str]) -> [String; 2] {
    write_rois(&folder.join("rois.toml"), &harness.state().work.document().rois).unwrap();
    harness.state().work.export_csv(&folder.join("window.csv")).unwrap();
    let options = ["-o", "image.nii", "--rois", "rois.toml", "--csv", "command.csv", "--device", "cpu"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.current_dir(folder).args(["reconstruct", scan]).args(options).args(more);
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ["window.csv", "command.csv"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
}

#[test]
fn the_numbers_of_a_scan_are_those_of_the_command_line() {
    let Some(harness) = finished(SIZE, Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    write_projections(&folder.path().join("scan.hs"), &harness.state().work.counts().unwrap().prompts).unwrap();
    let [window, command] = tables(&harness, folder.path(), "scan.hs", &["--iterations", "3"]);
    assert!(window.starts_with("run,iteration,subset,roi,quantity,value,unit\n1,0,0,,post_filter_fwhm,0.0,mm\n"), "{window}");
    for quantity in ["log_likelihood_of_subset", "log_likelihood", "mean", "num_voxels", "volume", "nsr"] {
        assert!(window.contains(&format!(",{quantity},")), "{quantity}");
    }
    assert!(window == command, "the tables differ:\n{window}\n{command}");
}

#[test]
fn the_numbers_of_a_sweep_are_those_of_the_command_line() {
    let Some(renderer) = renderer() else { return };
    let bottle = BUILT_IN.iter().find(|study| study.title.starts_with("EPRI: bottle")).unwrap().clone();
    let mut harness = window_on(renderer, SIZE, Theme::Dark, true, Source::BuiltIn(bottle));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    let folder = tempfile::tempdir().unwrap();
    let sweep = harness.state().work.acquisition().unwrap().snapshot();
    write_sweep(&folder.path().join("scan.sweep"), &Study::new("bottle", sweep)).unwrap();
    let [window, command] = tables(&harness, folder.path(), "scan.sweep", &[]);
    assert!(window.contains("\n1,0,16,") && window.contains("\n1,1,0,") && window.contains("a.u."), "{window}");
    // The command writes the part that the image explains when it is known, after the last image.
    let [of_window, of_command] = [&window, &command].map(|table| {
        let mut rows: Vec<&str> = table.lines().collect();
        rows.sort_unstable();
        rows
    });
    assert!(of_window == of_command, "the tables differ:\n{window}\n{command}");
}
