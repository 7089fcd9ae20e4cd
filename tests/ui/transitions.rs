//! From one study or run to the next: nothing of one ever stands under another's names.

use std::sync::Arc;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::io::{Correction, write_projections};
use tomoscope::phantom::{self, SimulationOptions};
use tomoscope::plan::DeviceChoice;
use tomoscope::scanner;
use tomoscope::session::{EndReason, Trace};
use tomoscope::task::Task;
use tomoscope::ui::{App, AppOptions, BUILT_IN, BuiltIn, Curves, Measured, RunState, Source};

use super::{cache, choose_built_in, click, give_up_unsaved, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 900.0];
/// Colour of the first region's curve.
const FIRST_COLOUR: [u8; 3] = [214, 88, 30];

/// Hot and cold spheres on the small ring.
fn spheres() -> Source {
    let measured = Measured::Counts { scanner: "small", counts: 1e6, size: None, attenuation: false, background_fraction: 0.0 };
    Source::BuiltIn(BuiltIn { title: "Spheres", phantom: "nema-iq-2001", measured })
}

fn opened(start: Source) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Light, false, start);
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some() || app.work.acquisition().is_some());
    Some(harness)
}

/// A study, opened and reconstructed.
fn reconstructed(start: Source) -> Option<Harness<'static, App>> {
    let mut harness = opened(start)?;
    reconstruct(&mut harness);
    Some(harness)
}

fn reconstruct(harness: &mut Harness<'_, App>) {
    click(harness, if has(harness, "Start") { "Start" } else { "Restart" });
    let next = harness.state().work.live().run;
    wait_for(harness, "a run", |app| app.work.live().run == next && next > 0);
    wait_for(harness, "the end of the run", |app| app.work.live().state == RunState::Ended(EndReason::Completed));
}

fn small_title() -> &'static str {
    let Source::BuiltIn(small) = small_study() else { unreachable!() };
    small.title
}

/// The mean of the first region as the table writes it.
fn first_mean(app: &App) -> String {
    let volume = app.work.shown().volume().unwrap();
    let sums = app.work.document().rois[0].mask(&volume.grid).sums(volume.as_slice());
    let mean = sums.sum / sums.weight;
    format!("{mean:.*}", (3 - mean.abs().log10().floor() as i32).max(0) as usize)
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label(label).next().is_some()
}

fn is_disabled(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.get_by_label(label).accesskit_node().is_disabled()
}

/// Pixels of a plot in the colour of the first region.
fn coloured_pixels(harness: &mut Harness<'_, App>, plot: &str) -> usize {
    let rect = harness.get_by_label(plot).rect();
    let picture = harness.render().unwrap();
    let is_inside = |x: u32, y: u32| rect.contains(egui::pos2(x as f32, y as f32));
    let is_like = |pixel: &[u8]| pixel.iter().zip(FIRST_COLOUR).all(|(a, b)| a.abs_diff(b) < 12);
    picture.enumerate_pixels().filter(|(x, y, pixel)| is_inside(*x, *y) && is_like(&pixel.0[..3])).count()
}

/// The window shows a study of which nothing was reconstructed yet, and nothing of another one.
fn assert_nothing_is_shown(harness: &Harness<'_, App>, earlier_means: &[String]) {
    let app = harness.state();
    assert!(app.work.shown().volume().is_none() && app.work.shown().id().is_none());
    assert_eq!(app.work.curves(), &Curves::default());
    assert_eq!((app.work.live().run, app.work.live().state), (0, RunState::Idle));
    for mean in earlier_means {
        assert!(!has(harness, mean), "the mean {mean} of the study before is in the table");
    }
    for roi in &app.work.document().rois {
        assert!(has(harness, &roi.name), "{}", roi.name);
    }
    assert!(app.work.document().rois.is_empty() || has(harness, "–"), "what is not known yet is a dash");
    assert!(has(harness, "Press Start to reconstruct."));
    assert!(!has(harness, "Iterate"), "there is no past to go back to");
    assert!(harness.query_by_label_contains("Plot: profile, ").is_some());
    assert!(is_disabled(harness, "Export CSV…") && is_disabled(harness, "Save image…"));
}

