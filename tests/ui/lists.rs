//! Lists of events in the window: opened by their path, reconstructed, left for another study.

use egui::Theme;
use egui_kittest::kittest::Queryable as _;
use tomoscope::plan::{ListFiles, StudyFiles};
use tomoscope::session::EndReason;
use tomoscope::ui::{App, RunState, SavedSession, Source};

use super::restore::save_session;
use super::{choose_built_in, click, give_up_unsaved, list, renderer, wait_for, window, window_on};
use super::{drop_file, type_path};

const SIZE: [f32; 2] = [1400.0, 1000.0];

/// About half of the bytes of a list's events, which stand at its end.
const HALF: usize = 80_000;

#[test]
fn a_list_is_dropped_reconstructed_and_left() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path());
    let mut harness = window(renderer, SIZE, Theme::Dark, false);
    drop_file(&mut harness, &path);
    wait_for(&mut harness, "the list", |app| app.work.list().is_some());
    let num_prompts = harness.state().work.list().unwrap().prompts.len();
    assert!((num_prompts as f64 - 25_000.0).abs() < 800.0, "{num_prompts}");
    for words in ["PETSIRD", "FWHM 45.0 mm", "efficiencies; randoms", "8 rings of 96, 0 gaps", "Rays per LOR"] {
        assert!(harness.query_all_by_label_contains(words).next().is_some(), "{words}");
    }
    // Events have one projector, and their counts over time a tab of their own.
    assert!(harness.query_by_label("Projector").is_none());
    assert!(harness.query_by_label("Plot: counts per second").is_some());
    // The map of attenuation beside the list comes and goes; a file that is none leaves the study as it was.
    click(&mut harness, "Attenuation…");
    type_path(&mut harness, &folder.path().join("events_mu.nii.gz"));
    let has_map = |app: &App| app.work.list().is_some_and(|list| !list.facts.attenuation.maps().is_empty());
    wait_for(&mut harness, "the map", has_map);
    harness.get_by_label("efficiencies; randoms; attenuation: events_mu.nii.gz");
    let session = folder.path().join("work.session");
    save_session(&mut harness, &session);
    let session = SavedSession::read(&session).unwrap();
    let files = ListFiles { attenuation: Some(folder.path().join("events_mu.nii.gz")), ..ListFiles::of(&path) };
    assert_eq!(session.study.source(), Ok(Source::Files(StudyFiles::Events(files))));
    click(&mut harness, "without attenuation");
    wait_for(&mut harness, "no map", |app| app.work.list().is_some() && !has_map(app));
    click(&mut harness, "Start");
    wait_for(&mut harness, "the image", |app| app.work.live().state == RunState::Ended(EndReason::Completed));
    let image = harness.state().work.shown().volume().unwrap();
    let [nx, ny, nz] = image.grid.size;
    let at = |x: usize, y: usize, z: usize| image.as_slice()[(z * ny + y) * nx + x];
    assert!(at(nx / 2, ny / 2, nz / 2) > 0.0 && at(0, 0, nz / 2) == 0.0);
    // Another study has no rates.
    choose_built_in(&mut harness, "Small cylinder, small ring");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the other study", |app| app.work.counts().is_some());
    harness.run_steps(2);
    assert!(harness.query_by_label("Plot: counts per second").is_none() && harness.query_by_label("Projector").is_some());
}

