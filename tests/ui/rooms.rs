//! A system that the program does not know, shown by the window: a session that makes its own algorithm.

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::plan::DeviceChoice;
use tomoscope::session::{Session, SessionOptions, Trace};
use tomoscope::ui::{App, AppOptions};

use super::{cache, renderer, small_study, toy, wait_for};

#[test]
fn the_window_shows_what_a_session_of_another_system_reconstructs() {
    let Some(renderer) = renderer() else { return };
    let options = AppOptions {
        start: small_study(),
        autostart: true,
        device: DeviceChoice::Cpu,
        num_iterations: Some(3),
        for_pictures: true,
        desktop_dialogs: false,
        cache: cache(),
        trace: Trace::off(),
    };
    let builder = Harness::builder().with_size([1200.0, 800.0]).renderer(renderer);
    let mut harness = builder.build_eframe(|creation| {
        let ctx = creation.egui_ctx.clone();
        let session = Session::with_setup(SessionOptions::default(), toy::setup(), move || ctx.request_repaint());
        App::with_session(creation, options, session, None)
    });
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    assert!(harness.query_all_by_label_contains("· events").next().is_some(), "the system is not named");
    let app = harness.state();
    let Some(info) = &app.work.live().info else { panic!("the run has told nothing") };
    let settings = &info.job.settings;
    let expected: Vec<f32> = toy::reference(settings.num_subsets, 3).iter().map(|&value| value as f32).collect();
    let largest = expected.iter().copied().fold(0.0, f32::max);
    let shown = app.work.shown().volume().unwrap();
    assert_eq!(shown.grid, toy::grid());
    for (found, expected) in shown.as_slice().iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-5 * largest, "{found} {expected}");
    }
    // The study's regions, on the last iterate.
    let branch = app.work.live().rois.newest().unwrap();
    let (_, last) = branch.points.last_key_value().unwrap();
    let mut num_covered = 0;
    for (roi, found) in branch.rois.iter().zip(&last.sums) {
        let (expected, found) = (roi.mask(&toy::grid()).sums(&expected), found.unwrap());
        assert_eq!(found.num_voxels, expected.num_voxels, "{}", roi.name);
        assert!((found.sum - expected.sum).abs() <= 1e-5 * expected.sum.abs(), "{}: {found:?} {expected:?}", roi.name);
        num_covered += usize::from(found.num_voxels > 0);
    }
    assert!(num_covered > 0, "no region lies in the image");
}
