//! *Send…*: the node is typed and remembered, and a failed transfer is a notice.

use std::net::TcpListener;

use egui::{Event, Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::ui::App;

use super::save_image_as;
use super::{click, finished, wait_for_files};

/// Replaces the text of a field.
pub fn fill(harness: &mut Harness<'_, App>, label: &str, text: &str) {
    harness.get_by_label(label).focus();
    harness.run_steps(2);
    harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::A);
    harness.event(Event::Text(text.into()));
    harness.run_steps(3);
}

#[test]
fn a_saved_series_is_sent_to_a_typed_node() {
    let Some(mut harness) = finished([1400.0, 900.0], Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    let series = folder.path().join("image.dcm");
    save_image_as(&mut harness, &series);
    click(&mut harness, "Send…");
    harness.event(Event::Text(series.to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    harness.get_by_label_contains("image.dcm. The connection is not encrypted");
    // Without a node nothing is sent.
    click(&mut harness, "Send");
    harness.get_by_label("Host");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (label, text) in [("AE title", "ARCHIVE"), ("Host", "127.0.0.1"), ("Port", &port.to_string())] {
        fill(&mut harness, label, text);
    }
    let num_notices = harness.state().work.notices().len();
    click(&mut harness, "Send");
    wait_for_files(&mut harness);
    // The port is closed.
    assert!(harness.query_by_label_contains("no connection").is_some());
    assert!(harness.state().work.notices().len() > num_notices);
    assert_eq!(std::fs::read_dir(&series).unwrap().count(), harness.state().work.shown().volume().unwrap().grid.size[2]);
    // The node is remembered.
    click(&mut harness, "Send…");
    harness.event(Event::Text(series.to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(harness.get_by_label("Port").value(), Some(port.to_string()));
}
