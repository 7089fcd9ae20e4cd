//! Tubes of response in the window: made beside a run, given up, made again, reconstructed with, looked at.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::data::{TubeSampling, TubeSet};
use tomoscope::io::saved_tubes::write_tubes;
use tomoscope::operator::Accumulation;
use tomoscope::scanner;
use tomoscope::session::EndReason;
use tomoscope::ui::{App, BUILT_IN, RunState};

use super::{choose_built_in, click, renderer, small_study, tube_folder, wait_for, window_on};
use super::{close, drop_file};

const SIZE: [f32; 2] = [1400.0, 1400.0];
const DERENZO: &str = "Derenzo on VrPET";

/// The window on the small study, nothing started, and then on the rotating heads.
fn on_vrpet() -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, false, small_study());
    wait_for(&mut harness, "the small study", |app| app.work.counts().is_some());
    choose_built_in(&mut harness, DERENZO);
    wait_for(&mut harness, "the scan of rotating heads", |app| is_on(app, "tomoscope VrPET"));
    Some(harness)
}

fn is_on(app: &App, scanner: &str) -> bool {
    app.work.counts().is_some_and(|counts| counts.geometry().scanner == scanner)
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label_contains(label).next().is_some()
}

fn set_number(harness: &mut Harness<'_, App>, label: &str, value: f64) {
    harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
    harness.run_steps(3);
}

/// Asks for so many million annihilations.
fn make_tubes(harness: &mut Harness<'_, App>, millions: f64) {
    click(harness, "Make tubes…");
    set_number(harness, "Annihilations, millions", millions);
    click(harness, "Make");
    assert!(!has(harness, "Make tubes of response"), "the question is still there");
}

fn tells(app: &App, text: &str) -> bool {
    app.work.notices().texts().any(|notice| notice.contains(text))
}

/// The image after one iteration of a run from the start.
fn one_iteration(harness: &mut Harness<'_, App>) -> Vec<f32> {
    set_number(harness, "Iterations", 1.0);
    click(harness, if harness.query_by_label("Start").is_some() { "Start" } else { "Restart" });
    let run = harness.state().work.live().run;
    wait_for(harness, "an iteration", |app| app.work.live().run == run && app.work.is_run_over());
    harness.state().work.shown().volume().unwrap().as_slice().to_vec()
}

#[test]
fn tubes_are_made_beside_a_run_given_up_made_again_and_change_the_image() {
    let Some(mut harness) = on_vrpet() else { return };
    // The middle of the image alone: few lines cross it.
    set_number(&mut harness, "Voxels x", 15.0);
    set_number(&mut harness, "Voxels y", 15.0);
    let of_lines = one_iteration(&mut harness);
    // Given up while the run goes on.
    make_tubes(&mut harness, 1e6);
    wait_for(&mut harness, "some progress", |app| app.work.awaits_tubes());
    assert!(has(&harness, "Making tubes"));
    let done = harness.state().work.live().progress().0;
    set_number(&mut harness, "Iterations", 1000.0);
    click(&mut harness, "Continue");
    wait_for(&mut harness, "steps meanwhile", |app| app.work.live().progress().0 > done + 1 && app.work.awaits_tubes());
    click(&mut harness, "Cancel tubes");
    assert!(!harness.state().work.awaits_tubes() && harness.state().work.tubes().is_none());
    click(&mut harness, "Make tubes…");
    click(&mut harness, "Close");
    assert!(!harness.state().work.awaits_tubes());
    // Made.
    make_tubes(&mut harness, 0.05);
    wait_for(&mut harness, "the tubes", |app| app.work.tubes().is_some());
    assert!(has(&harness, "Projector: tubes") && has(&harness, "F-18, super-LORs of 3 × 3"));
    let of_tubes = one_iteration(&mut harness);
    assert_eq!(harness.state().work.live().info.as_ref().unwrap().projector, "tubes");
    assert_eq!(of_lines.len(), of_tubes.len());
    assert_ne!(of_lines, of_tubes);
    assert!(of_tubes.iter().any(|value| *value > 0.0) && of_tubes.iter().all(|value| value.is_finite()));
    // Each voxel is added to by one thread: there is no race to choose.
    for (name, can) in [("non-atomic", false), ("atomic", false), (Accumulation::Deterministic.name(), true)] {
        assert_eq!(harness.get_by_role_and_label(Role::RadioButton, name).accesskit_node().is_disabled(), !can, "{name}");
    }
    // Looked at.
    click(&mut harness, "Tube");
    for picture in ["Picture: sums of the tubes", "Picture: tube, From above: across, mm", "Picture: tube, cut across"] {
        harness.get_by_label(picture);
    }
    assert!(has(&harness, "Bin 0 from the axis (0.0 mm), ring difference 0"));
    let map = harness.get_by_label("Picture: sums of the tubes").rect();
    harness.hover_at(map.center());
    harness.step();
    harness.drag_at(map.center());
    harness.step();
    harness.drop_at(map.center());
    harness.run_steps(4);
    let selected = harness.state().work.tubes().unwrap().selected();
    assert!(selected[0] > 5 && selected[1] > 5, "{selected:?}");
    assert!(has(&harness, &format!("Bin {} from the axis", selected[0])));
    harness.check_accessibility();
}

