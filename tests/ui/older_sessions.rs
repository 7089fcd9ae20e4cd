//! Sessions as earlier versions saved them (`tests/data/VERSION`) are opened.

use std::path::Path;

use egui::Theme;
use tomoscope::ui::SavedSession;

use super::leaving::drop_file;
use super::{give_up_unsaved, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

#[test]
fn a_session_of_an_earlier_version_is_taken_up() {
    for version in ["0.1.0"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(version).join("work.session");
        let session = SavedSession::read(&path).unwrap();
        assert_eq!((session.runs.len(), session.rois().unwrap().len(), session.next.post_filter_mm), (2, 2, 6.0));
        session.study.source().unwrap();
        // What is saved of it again says the same.
        assert_eq!(SavedSession::parse(&session.text().unwrap()).unwrap(), session);
        let Some(renderer) = renderer() else { continue };
        let mut harness = window_on(renderer, SIZE, Theme::Light, false, small_study());
        wait_for(&mut harness, "the study", |app| app.counts().is_some());
        drop_file(&mut harness, &path);
        give_up_unsaved(&mut harness);
        let is_there = |app: &tomoscope::ui::App| app.document().rois.iter().any(|roi| roi.name == "ROI 1");
        wait_for(&mut harness, "the session's regions", is_there);
        assert_eq!(harness.state().document().rois.len(), 2);
    }
}
