//! Closing the window or opening another study with work that is in no file: one question, and nothing is lost by mistake.

use std::path::Path;

use egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::io::rois::read_rois;
use tomoscope::io::{read_volume, write_sweep};
use tomoscope::ui::{App, BUILT_IN, RunState, Source};

use super::sweeps::sweep;
use super::{click, close, drop_file, finished, renderer, type_path, wait_for, wait_to_see, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];
const CLOSE: &str = "Close tomoscope?";
const OPEN: &str = "Open another study?";

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

/// One step by hand after the run's end, and a drawn region.
fn work(harness: &mut Harness<'_, App>) {
    click(harness, "Step");
    wait_for(harness, "one step more", |app| app.work.live().state == RunState::Paused);
    click(harness, "Add sphere");
}

#[test]
fn a_built_in_study_left_alone_is_closed_without_a_question() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    // Looked at, and edited without a trace.
    harness.key_press(Key::ArrowLeft);
    click(&mut harness, "Add sphere");
    harness.run_steps(60);
    click(&mut harness, "Undo");
    assert!(close(&mut harness) && !has(&harness, CLOSE));
}

#[test]
fn a_file_left_alone_whose_image_is_soon_made_again_is_closed_without_a_question() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sweep");
    write_sweep(&path, &sweep()).unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Dark, true, Source::file(path));
    wait_for(&mut harness, "the image", |app| app.work.acquisition().is_some() && app.work.is_run_over());
    assert!(close(&mut harness) && !has(&harness, CLOSE));
}

#[test]
fn work_is_asked_about_once_and_saved_before_the_window_closes() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    work(&mut harness);
    assert!(!close(&mut harness));
    harness.get_by_label("The regions of interest and the image are not saved. Closing the window loses them.");
    harness.check_accessibility();
    // Letters are no shortcuts, and asking twice is asking once.
    let done = harness.state().work.live().progress();
    harness.key_press(Key::S);
    assert!(!close(&mut harness));
    assert_eq!((harness.query_all_by_label(CLOSE).count(), harness.state().work.live().progress()), (1, done));
    click(&mut harness, "Cancel");
    assert!(!has(&harness, CLOSE) && !close(&mut harness));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!has(&harness, CLOSE));
    // Given up half-way it stays open.
    let folder = tempfile::tempdir().unwrap();
    let (rois, image) = (folder.path().join("rois.toml"), folder.path().join("image.nii"));
    assert!(!close(&mut harness));
    click(&mut harness, "Save…");
    assert!(!type_path(&mut harness, &rois));
    assert_eq!(read_rois(&rois).unwrap(), harness.state().work.document().rois);
    assert!(has(&harness, "Save the image"));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!has(&harness, "Save the image") && !close(&mut harness));
    // What is saved is not asked about again.
    harness.get_by_label("The image is not saved. Closing the window loses it.");
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert!(type_path(&mut harness, &image));
    assert_eq!(read_volume(&image).unwrap().0.as_slice(), harness.state().work.shown().volume().unwrap().as_slice());
    assert!(close(&mut harness));
}

#[test]
fn a_file_that_cannot_be_written_keeps_the_window_open() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    click(&mut harness, "Add sphere");
    assert!(!close(&mut harness));
    harness.get_by_label("The regions of interest are not saved. Closing the window loses them.");
    click(&mut harness, "Save…");
    assert!(!type_path(&mut harness, Path::new("/nowhere/rois.toml")));
    assert!(harness.state().work.notices().texts().any(|text| text.contains("/nowhere/rois.toml")));
    assert!(!close(&mut harness));
    click(&mut harness, "Don't save");
    assert!(close(&mut harness));
}

#[test]
fn another_study_is_opened_only_after_the_question() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    work(&mut harness);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sweep");
    write_sweep(&path, &sweep()).unwrap();
    drop_file(&mut harness, &path);
    assert!(has(&harness, OPEN) && !has(&harness, &format!("Reading {} …", path.display())));
    click(&mut harness, "Cancel");
    assert!(harness.state().work.counts().is_some() && !has(&harness, OPEN));
    // The same by the menu; saved first.
    click(&mut harness, "Built-in");
    click(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    assert!(has(&harness, OPEN));
    click(&mut harness, "Cancel");
    drop_file(&mut harness, &path);
    click(&mut harness, "Save…");
    let (rois, image) = (folder.path().join("rois.toml"), folder.path().join("image.nii"));
    assert!(!type_path(&mut harness, &rois));
    type_path(&mut harness, &image);
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some() && app.work.is_run_over());
    assert!(rois.exists() && image.exists() && !has(&harness, OPEN));
    // The run of a file that started by itself and was left alone is soon made again; one that was asked for is somebody's work.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the run", |app| app.work.live().run == 3 && app.work.is_run_over());
    assert!(!close(&mut harness));
    harness.get_by_label("The image is not saved. Closing the window loses it.");
    click(&mut harness, "Cancel");
    // Following the same file keeps the regions, not the image.
    click(&mut harness, "Regions");
    click(&mut harness, "Add sphere");
    let drawn = harness.state().work.document().clone();
    assert!(!drawn.rois.is_empty());
    click(&mut harness, "Follow…");
    type_path(&mut harness, &path);
    harness.get_by_label("The image is not saved. Opening another study loses it.");
    click(&mut harness, "Don't save");
    wait_for(&mut harness, "the same sweep", |app| app.work.live().run == 4 && app.work.is_run_over());
    assert_eq!(harness.state().work.document(), &drawn);
}

#[test]
fn what_is_drawn_while_a_study_is_on_its_way_is_not_lost_either() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sweep");
    write_sweep(&path, &sweep()).unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::file(path));
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    // Nothing to lose: it is on its way at once. The regions are drawn before it can have come.
    click(&mut harness, "Built-in");
    harness.get_by_label(BUILT_IN[4].title).click();
    harness.step();
    click(&mut harness, "Regions");
    click(&mut harness, "Add sphere");
    let rois = harness.state().work.document().rois.clone();
    assert!(harness.state().work.acquisition().is_some() && !has(&harness, OPEN));
    wait_to_see(&mut harness, "the question", |harness| has(harness, OPEN));
    assert_eq!(harness.state().work.document().rois, rois);
    click(&mut harness, "Don't save");
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    assert!(!has(&harness, OPEN) && close(&mut harness));
}
