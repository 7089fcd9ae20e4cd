//! Frames of a dynamic list: typed, reconstructed one after the other, looked at in time, measured over time.

use std::collections::BTreeMap;
use std::path::Path;

use egui::accesskit::Role;
use egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::session::RunId;
use tomoscope::ui::{App, RunState, Source};

use super::drop_file;
use super::enter;
use super::list;
use super::picture::{menu, save_as};
use super::restore::{next_day, save_session};
use super::{choose_built_in, click, give_up_unsaved, renderer, small_study, wait_for, window_on};

const SIZE: [f32; 2] = [1400.0, 1100.0];

/// The window on a list of ten seconds, with a region, in which these frames were typed.
fn window_with_frames(folder: &Path, frames: &str) -> Option<Harness<'static, App>> {
    let mut harness = window_on(renderer()?, SIZE, Theme::Dark, false, Source::file(list(folder)));
    wait_for(&mut harness, "the list", |app| app.work.list().is_some());
    click(&mut harness, "Regions");
    click(&mut harness, "Add sphere");
    harness.get_by_role_and_label(Role::TextInput, "Frames").scroll_to_me();
    harness.run_steps(3);
    enter(&mut harness, "Frames", frames);
    Some(harness)
}

fn set_iterations(harness: &mut Harness<'_, App>, number: f64) {
    harness.get_by_role_and_label(Role::SpinButton, "Iterations").set_value_accesskit(number);
    harness.run_steps(2);
}

/// Which frames are done, and their runs.
fn done(app: &App) -> Vec<(usize, RunId)> {
    app.work.frames().unwrap().done().iter().map(|(place, frame)| (*place, frame.live.run)).collect()
}

fn is_over(app: &App) -> bool {
    app.work.frames().is_some_and(|series| series.is_over())
}

/// Run and iteration of the image on the screen.
fn shown(harness: &Harness<'_, App>) -> (RunId, usize) {
    let id = harness.state().work.shown().id().unwrap();
    (id.run, id.iteration)
}

fn slide(harness: &mut Harness<'_, App>, slider: &str, to: f64) {
    harness.get_by_role_and_label(Role::Slider, slider).set_value_accesskit(to);
    harness.run_steps(3);
}

/// The values of the curves of a table, by their names.
fn curves(path: &Path) -> BTreeMap<String, Vec<[f64; 2]>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut curves: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        if let [.., x, y] = fields.as_slice()
            && let (Ok(x), Ok(y)) = (x.parse(), y.parse())
        {
            let name = fields[..fields.len() - 2].join(",").trim_matches('"').to_owned();
            curves.entry(name).or_default().push([x, y]);
        }
    }
    curves
}

#[test]
fn frames_are_reconstructed_one_after_the_other_and_looked_at_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = window_with_frames(folder.path(), "2x2,1x4") else { return };
    click(&mut harness, "Rates");
    assert!(harness.query_by_label("Plot: counts per second in 3 frames").is_some());
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the series", is_over);
    assert_eq!(done(harness.state()), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(harness.state().work.kept_runs().count(), 0, "frames are not kept as runs to compare");
    // Each in the same window; the last lasts twice as long as the others and has twice the counts.
    let mut seen = Vec::new();
    for (place, words) in ["Frame 1 of 3, 0–2 s", "Frame 2 of 3, 2–4 s", "Frame 3 of 3, 4–8 s"].into_iter().enumerate() {
        slide(&mut harness, "Frame", place as f64);
        assert!(harness.query_by_label(words).is_some(), "{words}");
        assert_eq!(shown(&harness), (place as RunId + 1, 3));
        seen.push((harness.state().work.shown().volume().unwrap().sum(), harness.state().work.colouring().window));
    }
    assert!(seen.iter().all(|(_, window)| *window == seen[2].1), "{seen:?}");
    // Far below 1, the value of the uniform start image.
    let largest = harness.state().work.shown().volume().unwrap().as_slice().iter().copied().fold(0.0, f32::max);
    assert!(largest < 0.5 && seen[2].1[1] <= largest, "{largest} {seen:?}");
    assert!((seen[2].0 / seen[0].0 - 2.0).abs() < 0.1 && (seen[1].0 / seen[0].0 - 1.0).abs() < 0.05, "{seen:?}");
    // The iterate that is chosen is chosen in all frames.
    slide(&mut harness, "Iterate", 0.0);
    assert_eq!(shown(&harness), (3, 1));
    click(&mut harness, "Frame before");
    assert_eq!(shown(&harness), (2, 1));
    harness.key_press(Key::Comma);
    harness.run_steps(3);
    assert_eq!(shown(&harness), (1, 1));
    assert!(harness.get_by_label("Frame before").accesskit_node().is_disabled());
    harness.key_press(Key::Period);
    harness.run_steps(3);
    assert!(harness.query_by_label("frame 2 of 3, 2–4 s: iteration 1").is_some());
    click(&mut harness, "Live");
    assert_eq!(shown(&harness), (3, 3));
    click(&mut harness, "Play frames");
    assert_eq!(shown(&harness).0, 1);
    wait_for(&mut harness, "the last frame", |app| app.work.shown().id().is_some_and(|id| id.run == 3));
    // A further start begins the frames anew and keeps nothing of these.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second series", is_over);
    assert_eq!(done(harness.state()), [(0, 4), (1, 5), (2, 6)]);
    assert!(harness.get_by_label("Pause").accesskit_node().is_disabled() && harness.query_by_label("Continue").is_none());
}

