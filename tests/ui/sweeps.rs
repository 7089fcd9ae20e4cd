//! EPRI sweeps in the window: opened, replayed, followed, and what is said of them.

use std::path::Path;
use std::sync::Arc;

use egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::data::{GradientAxis, Study, Sweep, SweepKind, SweepSpace};
use tomoscope::io::write_sweep;
use tomoscope::phantom::epri::{SweepOptions, by_name, simulate};
use tomoscope::plan::{StudyFiles, SweepFiles};
use tomoscope::render::Palette;
use tomoscope::scanner::epri::Scheme;
use tomoscope::session::EndReason;
use tomoscope::task::Task;
use tomoscope::ui::{App, BUILT_IN, Measured, RunState, Source};

use super::scans::put_complex;
use super::{choose_built_in, click, drag, num_measured, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];

/// Tubes seen along 66 directions.
pub fn sweep() -> Study<Sweep> {
    let scheme = Scheme::with_at_least(66).unwrap();
    let options = SweepOptions { scheme, num_points: 48, step_mm: 1.0, ..SweepOptions::default() };
    simulate(&by_name("tubes", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap()
}

fn file(path: &Path, is_followed: bool) -> Source {
    Source::Files(StudyFiles::Sweep(SweepFiles { is_followed, ..SweepFiles::of(path) }))
}

fn opened(start: Source, autostart: bool) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, autostart, start);
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    Some(harness)
}

fn is_completed(app: &App) -> bool {
    app.work.live().state == RunState::Ended(EndReason::Completed)
}

#[test]
fn a_sweep_is_reconstructed_and_measured_over_its_projections() {
    let built_in = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Sweep { .. })).unwrap().clone();
    let Some(mut harness) = opened(Source::BuiltIn(built_in), true) else { return };
    wait_for(&mut harness, "the end of the run", is_completed);
    let app = harness.state();
    assert_eq!(app.work.live().progress(), (208, 208));
    // Filtered backprojection rings below zero: the colours have a middle, and it is at 0.
    assert_eq!(app.work.colouring().palette, Palette::Signed);
    assert_eq!(app.work.colouring().window[0], -app.work.colouring().window[1]);
    harness.get_by_label("208 projections");
    harness.get_by_label("Picture: 208 projections");
    harness.get_by_label("Plot: projection 208");
    click(&mut harness, "Means");
    harness.get_by_label("Plot: means");
    harness.check_accessibility();
    // There is nothing to choose about adding, and the reason is given.
    for name in ["atomic", "non-atomic", "deterministic"] {
        assert!(harness.get_by_label(name).accesskit_node().is_disabled(), "{name}");
    }
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Num2);
    harness.run_steps(3);
    assert!(harness.state().work.notices().texts().any(|text| text.contains("by one thread")));
    // A region drawn afterwards is measured on every block that is kept.
    click(&mut harness, "Circle");
    drag(&mut harness, "Transaxial slice", [0.5, 0.5], [0.56, 0.5]);
    let drawn = harness.state().work.document().rois.len() - 1;
    wait_for(&mut harness, "its curve", |app| num_measured(app, drawn) == 13);
    // Back in time, and on.
    harness.key_press(egui::Key::ArrowLeft);
    wait_for(&mut harness, "the block before", |app| app.work.shown().id().is_some_and(|id| id.subiteration == 192));
    click(&mut harness, "Time");
    harness.get_by_label("Plot: time of each stage");
    // Another projection is looked at by a drag in the picture.
    click(&mut harness, "Sweep");
    drag(&mut harness, "Picture: 208 projections", [0.5, 0.5], [0.5, 0.55]);
    assert!(harness.query_by_label("Plot: projection 208").is_none());
    harness.get_by_label_contains("Plot: projection ");
}

