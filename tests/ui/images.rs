//! Images of other programs in the window: a PET series in uptake values, a second image, images over time.

use std::path::{Path, PathBuf};

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::data::{ImageChoice, Unit};
use tomoscope::io::{read_images, read_volume};
use tomoscope::ui::{App, Source};

use super::drop_file;
use super::restore::save_session;
use super::save_image_as;
use super::{choose_built_in, click, give_up_unsaved, renderer, wait_for, wait_to_see, window_on};

const SIZE: [f32; 2] = [1500.0, 1000.0];

pub fn series(name: &str) -> PathBuf {
    tomoscope_support::in_repository("tests/data/dicom").join(name)
}

/// The window on a series, whose image is shown.
fn window_on_series(name: &str) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, false, Source::file(series(name)));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    Some(harness)
}

/// Opens a second image by its typed path.
pub fn add_second(harness: &mut Harness<'_, App>, path: &Path) {
    harness.get_by_label("Add image…").scroll_to_me();
    harness.run_steps(3);
    click(harness, "Add image…");
    harness.event(Event::Text(path.to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    wait_to_see(harness, "the second image", |harness| harness.query_by_label("Remove").is_some());
}

/// Returns the label that begins with a text.
fn label_of(harness: &Harness<'_, App>, begin: &str) -> Option<String> {
    let label = |node: egui_kittest::Node<'_>| node.accesskit_node().label().or_else(|| node.accesskit_node().value());
    harness.query_all_by_label_contains(begin).filter_map(label).find(|label| label.starts_with(begin))
}

#[test]
fn a_pet_series_is_shown_and_saved_in_uptake_values() {
    let Some(mut harness) = window_on_series("pet") else { return };
    assert!(harness.query_by_label("Values in: SUVbw").is_some());
    assert!(harness.query_by_label("Values in SUVbw").is_some(), "no chip");
    // The image is where its file has it.
    assert_eq!(harness.state().work.shown().volume().unwrap().grid, read_volume(&series("pet")).unwrap().0.grid);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("suv.nii");
    save_image_as(&mut harness, &path);
    let (own, saved) = (read_volume(&series("pet")).unwrap().0, read_volume(&path).unwrap().0);
    let factor = 70e3 / (370e6 * (-3600.0 / 6586.2f64).exp2());
    assert_eq!(saved.unit, Unit::SuvBodyWeight);
    for (saved, own) in saved.as_slice().iter().zip(own.as_slice()) {
        assert!((f64::from(*saved) / (factor * f64::from(*own)) - 1.0).abs() < 1e-6, "{saved} of {own}");
    }
    // Other facts give other values, and the file's own unit is offered.
    harness.get_by_label("Values in: SUVbw").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Values in: SUVbw");
    click(&mut harness, "SUL (James)");
    assert!(harness.query_by_label("Values in: SUL (James)").is_some());
    click(&mut harness, "Values in: SUL (James)");
    click(&mut harness, "Bq/mL");
    let path = folder.path().join("activity.nii");
    save_image_as(&mut harness, &path);
    assert_eq!(read_volume(&path).unwrap().0.as_slice(), own.as_slice());
}

#[test]
fn a_segmentation_becomes_regions_of_the_image() {
    let Some(mut harness) = window_on_series("oblique") else { return };
    let path = series("segmentations").join("oblique.dcm");
    let num_notices = harness.state().work.notices().len();
    drop_file(&mut harness, &path);
    wait_for(&mut harness, "the regions", |app| app.work.notices().len() > num_notices);
    let text = std::fs::read_to_string(series("segmentations.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let segments = expected["files"]["oblique.dcm"]["segments"].as_array().unwrap();
    let rois = &harness.state().work.document().rois;
    assert_eq!(rois.iter().map(|roi| roi.name.as_str()).collect::<Vec<_>>(), ["left", "lesion", "lesion (2)"]);
    let grid = &harness.state().work.shown().volume().unwrap().grid;
    for (roi, segment) in rois.iter().zip(segments) {
        assert_eq!(roi.mask(grid).voxels.len(), segment["voxels"].as_array().unwrap().len());
    }
    assert!(harness.state().work.study().is_some_and(|study| study.title.contains("oblique")));
    let folder = tempfile::tempdir().unwrap();
    let rois = rois.clone();
    let session = folder.path().join("a.session");
    save_session(&mut harness, &session);
    assert_eq!(tomoscope::ui::SavedSession::read(&session).unwrap().rois().unwrap(), rois);
}

#[test]
fn a_segmentation_without_an_image_is_refused() {
    let Some(renderer) = renderer() else { return };
    let path = series("segmentations").join("oblique.dcm");
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::file(path));
    wait_for(&mut harness, "the notice", |app| app.work.notices().texts().any(|text| text.contains("open its image first")));
    assert!(harness.state().work.document().rois.is_empty());
}

/// A series with the factors of its decay correction is saved as DICOM with the facts that the user changed.
#[test]
fn a_pet_series_is_saved_as_dicom_with_its_facts() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::create_dir(&source).unwrap();
    for entry in std::fs::read_dir(series("pet")).unwrap() {
        let path = entry.unwrap().path();
        let mut slice = dicom_object::open_file(&path).unwrap();
        let factor = dicom_core::PrimitiveValue::from("1.003162");
        slice.put(dicom_core::DataElement::new(dicom_dictionary_std::tags::DECAY_FACTOR, dicom_core::VR::DS, factor));
        slice.write_to_file(source.join(path.file_name().unwrap())).unwrap();
    }
    let Some(renderer) = renderer() else { return };
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::file(source.clone()));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    harness.get_by_label("Weight, kg").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_label("Weight, kg").click();
    harness.run_steps(3);
    harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::A);
    harness.event(Event::Text("80".into()));
    harness.key_press(Key::Enter);
    harness.run_steps(4);
    let path = folder.path().join("suv.dcm");
    save_image_as(&mut harness, &path);
    let (saved, _) = read_images(&path, ImageChoice::Only).unwrap();
    let own = read_volume(&source).unwrap().0;
    let factor = 80e3 / (370e6 * (-3600.0 / 6586.2f64).exp2());
    assert_eq!(saved.unit(), Unit::SuvBodyWeight);
    assert!((saved.images[0].volume.sum() / (factor * own.sum()) - 1.0).abs() < 1e-4);
    let scan = saved.pet.unwrap();
    assert_eq!((scan.weight_kg.unwrap().value, scan.dose_bq.unwrap().value), (80.0, 370e6));
    assert_eq!((saved.names.patient_name.as_str(), saved.names.frame_of_reference.as_str()), ("Test^Phantom", "2.25.99"));
    // Without the factors, and the duration from which they follow, it is refused.
    for entry in std::fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let mut slice = dicom_object::open_file(&path).unwrap();
        slice.remove_element(dicom_dictionary_std::tags::DECAY_FACTOR);
        slice.remove_element(dicom_dictionary_std::tags::ACTUAL_FRAME_DURATION);
        slice.write_to_file(&path).unwrap();
    }
    let mut harness = window_on(super::renderer().unwrap(), SIZE, Theme::Dark, false, Source::file(source.clone()));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    let path = folder.path().join("refused.dcm");
    save_image_as(&mut harness, &path);
    assert!(!path.exists());
    assert!(harness.query_by_label_contains("missing for it: duration of the frame").is_some());
}