#[test]
fn regions_are_followed_over_the_frames() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = window_with_frames(folder.path(), "0-2,50-60,2-4,4-8") else { return };
    click(&mut harness, "Activity");
    assert!(harness.query_by_label_contains("Set the frames").is_some());
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the series", is_over);
    // The second has no events, which is told; the others go on.
    assert_eq!(done(harness.state()).into_iter().map(|(place, _)| place).collect::<Vec<_>>(), [0, 2, 3]);
    assert!(harness.state().work.notices().texts().any(|text| text.contains("frame 2 of 4, 50–60 s, has no event")));
    click(&mut harness, "Regions");
    click(&mut harness, "Add sphere");
    let names: Vec<String> = harness.state().work.document().rois.iter().map(|roi| roi.name.clone()).collect();
    let is_measured = |app: &App| {
        let mut frames = app.work.frames().unwrap().done().values();
        frames.all(|frame| {
            let branch = frame.live.rois.newest().unwrap();
            branch
                .points
                .values()
                .next_back()
                .is_some_and(|point| point.sums.len() == 2 && point.sums.iter().all(Option::is_some))
        })
    };
    wait_for(&mut harness, "the new region in all frames", is_measured);
    click(&mut harness, "Activity");
    assert!(harness.query_by_label_contains("not corrected for decay").is_some());
    menu(&mut harness, "Plot: time–activity curves");
    click(&mut harness, "Save plot…");
    let path = folder.path().join("activity.csv");
    save_as(&mut harness, &path);
    let curves = curves(&path);
    for name in &names {
        let points = &curves[name];
        assert_eq!(points.iter().map(|point| point[0]).collect::<Vec<_>>(), [1.0, 3.0, 6.0]);
        let mean = points.iter().map(|point| point[1]).sum::<f64>() / 3.0;
        assert!(mean > 0.0 && points.iter().all(|point| (point[1] / mean - 1.0).abs() < 0.2), "{points:?}");
        assert_eq!(curves[&format!("{name}, SD between voxels")].len(), 3);
    }
    assert_eq!(curves.len(), 4, "{curves:?}");
}

#[test]
fn limits_inside_time_blocks_are_moved_and_told() {
    let folder = tempfile::tempdir().unwrap();
    // The list has blocks of a tenth of a second.
    let Some(mut harness) = window_with_frames(folder.path(), "0-2.04,2.04-4") else { return };
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the series", is_over);
    let notices: Vec<&str> = harness.state().work.notices().texts().collect();
    assert!(notices.iter().any(|text| text.contains("0–2.04 s becomes 0–2 s, 2.04–4 s becomes 2–4 s")), "{notices:?}");
    let durations: Vec<u64> = harness.state().work.frames().unwrap().frames().iter().map(|frame| frame.duration_ms).collect();
    assert_eq!(durations, [2000, 2000]);
    assert!(harness.query_by_label("Frame 2 of 2, 2–4 s").is_some());
}