#[test]
fn numbers_and_curves_of_a_study_end_with_it() {
    let Some(mut harness) = reconstructed(spheres()) else { return };
    let before = first_mean(harness.state());
    assert!(has(&harness, &before) && !is_disabled(&harness, "Export CSV…"));
    assert!(!harness.state().work.curves().recovery.is_empty());
    assert!(coloured_pixels(&mut harness, "Plot: contrast recovery") > 20);
    // While the next is simulated the first stays whole.
    choose_built_in(&mut harness, small_title());
    wait_for(&mut harness, "the other study", |app| app.work.document().rois.len() != 14 && app.work.shown().volume().is_none());
    assert_nothing_is_shown(&harness, std::slice::from_ref(&before));
    assert_eq!(coloured_pixels(&mut harness, "Plot: contrast recovery"), 0);
    for tab in ["Time", "Race", "Regions"] {
        click(&mut harness, tab);
        assert!(!has(&harness, "Plot: time of each stage") && !has(&harness, "Plot: image level"), "{tab}");
    }
    // Its own numbers come with its own run, and the curves are of its regions.
    reconstruct(&mut harness);
    let own = first_mean(harness.state());
    assert!(has(&harness, &own) && !is_disabled(&harness, "Export CSV…"));
    let names: Vec<_> = harness.state().work.document().rois.iter().map(|roi| roi.name.clone()).collect();
    let curves = harness.state().work.curves();
    assert!(curves.nsr.iter().chain(&curves.recovery).all(|series| names.contains(&series.name)), "{names:?}");
}

#[test]
fn events_of_a_run_whose_study_has_gone_are_ignored() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("trace");
    let trace = Trace::to_file(&log).unwrap();
    let device = DeviceChoice::Cpu;
    let options = AppOptions {
        start: spheres(),
        autostart: false,
        device,
        num_iterations: None,
        for_pictures: true,
        desktop_dialogs: false,
        cache: cache(),
        trace,
    };
    let builder: HarnessBuilder<App> = Harness::builder().with_size(SIZE).renderer(renderer);
    let mut harness = builder.build_eframe(|creation| App::new(creation, options));
    wait_for(&mut harness, "the study", |app| app.work.counts().is_some());
    harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "Iterations").set_value_accesskit(9000.0);
    harness.run_steps(3);
    click(&mut harness, "Start");
    wait_for(&mut harness, "some iterations", |app| app.work.live().last.as_ref().is_some_and(|last| last.iteration > 4));
    assert!(has(&harness, "Iterate"));
    choose_built_in(&mut harness, small_title());
    wait_for(&mut harness, "the other study", |app| app.work.live().run == 0);
    // Cancelled, the run publishes its last image and says that it has ended.
    let has_ended = || std::fs::read_to_string(&log).unwrap().contains("run_ended");
    wait_for(&mut harness, "the end of the cancelled run", |_| has_ended());
    assert_nothing_is_shown(&harness, &[]);
}

#[test]
fn counts_and_sweeps_follow_each_other_with_nothing_left_behind() {
    let Some(mut harness) = reconstructed(spheres()) else { return };
    let of_counts = first_mean(harness.state());
    let sweep = BUILT_IN.iter().find(|study| matches!(study.measured, Measured::Sweep { .. })).unwrap();
    choose_built_in(&mut harness, sweep.title);
    wait_for(&mut harness, "the sweep", |app| app.work.acquisition().is_some());
    click(&mut harness, "Regions");
    assert_nothing_is_shown(&harness, std::slice::from_ref(&of_counts));
    click(&mut harness, "Means");
    assert!(has(&harness, "Plot: means") && !has(&harness, "Plot: log-likelihood"));
    click(&mut harness, "Profile");
    reconstruct(&mut harness);
    let of_sweep = first_mean(harness.state());
    assert!(!harness.state().work.curves().mean.is_empty() && harness.state().work.curves().log_likelihood.is_empty());
    choose_built_in(&mut harness, small_title());
    wait_for(&mut harness, "the counts", |app| app.work.counts().is_some());
    assert_nothing_is_shown(&harness, &[of_counts, of_sweep]);
    click(&mut harness, "Likelihood");
    assert!(!has(&harness, "Plot: means") && has(&harness, "Plot: log-likelihood"));
}

