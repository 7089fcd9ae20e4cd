//! Paths typed where the desktop has no dialogs: in front of everything, with the keys to themselves, and never over a file
//! that nobody was asked about.

use dicom_dictionary_std::tags;
use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::io::read_volume;
use tomoscope::ui::{App, Tool};

use super::{click, drag, finished, press, save_image_as, type_text, wait_for_files};

const SIZE: [f32; 2] = [1400.0, 900.0];

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

#[test]
fn typed_letters_are_a_path_and_no_shortcuts() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let done = harness.state().work.live().progress();
    let num_notices = harness.state().work.notices().len();
    click(&mut harness, "Save ROIs…");
    assert!(has(&harness, "Save ROIs"));
    // The focus is there without a click.
    for (key, text) in [(Key::S, "s"), (Key::Num2, "2"), (Key::F, "f")] {
        harness.key_down(key);
        harness.event(Event::Text(text.into()));
        harness.key_up(key);
        harness.run_steps(3);
    }
    harness.key_press(Key::Delete);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(3);
    let field = harness.get_all_by_role(Role::TextInput).find(|field| field.is_focused()).unwrap();
    assert_eq!(field.value().as_deref(), Some("s2f"));
    let app = harness.state();
    assert_eq!((app.work.live().progress(), app.work.shown().id().unwrap().iteration), (done, 3));
    assert!(app.work.is_run_over() && app.work.notices().len() == num_notices);
    // Nothing behind it can be clicked.
    let before = app.work.document().clone();
    click(&mut harness, "Add sphere");
    drag(&mut harness, "Transaxial slice", [0.5, 0.1], [0.6, 0.2]);
    assert_eq!(harness.state().work.document(), &before);
    // Escape closes it and does nothing else.
    press(&mut harness, Key::Escape);
    assert!(!has(&harness, "Save ROIs"));
    click(&mut harness, "Sphere");
    assert_eq!(harness.state().work.view().tool, Tool::Sphere);
}

#[test]
fn the_key_that_leaves_a_field_is_no_shortcut() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let num_notices = harness.state().work.notices().len();
    click(&mut harness, "Sphere");
    let field = harness.get_by_role(Role::TextInput);
    field.focus();
    harness.run_steps(2);
    press(&mut harness, Key::Escape);
    assert_eq!(harness.state().work.view().tool, Tool::Sphere, "Escape left the field");
    press(&mut harness, Key::Escape);
    assert_eq!(harness.state().work.view().tool, Tool::Crosshair);
    // A menu takes it too.
    click(&mut harness, "Sphere");
    click(&mut harness, "Keys");
    press(&mut harness, Key::Escape);
    assert_eq!(harness.state().work.view().tool, Tool::Sphere, "Escape closed the menu");
    // In a number field digits are a number, and letters nothing.
    harness.get_by_role_and_label(Role::SpinButton, "Iterations").scroll_to_me();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::SpinButton, "Iterations").click();
    harness.run_steps(3);
    harness.key_down(Key::Num1);
    type_text(&mut harness, "1");
    press(&mut harness, Key::S);
    press(&mut harness, Key::Enter);
    assert!(harness.state().work.is_run_over() && harness.state().work.notices().len() == num_notices);
}

#[test]
fn the_first_key_after_a_question_is_a_shortcut_again() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    // As a window that sleeps: only the frames that are asked for.
    let press = |harness: &mut Harness<'_, App>, modifiers: Modifiers, key: Key| {
        harness.key_press_modifiers(modifiers, key);
        // However often other threads wake it.
        let _ = harness.try_run();
    };
    // (A notice may have a "Close" of its own.)
    let is_help_open = |harness: &Harness<'_, App>| harness.query_by_label_contains("zoom the interface").is_some();
    press(&mut harness, Modifiers::NONE, Key::F1);
    assert!(is_help_open(&harness));
    press(&mut harness, Modifiers::NONE, Key::Escape);
    assert!(!is_help_open(&harness));
    press(&mut harness, Modifiers::COMMAND, Key::S);
    assert!(has(&harness, "Save the image"));
}

#[test]
fn a_file_is_overwritten_only_after_a_question() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.nii");
    save_image_as(&mut harness, &path);
    let image = harness.state().work.shown().volume().unwrap().as_slice().to_vec();
    assert_eq!(read_volume(&path).unwrap().0.as_slice(), image);
    assert!(!has(&harness, "Save the image"));
    // Kept: the path is there to be changed.
    std::fs::write(&path, "precious").unwrap();
    save_image_as(&mut harness, &path);
    harness.get_by_label("Replace this file?");
    harness.check_accessibility();
    press(&mut harness, Key::Enter);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    assert!(has(&harness, "Save the image") && !has(&harness, "Replace this file?"));
    press(&mut harness, Key::Enter);
    press(&mut harness, Key::Escape);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    assert!(has(&harness, "Save the image"));
    // Replaced.
    press(&mut harness, Key::Enter);
    click(&mut harness, "Replace");
    wait_for_files(&mut harness);
    assert_eq!(read_volume(&path).unwrap().0.as_slice(), image);
    assert!(!has(&harness, "Save the image") && !has(&harness, "Replace this file?"));
}

#[test]
fn the_data_beside_a_header_are_asked_about_too() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("image.v");
    std::fs::write(&data, "another's").unwrap();
    save_image_as(&mut harness, &folder.path().join("image.hv"));
    harness.get_by_label(data.to_str().unwrap());
    click(&mut harness, "Keep");
    assert_eq!(std::fs::read(&data).unwrap(), b"another's");
    assert!(!folder.path().join("image.hv").exists());
}

#[test]
fn the_image_goes_out_as_a_dicom_series_and_as_a_numpy_array() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (series, array) = (folder.path().join("image.dcm"), folder.path().join("image.npy"));
    save_image_as(&mut harness, &series);
    save_image_as(&mut harness, &array);
    let image = harness.state().work.shown().volume().unwrap().clone();
    let (again, notices) = read_volume(&array).unwrap();
    assert!(notices.is_empty() && again == image, "{notices:?}");
    for (k, expected) in image.values.outer_iter().enumerate() {
        let slice = dicom_object::open_file(series.join(format!("slice_{:03}.dcm", k + 1))).unwrap();
        let step = slice.element(tags::RESCALE_SLOPE).unwrap().to_float64().unwrap();
        let bytes = slice.element(tags::PIXEL_DATA).unwrap().to_bytes().unwrap();
        for (pair, &value) in bytes.chunks_exact(2).zip(expected) {
            let found = step * f64::from(i16::from_le_bytes([pair[0], pair[1]]));
            assert!((found - f64::from(value)).abs() <= 0.501 * step, "{found} is not {value}");
        }
    }
    // Never over one that is there without a question, and never over what is no series.
    let first = std::fs::read(series.join("slice_001.dcm")).unwrap();
    save_image_as(&mut harness, &series);
    harness.get_by_label("Replace this file?");
    click(&mut harness, "Keep");
    assert_eq!(std::fs::read(series.join("slice_001.dcm")).unwrap(), first);
    press(&mut harness, Key::Enter);
    click(&mut harness, "Replace");
    wait_for_files(&mut harness);
    assert_ne!(std::fs::read(series.join("slice_001.dcm")).unwrap(), first, "each series has UIDs of its own");
    std::fs::write(series.join("mine.txt"), "mine").unwrap();
    save_image_as(&mut harness, &series);
    click(&mut harness, "Replace");
    wait_for_files(&mut harness);
    harness.get_by_label_contains("the folder holds mine.txt");
    assert_eq!(std::fs::read(series.join("mine.txt")).unwrap(), b"mine");
}
