//! The user's work from one day to the next: a session file, and the offer at the next start.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use eframe::App as _;
use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, Theme};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::data::RoiShape;
use tomoscope::io::write_projections;
use tomoscope::phantom::{self, SimulationOptions};
use tomoscope::plan::DeviceChoice;
use tomoscope::scanner;
use tomoscope::session::Trace;
use tomoscope::task::Task;
use tomoscope::ui::{App, AppOptions, BUILT_IN, Source};

use super::drop_file;
use super::{cache, choose_built_in, click, finished, give_up_unsaved, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// What a window has stored.
#[derive(Default)]
pub struct Memory(HashMap<String, String>);

impl eframe::Storage for Memory {
    fn get_string(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn set_string(&mut self, key: &str, value: String) {
        self.0.insert(key.to_owned(), value);
    }

    fn remove_string(&mut self, key: &str) {
        self.0.remove(key);
    }

    fn flush(&mut self) {}
}

/// The window as it starts on another day, with what was stored.
pub fn next_day(start: Source, stored: Memory) -> Option<Harness<'static, App>> {
    let stored: &'static Memory = Box::leak(Box::new(stored));
    let options = AppOptions {
        start,
        autostart: true,
        device: DeviceChoice::Cpu,
        num_iterations: None,
        for_pictures: true,
        desktop_dialogs: false,
        cache: cache(),
        trace: Trace::off(),
    };
    let builder: HarnessBuilder<App> = Harness::builder().with_size(SIZE).with_theme(Theme::Dark).renderer(renderer()?);
    Some(builder.build_eframe(|creation| {
        creation.storage = Some(stored);
        App::new(creation, options)
    }))
}

/// Two runs, a sphere, another filter, palette and layout.
fn work(harness: &mut Harness<'_, App>) {
    harness.get_by_role_and_label(Role::SpinButton, "Subsets").set_value_accesskit(4.0);
    harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").set_value_accesskit(6.0);
    harness.run_steps(3);
    click(harness, "Restart");
    wait_for(harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    click(harness, "Add sphere");
    click(harness, "Palette: Inverted grey");
    click(harness, "Hot iron");
    click(harness, "Race");
    wait_for(harness, "the filtered image", is_filtered_to_the_end);
}

/// Whether the last image of a run of three iterations is on the screen, filtered.
fn is_filtered_to_the_end(app: &App) -> bool {
    app.work.is_run_over()
        && app.work.shown().filter_mm() == Some(6.0)
        && app.work.shown().id().is_some_and(|id| id.iteration == 3)
}

pub fn save_session(harness: &mut Harness<'_, App>, path: &Path) {
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::S);
    harness.run_steps(3);
    harness.get_by_label("Save the session");
    harness.event(Event::Text(path.to_str().unwrap().into()));
    harness.run_steps(2);
    click(harness, "OK");
    harness.get_by_label_contains("saved");
}

fn assert_same_work(before: &App, after: &App) {
    assert_eq!(after.work.document(), before.work.document());
    assert_eq!(after.work.colouring(), before.work.colouring());
    assert_eq!(after.work.shown().filter_mm(), Some(6.0));
    let (a, b) = (before.work.view(), after.work.view());
    assert_eq!((a.crosshair_mm, a.focus_mm, a.zoom, a.layout), (b.crosshair_mm, b.focus_mm, b.zoom, b.layout));
    // The same study by the same settings is the same image.
    let [a, b] = [before, after].map(|app| app.work.shown().volume().unwrap());
    assert_eq!(a.grid, b.grid);
    let largest = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest <= 1e-5 * a.range().1, "{largest}");
}

#[test]
fn a_session_file_brings_study_settings_regions_and_views_back() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    work(&mut harness);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work.session");
    save_session(&mut harness, &path);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("num_subsets = 4") && text.contains("palette = \"hot-iron\""), "{text}");

    // On another study, whose own run and regions nobody asked for.
    let Some(mut other) = next_day(Source::BuiltIn(BUILT_IN[10].clone()), Memory::default()) else { return };
    wait_for(&mut other, "the sweep", |app| app.work.acquisition().is_some() && app.work.shown().volume().is_some());
    drop_file(&mut other, &path);
    give_up_unsaved(&mut other);
    wait_for(&mut other, "the restored run", |app| app.work.counts().is_some() && is_filtered_to_the_end(app));
    assert_same_work(harness.state(), other.state());
    assert_eq!(other.get_by_role_and_label(Role::SpinButton, "Subsets").value(), Some("4".to_owned()));
    assert!(other.query_by_label("Add sphere").is_none(), "the tab with the race is shown");
    // What the first run did is in the menu, the second was done again.
    click(&mut other, "Repeat run with…");
    click(&mut other, "All as in the session");
    other.get_by_label_contains("run 1: OSEM").click();
    other.run_steps(3);
    wait_for(&mut other, "the first run again", |app| app.work.live().run > 1 && app.work.is_run_over());
    assert_eq!(other.state().work.kept_runs().count(), 1);
    // Saved again it has both once.
    let again = folder.path().join("again.session");
    save_session(&mut other, &again);
    assert_eq!(std::fs::read_to_string(again).unwrap().matches("[[run]]").count(), 2);
    // Nothing of it is unsaved, and an undo does not bring back what was before it.
    click(&mut other, "Regions");
    assert!(other.get_by_label("Undo").accesskit_node().is_disabled());
}