#[test]
fn a_study_that_does_not_come_leaves_the_open_one_whole() {
    let Some(mut harness) = reconstructed(spheres()) else { return };
    let mean = first_mean(harness.state());
    let curves = harness.state().work.curves().clone();
    let assert_whole = |harness: &Harness<'_, App>| {
        assert!(has(harness, &mean) && has(harness, "Iterate") && has(harness, "iteration 3"));
        assert_eq!(harness.state().work.curves(), &curves);
        assert!(!is_disabled(harness, "Export CSV…") && !is_disabled(harness, "Save image…"));
    };
    let field = harness.get_by_role(egui::accesskit::Role::TextInput);
    field.focus();
    field.type_text("/nowhere/scan.hs");
    harness.run_steps(2);
    click(&mut harness, "Read");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the notice", |app| app.work.notices().texts().any(|text| text.contains("/nowhere/scan.hs")));
    assert_whole(&harness);
    // The first built-in study takes a while to simulate.
    choose_built_in(&mut harness, BUILT_IN[0].title);
    assert_whole(&harness);
    click(&mut harness, "Cancel loading");
    assert!(!has(&harness, "Cancel loading"));
    harness.run_steps(10);
    assert_whole(&harness);
}

#[test]
fn a_scan_corrected_otherwise_keeps_its_regions_and_none_of_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
    let phantom = phantom::by_name("cylinder", &geometry).unwrap();
    let options = SimulationOptions { counts: 1e5, attenuation: true, ..SimulationOptions::default() };
    let study = phantom::simulate(&phantom, geometry, &options, &Task::new()).unwrap();
    let scan = folder.path().join("scan.hs");
    write_projections(&scan, &study.measured.prompts).unwrap();
    write_projections(&Correction::Multiplicative.path_beside(&scan), study.measured.multiplicative.as_ref().unwrap()).unwrap();
    let Some(mut harness) = opened(Source::file(scan)) else { return };
    click(&mut harness, "Add sphere");
    reconstruct(&mut harness);
    let mean = first_mean(harness.state());
    assert!(has(&harness, &mean));
    click(&mut harness, "without multiplicative");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "no factors", |app| app.work.counts().is_some_and(|counts| counts.multiplicative.is_none()));
    assert_eq!(harness.state().work.document().rois.len(), 1);
    assert_nothing_is_shown(&harness, &[mean]);
}

#[test]
fn a_restart_keeps_the_run_before_with_its_curves_until_it_is_dismissed() {
    let Some(mut harness) = reconstructed(small_study()) else { return };
    let first = (harness.state().work.live().run, harness.state().work.live().steps.clone());
    reconstruct(&mut harness);
    let app = harness.state();
    assert_eq!(app.work.live().run, first.0 + 1);
    assert_eq!(app.work.live().steps.len(), first.1.len(), "it has the settings of the first");
    let kept: Vec<_> = app.work.kept_runs().map(|live| (live.run, live.steps.clone())).collect();
    assert_eq!(kept, std::slice::from_ref(&first));
    assert_eq!(app.work.kept_runs().next().map(|live| live.state), Some(RunState::Ended(EndReason::Completed)));
    // Alike but for nothing: the same settings make the same image.
    wait_for(&mut harness, "the comparison", |app| app.work.live().found.comparisons.len() == 3);
    let found: Vec<_> = harness.state().work.live().found.comparisons.values().copied().collect();
    assert!(found.iter().all(|found| found.relative_difference == 0.0), "{found:?}");
    click(&mut harness, "Compare");
    click(&mut harness, &format!("Dismiss run {}", first.0));
    assert!(harness.state().work.kept_runs().next().is_none());
    // Of another study none is kept.
    reconstruct(&mut harness);
    assert_eq!(harness.state().work.kept_runs().count(), 1);
    choose_built_in(&mut harness, small_title());
    wait_for(&mut harness, "the study", |app| app.work.kept_runs().next().is_none());
}

#[test]
fn a_run_again_with_other_settings_is_compared_at_once() {
    let Some(mut harness) = reconstructed(small_study()) else { return };
    click(&mut harness, "Repeat run with…");
    harness.get_by_role_and_label(Role::Button, "Subsets").click();
    harness.run_steps(3);
    click(&mut harness, "1 (MLEM)");
    wait_for(&mut harness, "the second run", |app| app.work.live().run == 2 && app.work.is_run_over());
    wait_for(&mut harness, "the comparison", |app| app.work.live().found.comparisons.len() == 3);
    // What differs is told beside each other, and nothing else.
    for words in ["run 2", "run 1", "Algorithm", "MLEM", "OSEM", "Subsets"] {
        assert!(harness.query_all_by_label(words).next().is_some(), "{words} is not in the table");
    }
    assert!(!has(&harness, "Projector • "));
    harness.get_by_label("Plot: correlation");
    harness.get_by_label("Plot: relative difference");
    let found = harness.state().work.live().found.comparisons.values().next_back().copied().unwrap();
    assert!(found.correlation < 1.0 && found.relative_difference > 0.0, "{found:?}");
    harness.check_accessibility();
}