#[test]
fn a_list_is_followed_while_it_is_written_and_then_reconstructed_as_a_whole() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - HALF]).unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::followed(&path));
    wait_for(&mut harness, "the list", |app| app.work.list().is_some());
    harness.get_by_label("following the file");
    // The button is there while nothing runs, and its image grows.
    click(&mut harness, "Start");
    let num_events = |app: &App| app.work.live().num_events().unwrap_or(0);
    wait_for(&mut harness, "an image of what is there", |app| num_events(app) > 10_000);
    let early = num_events(harness.state());
    assert!(early < 15_000, "{early}");
    harness.run_steps(2);
    assert!(harness.query_all_by_label_contains(" events").next().is_some(), "the status line tells of how many");
    // More is written: rates, facts and image take it in.
    std::fs::write(&path, &bytes[..bytes.len() - HALF / 2]).unwrap();
    wait_for(&mut harness, "an image of more", |app| num_events(app) > 17_000);
    assert!(harness.state().work.list().unwrap().prompts.is_empty(), "the list is not whole");
    // With its end the file is whole, and reconstructed from the beginning by itself.
    std::fs::write(&path, &bytes).unwrap();
    let is_whole = |app: &App| app.work.list().is_some_and(|list| list.prompts.len() > 20_000);
    wait_for(&mut harness, "the whole list", is_whole);
    let is_done =
        |app: &App| app.work.live().state == RunState::Ended(EndReason::Completed) && app.work.live().num_events().is_none();
    wait_for(&mut harness, "its image", is_done);
    assert!(harness.query_by_label("following the file").is_none());
    let followed = harness.state().work.shown().volume().unwrap().clone();
    // The same as that of the file, in another window.
    let mut harness = window_on(super::renderer().unwrap(), SIZE, Theme::Dark, true, Source::file(path));
    wait_for(&mut harness, "the image", is_done);
    assert!(harness.state().work.shown().volume().unwrap().as_slice() == followed.as_slice());
}

#[test]
fn following_is_stopped_and_left() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - HALF]).unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::followed(&path));
    wait_for(&mut harness, "the list", |app| app.work.list().is_some());
    click(&mut harness, "Stop following");
    // What is there is the whole list; nobody had started anything, and nothing starts.
    wait_for(&mut harness, "what there is", |app| app.work.list().is_some_and(|list| list.prompts.len() > 10_000));
    harness.run_steps(3);
    assert!(harness.query_by_label("following the file").is_none() && harness.state().work.live().state == RunState::Idle);
}

#[test]
fn a_list_that_is_followed_is_left_for_another_study() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = list(folder.path());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - HALF]).unwrap();
    // As the window itself does, it starts at once.
    let mut harness = window_on(renderer, SIZE, Theme::Dark, true, Source::followed(&path));
    wait_for(&mut harness, "an image", |app| app.work.live().num_events().is_some());
    choose_built_in(&mut harness, "Small cylinder, small ring");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the other study", |app| app.work.counts().is_some());
    std::fs::write(&path, &bytes).unwrap();
    harness.run_steps(5);
    assert!(harness.state().work.list().is_none() && harness.query_by_label("following the file").is_none());
}

#[test]
fn a_list_without_a_header_is_asked_about() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (path, table) = (folder.path().join("events.lmDat"), folder.path().join("square.lut"));
    // Time, two of four crystals about the axis, and in half of the words' meaning a time of flight.
    let words = (0..900u32).flat_map(|event| [event, event % 2, event % 2 + 2, 0]);
    std::fs::write(&path, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let places = [[10.0f32, 0.0], [0.0, 10.0], [-10.0, 0.0], [0.0, -10.0]];
    let numbers = places.into_iter().flat_map(|[x, y]| [x, y, 0.0, x / 10.0, y / 10.0, 0.0]);
    std::fs::write(&table, numbers.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let mut harness = window(renderer, SIZE, Theme::Dark, false);
    drop_file(&mut harness, &path);
    harness.run_steps(2);
    harness.get_by_label("Open list-mode data");
    // The only table beside it is there already. Without time of flight the events have other lengths, which is told.
    click(&mut harness, "Read list");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the sentence", |app| app.work.notices().texts().any(|text| text.contains("events.lmDat, byte")));
    assert!(harness.state().work.list().is_none());
    drop_file(&mut harness, &path);
    harness.run_steps(2);
    click(&mut harness, "Events have time of flight");
    click(&mut harness, "Read list");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the list", |app| app.work.list().is_some());
    let list = harness.state().work.list().unwrap();
    assert_eq!((list.prompts.len(), list.facts.detectors.crystals().len()), (900, 4));
    assert!(list.facts.tof.is_some());
    // It can be asked again, and left as it is.
    click(&mut harness, "Tables…");
    harness.get_by_label("Open list-mode data");
    harness.key_press(egui::Key::Escape);
    harness.run_steps(2);
    assert!(harness.query_by_label("Open list-mode data").is_none() && harness.state().work.list().is_some());
}