#[test]
fn the_last_session_is_offered_once_there_was_one() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    work(&mut harness);
    let mut stored = Memory::default();
    harness.state_mut().save(&mut stored);
    let Some(mut next) = next_day(small_study(), stored) else { return };
    wait_for(&mut next, "a run", |app| app.work.live().is_measured());
    let num_rois = harness.state().work.document().rois.len();
    next.get_by_label_contains(&format!(
        "Last session: {}, 2 runs, {num_rois} regions",
        harness.state().work.study().unwrap().title
    ));
    click(&mut next, "Restore");
    give_up_unsaved(&mut next);
    wait_for(&mut next, "the restored run", is_filtered_to_the_end);
    assert_same_work(harness.state(), next.state());
    assert!(next.query_by_label_contains("Last session").is_none());
}

#[test]
fn a_first_study_left_alone_takes_no_sessions_place() {
    let Some(mut first) = next_day(Source::BuiltIn(BUILT_IN[0].clone()), Memory::default()) else { return };
    wait_for(&mut first, "an image", |app| app.work.shown().volume().is_some());
    let mut stored = Memory::default();
    first.state_mut().save(&mut stored);
    assert!(!stored.0.contains_key("last session"));
    // An edited region makes it one; "Not now" leaves it for the next time.
    click(&mut first, "Add sphere");
    first.state_mut().save(&mut stored);
    let text = stored.0["last session"].clone();
    let Some(mut next) = next_day(Source::BuiltIn(BUILT_IN[0].clone()), stored) else { return };
    wait_for(&mut next, "an image", |app| app.work.shown().volume().is_some());
    click(&mut next, "Not now");
    assert!(next.query_by_label_contains("Last session").is_none());
    let mut stored = Memory(HashMap::from([("last session".to_owned(), text.clone())]));
    next.state_mut().save(&mut stored);
    assert_eq!(stored.0["last session"], text);
}

#[test]
fn a_session_finds_data_that_moved_with_it_and_says_what_it_does_not_find() {
    let [before, after] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let data = before.path().join("scan.hs");
    let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
    let phantom = phantom::by_name("cylinder", &geometry).unwrap();
    let options = SimulationOptions { counts: 1e5, ..SimulationOptions::default() };
    let study = phantom::simulate(&phantom, geometry, &options, &Task::new()).unwrap();
    write_projections(&data, &study.measured.prompts).unwrap();
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Dark, true, Source::file(data.clone()));
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    click(&mut harness, "Add sphere");
    let path = before.path().join("work.session");
    save_session(&mut harness, &path);
    for name in ["scan.hs", "scan.s", "work.session"] {
        std::fs::rename(before.path().join(name), after.path().join(name)).unwrap();
    }
    choose_built_in(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "another study", |app| app.work.study().is_some_and(|study| study.truth.is_some()));
    drop_file(&mut harness, &after.path().join("work.session"));
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the restored study", |app| app.work.study().is_some_and(|study| study.truth.is_none()));
    let sphere = &harness.state().work.document().rois[0];
    assert!(matches!(sphere.shape, RoiShape::Sphere { .. }) && harness.state().work.document().rois.len() == 1);
    // Without its data the study that is open stays, and the file is named.
    std::fs::remove_file(after.path().join("scan.hs")).unwrap();
    drop_file(&mut harness, &after.path().join("work.session"));
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the sentence", |app| !app.work.is_loading());
    assert!(harness.query_all_by_label_contains("scan.hs").next().is_some());
    assert_eq!(harness.state().work.document().rois.len(), 1);
    // A session of itself.
    let path = after.path().join("work.session");
    let text = std::fs::read_to_string(&path).unwrap();
    let (start, end) = (text.find("file = ").unwrap(), text.find("\n[numbers]").unwrap());
    let own = format!("{}file = {:?}\n{}", &text[..start], path.to_str().unwrap(), &text[end..]);
    std::fs::write(&path, own).unwrap();
    drop_file(&mut harness, &path);
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the sentence", |app| !app.work.is_loading());
    let told: Vec<_> = harness.state().work.notices().texts().collect();
    assert!(told.iter().any(|text| text.contains("work.session: unsupported format for projection data")), "{told:?}");
    // No session at all.
    let broken = after.path().join("broken.session");
    std::fs::write(&broken, "version = 1\nstudy = 3\n").unwrap();
    drop_file(&mut harness, &broken);
    harness.get_by_label_contains("broken.session: this is not a session: line 2");
    std::fs::write(&broken, "version = 7\n").unwrap();
    drop_file(&mut harness, &broken);
    harness.get_by_label_contains("version 7 is not supported; this program reads version 1");
}

#[test]
fn a_last_session_that_cannot_be_read_is_kept_as_a_file_and_told() {
    let mut stored = Memory::default();
    let text = "version = 999\n# of a later version";
    eframe::Storage::set_string(&mut stored, "last session", text.to_owned());
    let Some(harness) = next_day(small_study(), stored) else { return };
    let told: Vec<&str> =
        harness.state().work.notices().texts().filter(|text| text.contains("Reading the last session failed")).collect();
    assert!(told.len() == 1 && harness.query_by_label("Restore").is_none(), "{told:?}");
    let path = told[0].split("stored as ").nth(1).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    std::fs::remove_file(path).unwrap();
}