#[test]
fn a_second_image_has_numbers_beside_those_of_the_first() {
    let Some(mut harness) = window_on_series("pet") else { return };
    click(&mut harness, "Add sphere");
    harness.run_steps(4);
    add_second(&mut harness, &series("ct"));
    let number = |harness: &Harness<'_, App>| label_of(harness, "CT of").filter(|text| text.contains('±'));
    wait_to_see(&mut harness, "the number of the second image", |harness| number(harness).is_some());
    let text = number(&harness).unwrap();
    // A shift changes the number, and undo brings it back.
    let field = harness.get_by_label("Shift z, mm");
    field.scroll_to_me();
    harness.run_steps(3);
    harness.get_by_label("Shift z, mm").click();
    harness.run_steps(2);
    harness.event(Event::Text("3.3".into()));
    harness.key_press(Key::Enter);
    wait_to_see(&mut harness, "another number", |harness| number(harness).is_some_and(|shifted| shifted != text));
    click(&mut harness, "Undo shift");
    wait_to_see(&mut harness, "the number of before", |harness| number(harness).as_ref() == Some(&text));
    // Another study has no second image.
    let small = tomoscope::ui::BUILT_IN[tomoscope::ui::BUILT_IN.len() - 1].title;
    choose_built_in(&mut harness, small);
    wait_to_see(&mut harness, "the built-in study", |harness| harness.query_by_label("Values in: SUVbw").is_none());
    assert!(harness.query_by_label("Remove").is_none());
}

/// Sets a number field of the side panel.
fn set(harness: &mut Harness<'_, App>, role: Role, label: &str, value: f64) {
    harness.get_by_role_and_label(role, label).scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(role, label).set_value_accesskit(value);
    harness.run_steps(3);
}