#[test]
fn a_start_that_makes_its_own_tubes_tells_how_far_they_are_and_can_be_stopped_meanwhile() {
    let Some(mut harness) = on_vrpet() else { return };
    let coarse = || -> Vec<PathBuf> {
        let kept = fs::read_dir(tube_folder()).into_iter().flatten().map(|file| file.unwrap().path());
        kept.filter(|path| path.to_str().unwrap().contains("-10000000-seed1-6x5x9-")).collect()
    };
    coarse().iter().for_each(|path| fs::remove_file(path).unwrap());
    click(&mut harness, "Projector: auto");
    click(&mut harness, "tubes");
    for start in ["Start", "Restart", "Step"] {
        click(&mut harness, start);
        wait_for(&mut harness, "some progress", |app| {
            app.work.live().making().is_some_and(|(_, part, remaining)| part > 0.0 && remaining.is_some())
        });
        assert!(has(&harness, "Making tubes: ") && has(&harness, "setting up · making tubes: "));
        click(&mut harness, "Stop and keep image");
        wait_for(&mut harness, "the end", |app| app.work.live().state == RunState::Ended(EndReason::Cancelled));
        assert!(!has(&harness, "aking tubes") && harness.state().work.live().info.is_none(), "after {start}");
    }
    assert_eq!(coarse(), Vec::<PathBuf>::new(), "they were made to the end");
}

#[test]
fn tubes_on_their_way_end_with_the_study_that_they_are_for() {
    let Some(mut harness) = on_vrpet() else { return };
    make_tubes(&mut harness, 1e6);
    assert!(harness.state().work.awaits_tubes());
    // The window asks before it closes, and goes on with them.
    assert!(!close(&mut harness));
    assert!(has(&harness, "gives up the tubes of response that are being made") && !has(&harness, "Save…"));
    click(&mut harness, "Cancel");
    assert!(harness.state().work.awaits_tubes());
    // A study of the same scanner keeps them on their way, one of another does not.
    choose_built_in(&mut harness, DERENZO);
    wait_for(&mut harness, "the same study", |app| !app.work.is_loading());
    assert!(harness.state().work.awaits_tubes());
    let small = BUILT_IN[BUILT_IN.len() - 1].title;
    choose_built_in(&mut harness, small);
    wait_for(&mut harness, "the small study", |app| is_on(app, "tomoscope small"));
    assert!(!harness.state().work.awaits_tubes() && tells(harness.state(), "are no longer made"));
    assert!(!has(&harness, "Make tubes…") && harness.query_by_label("Tube").is_none());
    click(&mut harness, "Projector: auto");
    assert!(harness.get_by_label("tubes").accesskit_node().is_disabled());
}

#[test]
fn a_file_of_tubes_goes_to_the_study_that_it_fits() {
    let Some(mut harness) = on_vrpet() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.tubes");
    let geometry = &scanner::find("vrpet").unwrap().geometry;
    let sampling = TubeSampling::of(geometry);
    let num = sampling.num_coefficients().unwrap();
    let tubes = TubeSet::new(geometry.scanner.clone(), sampling, vec![0.1; num]).unwrap();
    // Of another scanner.
    write_tubes(&path, &TubeSet { scanner: "another".into(), ..tubes.clone() }).unwrap();
    drop_file(&mut harness, &path);
    wait_for(&mut harness, "the refusal", |app| tells(app, "the tubes are those of another"));
    assert!(harness.state().work.tubes().is_none() && is_on(harness.state(), "tomoscope VrPET"));
    write_tubes(&path, &tubes).unwrap();
    drop_file(&mut harness, &path);
    wait_for(&mut harness, "the tubes", |app| app.work.tubes().is_some());
    assert_eq!(harness.state().work.tubes().unwrap().set, Arc::new(tubes));
    assert!(has(&harness, "Projector: tubes") && has(&harness, "from a file without its simulation settings"));
    // They do not go with the next study.
    choose_built_in(&mut harness, BUILT_IN[BUILT_IN.len() - 1].title);
    wait_for(&mut harness, "the small study", |app| is_on(app, "tomoscope small"));
    assert!(harness.state().work.tubes().is_none() && tells(harness.state(), "of the previous study discarded"));
    drop_file(&mut harness, &path);
    wait_for(&mut harness, "the refusal", |app| tells(app, "the tubes are those of tomoscope VrPET, the data of"));
}