#[test]
fn a_series_ends_when_it_is_stopped_or_left() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = window_with_frames(folder.path(), "5x2") else { return };
    set_iterations(&mut harness, 100.0);
    click(&mut harness, "Start");
    wait_for(&mut harness, "the first frame", |app| app.work.frames().is_some_and(|series| !series.done().is_empty()));
    click(&mut harness, "Stop and keep image");
    wait_for(&mut harness, "the end of the series", is_over);
    let stopped = done(harness.state());
    assert!((1..5).contains(&stopped.len()) && stopped[0] == (0, 1), "{stopped:?}");
    slide(&mut harness, "Frame", 0.0);
    assert_eq!(shown(&harness), (1, 100));
    assert!(harness.query_by_label("Continue").is_none(), "its frames would no longer be alike");
    // What is no frame, or of another time, is refused before anything is lost.
    enter(&mut harness, "Frames", ",9-8");
    click(&mut harness, "Restart");
    assert!(harness.state().work.notices().texts().any(|text| text.contains("'9-8' is not a frame")));
    assert_eq!(done(harness.state()), stopped);
    // Another study while one runs.
    harness.get_by_role_and_label(Role::TextInput, "Frames").focus();
    harness.run_steps(2);
    (0..4).for_each(|_| harness.key_press(Key::Backspace));
    harness.run_steps(3);
    click(&mut harness, "Restart");
    wait_for(&mut harness, "another run", |app| {
        app.work.live().run > stopped.len() as RunId + 1 && app.work.live().state == RunState::Running
    });
    choose_built_in(&mut harness, "Small cylinder, small ring");
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the other study", |app| app.work.counts().is_some());
    harness.run_steps(20);
    assert!(harness.state().work.frames().is_none() && harness.state().work.live().run == 0);
    assert!(harness.query_by_role_and_label(Role::Slider, "Frame").is_none());
    assert!(harness.query_by_role_and_label(Role::TextInput, "Frames").is_none());
}

#[test]
fn a_session_brings_the_frames_back_and_reconstructs_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = window_with_frames(folder.path(), "2x5") else { return };
    click(&mut harness, "Start");
    wait_for(&mut harness, "the end of the series", is_over);
    let path = folder.path().join("work.session");
    save_session(&mut harness, &path);
    assert!(std::fs::read_to_string(&path).unwrap().contains("frames = \"2x5\""));
    let Some(mut other) = next_day(small_study(), Default::default()) else { return };
    wait_for(&mut other, "a run", |app| app.work.live().is_measured());
    drop_file(&mut other, &path);
    give_up_unsaved(&mut other);
    wait_for(&mut other, "the same frames", |app| app.work.list().is_some() && is_over(app));
    assert_eq!(other.state().work.frames().unwrap().done().len(), 2);
    let [before, after] = [&harness, &other].map(|window| window.state().work.shown().volume().unwrap());
    assert!(before == after);
}

#[test]
fn whatever_is_wished_a_series_ends_with_images_of_all_that_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = window_with_frames(folder.path(), "4x2") else { return };
    set_iterations(&mut harness, 8.0);
    let buttons = [
        "Start",
        "Restart",
        "Restart",
        "Pause",
        "Resume",
        "Step",
        "Stop and keep image",
        "Frame before",
        "Frame after",
        "Play frames",
        "Live",
        "Play",
        "Activity",
        "Regions",
        "Rates",
    ];
    let mut random = 20_260_611u32;
    let mut choose = |of: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % of
    };
    for _ in 0..150 {
        match choose(buttons.len() + 3) {
            wish if wish < buttons.len() => {
                let button = harness.query_by_role_and_label(Role::Button, buttons[wish]);
                if button.is_some_and(|button| !button.accesskit_node().is_disabled()) {
                    click(&mut harness, buttons[wish]);
                }
            }
            wish => {
                let slider = ["Frame", "Iterate", "Frame"][wish - buttons.len()];
                if harness.query_by_role_and_label(Role::Slider, slider).is_some() {
                    slide(&mut harness, slider, choose(4) as f64);
                }
            }
        }
        (0..choose(6)).for_each(|_| harness.step());
        let app = harness.state();
        if let Some(series) = app.work.frames() {
            assert!(series.done().values().all(|frame| !frame.live.state.is_active() && frame.live.is_measured()));
            assert!(series.done().values().all(|frame| frame.live.run <= app.work.live().run));
        }
    }
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the end of the last series", is_over);
    let last = done(harness.state());
    assert_eq!(last.len(), 4);
    for (place, run) in last {
        slide(&mut harness, "Frame", place as f64);
        assert_eq!(shown(&harness).0, run);
    }
}
