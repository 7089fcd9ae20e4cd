//! Sessions as earlier versions saved them (`tests/data/VERSION`) are opened, and damaged ones refused.

use egui::Theme;
use proptest::prelude::*;
use tomoscope::ui::SavedSession;
use tomoscope_support::hostile::{damaged, wild};

use super::drop_file;
use super::{give_up_unsaved, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

const SESSION: &str = include_str!("good.session");

#[test]
fn a_session_of_an_earlier_version_is_taken_up() {
    for version in ["0.1.0"] {
        let path = tomoscope_support::in_repository("tests/data").join(version).join("work.session");
        let session = SavedSession::read(&path).unwrap();
        assert_eq!((session.runs.len(), session.rois().unwrap().len(), session.next.post_filter_mm), (2, 2, 6.0));
        session.study.source().unwrap();
        // What is saved of it again says the same.
        assert_eq!(SavedSession::parse(&session.text().unwrap()).unwrap(), session);
        let Some(renderer) = renderer() else { continue };
        let mut harness = window_on(renderer, SIZE, Theme::Light, false, small_study());
        wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
        drop_file(&mut harness, &path);
        give_up_unsaved(&mut harness);
        let is_there = |app: &tomoscope::ui::App| app.work.document().rois.iter().any(|roi| roi.name == "ROI 1");
        wait_for(&mut harness, "the session's regions", is_there);
        assert_eq!(harness.state().work.document().rois.len(), 2);
    }
}

#[test]
fn the_files_of_a_study_are_saved_as_before() {
    let study = |text: &str| text.split("[numbers]").next().unwrap().to_owned();
    for name in ["counts", "list", "pairs", "sweep"] {
        let path = tomoscope_support::in_repository("tests/data/0.1.0").join(name).with_extension("session");
        let text = std::fs::read_to_string(path).unwrap();
        let session = SavedSession::parse(&text).unwrap();
        session.study.source().unwrap();
        assert_eq!(study(&session.text().unwrap()), study(&text));
    }
    let error = SavedSession::parse(&SESSION.replace("multiplicative =", "mulitplicative =")).unwrap_err();
    assert!(error.contains("unknown key of its files"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damaged_session_panics(session in prop_oneof![Just(SESSION.into()), damaged(SESSION), wild(SESSION, "=")]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.session");
        std::fs::write(&path, &session).unwrap();
        let read = SavedSession::read(&path);
        assert!(read.is_ok() || session != SESSION.as_bytes(), "{read:?}");
        if let Ok(session) = read {
            let _ = session.rois();
            assert!(session.view.zoom.is_finite() && session.view.crosshair_mm.iter().all(|c| c.is_finite()));
            assert!(session.next.post_filter_mm >= 0.0 && session.next.post_filter_mm <= 50.0);
        }
    }
}