/// Types into a field of the side panel.
fn type_into(harness: &mut Harness<'_, App>, label: &str, text: &str) {
    harness.get_by_role_and_label(Role::TextInput, label).scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::TextInput, label).focus();
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    harness.event(Event::Text(text.into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
}

#[test]
fn a_session_contains_the_second_image_and_the_changed_facts() {
    let Some(mut harness) = window_on_series("pet") else { return };
    let folder = tempfile::tempdir().unwrap();
    let ct = folder.path().join("ct");
    std::fs::create_dir(&ct).unwrap();
    for file in std::fs::read_dir(series("ct")).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, ct.join(file.file_name().unwrap())).unwrap();
    }
    add_second(&mut harness, &ct);
    click(&mut harness, "swipe");
    set(&mut harness, Role::SpinButton, "Shift z, mm", 3.3);
    set(&mut harness, Role::SpinButton, "Weight, kg", 82.0);
    type_into(&mut harness, "Scan", "yesterday");
    assert!(harness.state().work.notices().texts().any(|text| text.contains("'yesterday' is no date and time")));
    let scan = harness.state().work.pet_scan().unwrap().scan_start.clone().unwrap().value;
    type_into(&mut harness, "Scan", "23:59:30");
    let changed = harness.state().work.pet_scan().unwrap().clone();
    let later = scan.date().at(23, 59, 30, 0);
    assert_eq!(changed.scan_start.as_ref().map(|fact| fact.value), Some(later));
    assert_eq!(changed.weight_kg.as_ref().map(|fact| fact.value), Some(82.0));
    assert_eq!(harness.query_all_by_label("changed").count(), 2);
    let second = harness.state().work.second_image().unwrap();
    let path = folder.path().join("fused.session");
    save_session(&mut harness, &path);
    let reopened = |harness: &mut Harness<'_, App>| {
        choose_built_in(harness, tomoscope::ui::BUILT_IN[tomoscope::ui::BUILT_IN.len() - 1].title);
        wait_for(harness, "the built-in study", |app| app.work.counts().is_some());
        assert!(harness.state().work.second_image().is_none());
        drop_file(harness, &path);
        give_up_unsaved(harness);
        wait_for(harness, "the series", |app| app.work.pet_scan().is_some() && app.work.shown().volume().is_some());
    };
    reopened(&mut harness);
    wait_for(&mut harness, "the second image", |app| app.work.second_image().is_some());
    assert_eq!(harness.state().work.pet_scan(), Some(&changed));
    assert_eq!(harness.state().work.second_image(), Some(second));
    // Without the file of the second image, all else is restored.
    std::fs::remove_dir_all(&ct).unwrap();
    reopened(&mut harness);
    let is_told = |app: &App| app.work.notices().texts().any(|text| text.contains("second image of the session is not shown"));
    wait_for(&mut harness, "the notice", is_told);
    assert_eq!(harness.state().work.pet_scan(), Some(&changed));
    assert!(harness.state().work.second_image().is_none());
}

#[test]
fn a_series_of_a_folder_with_several_is_chosen_in_rows() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["ct", "pet"] {
        for entry in std::fs::read_dir(series(name)).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.path().join(format!("{name}-{}", path.file_name().unwrap().display()))).unwrap();
        }
    }
    let start = Source::file(folder.path().to_owned());
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, start);
    wait_to_see(&mut harness, "the chooser", |harness| harness.query_by_label("Choose a series").is_some());
    let row = "PET · series 1 · pet · Test Phantom · T1 · 2026-03-01 · 3 files";
    click(&mut harness, row);
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    assert_eq!(harness.state().work.shown().volume().unwrap().as_slice(), read_volume(&series("pet")).unwrap().0.as_slice());
    assert!(harness.query_by_label("Choose a series").is_none());
    // The second image of the same folder, by keys: the first row has the focus.
    harness.get_by_label("Add image…").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Add image…");
    harness.event(Event::Text(folder.path().to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    let title = "Choose a series for the second image";
    wait_to_see(&mut harness, "the chooser", |harness| harness.query_by_label(title).is_some());
    harness.run_steps(3);
    harness.key_press(Key::Enter);
    wait_to_see(&mut harness, "the second image", |harness| harness.query_by_label("Remove").is_some());
    assert!(label_of(&harness, "ct-").is_some_and(|text| text.contains("CT ct")), "not the CT");
    // Escape closes it.
    click(&mut harness, "Remove");
    click(&mut harness, "Add image…");
    harness.event(Event::Text(folder.path().to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    wait_to_see(&mut harness, "the chooser", |harness| harness.query_by_label(title).is_some());
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(harness.query_by_label(title).is_none());
}

#[test]
fn images_over_time_can_be_scrubbed() {
    let Some(mut harness) = window_on_series("dynamic") else { return };
    assert!(harness.query_by_label("3 images").is_some());
    let last = harness.state().work.shown().volume().unwrap().as_slice().to_vec();
    click(&mut harness, "Add sphere");
    wait_for(&mut harness, "three points of the curve", |app| {
        app.work.live().rois.newest().is_some_and(|branch| branch.points.len() == 3)
    });
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(4);
    let before = harness.state().work.shown().volume().unwrap().as_slice().to_vec();
    assert_ne!(before, last);
}