/// The colour at the middle of the voxel whose value is nearest to 0, of those of the transaxial slice that nothing is drawn
/// over, and that value as a part of the window's top.
fn colour_near_zero(harness: &mut Harness<'static, App>) -> ([u8; 3], f32) {
    let rect = harness.get_by_label("Transaxial slice").rect();
    let picture = harness.render().unwrap();
    let (volume, view) = (harness.state().work.shown().volume().unwrap(), harness.state().work.view());
    let [nx, ny, nz] = volume.grid.size;
    let at = |voxel: [usize; 3]| volume.grid.mm_from_voxel(voxel.map(|i| i as f64));
    let z = (0..nz).min_by(|&a, &b| {
        (at([0, 0, a])[2] - view.crosshair_mm[2]).abs().total_cmp(&(at([0, 0, b])[2] - view.crosshair_mm[2]).abs())
    });
    let inner = |n: usize| n / 4..n / 2 - 4;
    let voxels = inner(ny).flat_map(|y| inner(nx).map(move |x| [x, y, z.unwrap()]));
    let value = |[x, y, z]: [usize; 3]| volume.values[[z, y, x]];
    let voxel = voxels.min_by(|&a, &b| value(a).abs().total_cmp(&value(b).abs())).unwrap();
    // The image is a cube, and the large view has its own scale.
    let length = volume.grid.size[0] as f64 * volume.grid.voxel_mm[0];
    let scale = f64::from(rect.shrink(4.0).size().min_elem()) / length;
    let offset = [0, 1].map(|a| ((at(voxel)[a] - view.focus_mm[a]) * scale * view.zoom) as f32);
    let place = rect.center() + egui::vec2(offset[0], offset[1]);
    let [r, g, b, _] = picture.get_pixel(place.x as u32, place.y as u32).0;
    ([r, g, b], value(voxel).abs() / harness.state().work.colouring().window[1])
}

#[test]
fn signed_colours_are_white_at_zero_whatever_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sweep");
    write_sweep(&path, &sweep()).unwrap();
    let Some(mut harness) = opened(Source::file(path), true) else { return };
    wait_for(&mut harness, "the end of the run", is_completed);
    click(&mut harness, "Smooth");
    for name in ["auto", "Full"] {
        if name == "Full" {
            click(&mut harness, name);
            let (colouring, range) = (harness.state().work.colouring(), harness.state().work.shown().range);
            assert!(
                !colouring.auto_window && colouring.window == [-range[1], range[1]] && range[0] > -range[1],
                "{:?} {range:?}",
                colouring.window
            );
        }
        let (colour, value) = colour_near_zero(&mut harness);
        assert!(value < 2e-3, "{name}: no voxel is near 0 but {value}");
        assert!(colour.iter().all(|channel| *channel >= 246), "{name}: {colour:?}");
    }
}

#[test]
fn the_bar_above_the_slices_ends_at_the_edge_of_the_window() {
    // Small values take long numbers, and signed colours one more sign.
    let mut faint = sweep();
    for projection in &mut faint.measured.projections {
        projection.values = projection.values.iter().map(|value| 1e-4 * value).collect();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faint.sweep");
    write_sweep(&path, &faint).unwrap();
    for width in [1024.0, 1280.0] {
        let Some(renderer) = renderer() else { return };
        let mut harness = window_on(renderer, [width, 900.0], Theme::Dark, true, file(&path, false));
        wait_for(&mut harness, "the end of the run", is_completed);
        assert_eq!(harness.state().work.colouring().palette, Palette::Signed);
        for label in ["Full", "Views", "Colour bar from"] {
            let right = harness.get_by_label_contains(label).rect().right();
            assert!(right <= width, "{label} ends at {right} of {width}");
        }
    }
}

#[test]
fn a_slice_has_one_view_with_the_names_of_its_axes_and_the_filters_curve() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disc.sweep");
    let scheme = Scheme::HalfCircle { num_angles: 40 };
    let options = SweepOptions { scheme, num_points: 48, step_mm: 1.0, ..SweepOptions::default() };
    let mut disc = simulate(&by_name("disc", options.half_extent_mm()).unwrap(), &options, &Task::new()).unwrap();
    disc.measured.space = SweepSpace::Slice([GradientAxis::Z, GradientAxis::Y]);
    write_sweep(&path, &disc).unwrap();
    let Some(mut harness) = opened(Source::file(path), true) else { return };
    wait_for(&mut harness, "the end of the run", is_completed);
    harness.get_by_label("2D, axes z and y");
    assert!(harness.query_by_label("Coronal slice").is_none() && harness.query_by_label("Sagittal slice").is_none());
    // One large view, of the one slice that there is.
    let view = harness.get_by_label("Slice z, y").rect();
    assert!(view.width() > 0.6 * SIZE[0] && view.height() > 0.35 * SIZE[1], "{view:?}");
    assert_eq!(harness.state().work.shown().volume().unwrap().grid.size, [48, 48, 1]);
    harness.get_by_label("Voxels z, y");
    assert!(harness.query_by_label("Voxels x").is_none());
    harness.get_by_label("Plot: Filter three-point, no cut-off");
    // The filter that is chosen for the next run is not that of the image.
    click(&mut harness, "Filter: three-point");
    click(&mut harness, "hamming");
    harness.get_by_label("Plot: Filter three-point, no cut-off");
    harness.get_by_label_contains("next run: hamming");
    click(&mut harness, "Filter: hamming");
    click(&mut harness, "three-point");
    assert!(harness.query_by_label_contains("next run:").is_none());
    click(&mut harness, "Circle");
    drag(&mut harness, "Slice z, y", [0.5, 0.5], [0.55, 0.5]);
    let drawn = harness.state().work.document().rois.len() - 1;
    assert_eq!(harness.state().work.document().rois[drawn].centre_mm[2], 0.0);
    wait_for(&mut harness, "its curve", |app| num_measured(app, drawn) == 3);
    harness.check_accessibility();
}

#[test]
fn an_acquisition_is_played_again_at_any_pace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sweep");
    write_sweep(&path, &sweep()).unwrap();
    let Some(mut harness) = opened(Source::file(path), true) else { return };
    wait_for(&mut harness, "the end of the run", is_completed);
    click(&mut harness, "Replay");
    wait_for(&mut harness, "the first projections", |app| {
        !is_completed(app) && app.work.live().last.as_ref().is_some_and(|last| last.subiteration > 2)
    });
    let growing = harness.state().work.acquisition().unwrap();
    assert!(!growing.is_over() && growing.num_expected() == Some(66));
    assert!(harness.query_all_by_label_contains(" of 66").count() > 0);
    // It is broken off: what came is kept, and the next start takes the whole sweep again.
    click(&mut harness, "End replay");
    wait_for(&mut harness, "its end", is_completed);
    assert!(harness.state().work.live().progress().0 < 66);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the whole sweep", |app| is_completed(app) && app.work.live().progress() == (66, 66));
    assert!(harness.state().work.acquisition().unwrap().is_over());
}

#[test]
fn a_file_is_followed_and_left_alone_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, data) = (folder.path().join("a.sweep"), folder.path().join("a.f32"));
    write_sweep(&path, &sweep()).unwrap();
    let bytes = std::fs::read(&data).unwrap();
    std::fs::write(&data, &bytes[..bytes.len() / 2]).unwrap();
    let Some(mut harness) = opened(file(&path, true), true) else { return };
    let done = |app: &App| app.work.live().progress().0;
    wait_for(&mut harness, "what is there", |app| done(app) == 33);
    harness.get_by_label("33 of 66");
    harness.get_by_label("following the file");
    // The file gets shorter: a notice, and everything stays.
    std::fs::write(&data, &bytes[..100]).unwrap();
    wait_for(&mut harness, "the notice", |app| app.work.notices().texts().any(|text| text.contains("shorter")));
    assert_eq!(done(harness.state()), 33);
    std::fs::write(&data, &bytes[..bytes.len() / 66 * 50]).unwrap();
    wait_for(&mut harness, "more of it", |app| done(app) == 50);
    click(&mut harness, "Stop following");
    wait_for(&mut harness, "the end", is_completed);
    assert_eq!(done(harness.state()), 50);
    harness.get_by_label("Replay");
}

#[test]
fn spectra_without_their_reference_say_what_is_missing_and_take_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wave.sweep");
    let kind = SweepKind::ContinuousWave { step_mt: 0.01, gradient_mt_per_mm: 0.01, reference: None };
    write_sweep(&path, &sweep().map(|sweep| Sweep { kind, ..sweep })).unwrap();
    let Some(mut harness) = opened(Source::file(path), false) else { return };
    assert!(harness.state().work.notices().texts().any(|text| text.contains("No reference spectrum")));
    harness.get_by_label_contains("missing");
    harness.get_by_label("Reference spectrum…");
    click(&mut harness, "Start");
    wait_for(&mut harness, "the refusal", |app| app.work.live().state == RunState::Failed);
    assert!(harness.state().work.notices().texts().any(|text| text.contains("open that reference spectrum too")));
}

#[test]
fn a_real_scan_opens_by_itself_and_without_its_reference_takes_another() {
    let Some(scan) = super::data::data_file("epri/fusillo-20091002-proj.DSC") else { return };
    let Some(harness) = opened(Source::file(scan.clone()), false) else { return };
    harness.get_by_label("500 samples");
    harness.get_by_label("Filter: rectangular");
    harness.get_by_label("Baseline: line (1)");
    let mut harness = harness;
    let side = |harness: &Harness<'static, App>| harness.get_by_label("Voxel mm x").accesskit_node().numeric_value().unwrap();
    // The form may reach below the window: the buttons are pressed by name, not by place.
    let press = |harness: &mut Harness<'static, App>, name: &str| {
        harness.get_by_label(name).click_accesskit();
        harness.run_steps(3);
    };
    press(&mut harness, "Field of view 20 mm");
    assert!((side(&harness) - 20.0 / 128.0).abs() < 1e-9, "{}", side(&harness));
    let field = harness.get_by_label("Field of view 20 mm").rect();
    let device = harness.get_by_label_contains("Device: ").rect();
    assert!(!field.intersects(device), "{field:?} {device:?}");
    press(&mut harness, "Samples 94.64 mm");
    assert!((side(&harness) - 94.6432 / 128.0).abs() < 1e-4, "{}", side(&harness));
    // Elsewhere, under another name, its reference spectrum is not found.
    let folder = tempfile::tempdir().unwrap();
    for ending in ["DSC", "DTA"] {
        std::fs::copy(scan.with_extension(ending), folder.path().join("alone.x").with_extension(ending)).unwrap();
    }
    let projections = folder.path().join("alone.DSC");
    let Some(harness) = opened(Source::file(projections.clone()), false) else { return };
    harness.get_by_label_contains("missing");
    let reference = Some(scan.with_file_name("fusillo-20091002-h.DSC"));
    let given = Source::Files(StudyFiles::Sweep(SweepFiles { reference, ..SweepFiles::of(&projections) }));
    let Some(mut harness) = opened(given, false) else { return };
    for axis in ["Voxels x", "Voxels y", "Voxels z"] {
        harness.get_by_label(axis);
    }
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the run", is_completed);
    assert_eq!(harness.state().work.live().progress(), (961, 961));
    assert_eq!(harness.state().work.colouring().palette, Palette::Signed);
}

#[test]
fn complex_spectra_are_read_again_with_another_phase() {
    let folder = tempfile::tempdir().unwrap();
    put_complex(folder.path());
    let path = folder.path().join("a-proj.DSC");
    let asked_for = Source::Files(StudyFiles::Sweep(SweepFiles { phase: Some(95.0), ..SweepFiles::of(&path) }));
    let Some(mut harness) = opened(asked_for, false) else { return };
    // In the panel, and in a notice.
    let says = |harness: &Harness<'static, App>, text: &str| harness.query_all_by_label_contains(text).count() > 0;
    assert!(says(&harness, "turned by 95.00°, as asked for; 75.00 % of the energy"));
    assert!(harness.get_by_label("Turn").accesskit_node().is_disabled());
    let phase = |app: &App| app.work.acquisition().and_then(|acquisition| acquisition.look(|sweep| sweep.facts.phase));
    click(&mut harness, "Automatic");
    wait_for(&mut harness, "its own phase", |app| phase(app).is_some_and(|phase| phase.is_automatic));
    assert!(says(&harness, "turned by 35.00°, found from the data"));
    assert!(harness.get_by_label("Automatic").accesskit_node().is_disabled());
}

#[test]
fn counts_after_a_sweep_have_their_own_colours_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sweep");
    write_sweep(&path, &sweep()).unwrap();
    let Some(mut harness) = opened(Source::file(path), true) else { return };
    wait_for(&mut harness, "the end of the run", is_completed);
    assert_eq!(harness.state().work.colouring().palette, Palette::Signed);
    harness.get_by_label("Filter: three-point");
    let Source::BuiltIn(small) = small_study() else { unreachable!() };
    choose_built_in(&mut harness, small.title);
    wait_for(&mut harness, "its run", |app| app.work.counts().is_some() && app.work.shown().volume().is_some());
    assert_eq!(harness.state().work.colouring().palette, Palette::InvertedGrey);
    assert!(harness.query_by_label("Filter: three-point").is_none() && harness.query_by_label("Race").is_some());
    let study = Arc::new(harness.state().work.study().unwrap().title.clone());
    assert!(study.contains("ylinder"), "{study}");
}
