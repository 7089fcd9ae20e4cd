//! What goes on from one study to the next, and the labels of what changes numbers.

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::render::Palette;
use tomoscope::session::EndReason;
use tomoscope::ui::{App, RunState};

use super::{choose_built_in, click, finished, small_study, wait_for};
use tomoscope::ui::Source;

const SIZE: [f32; 2] = [1400.0, 900.0];

fn set(harness: &mut Harness<'_, App>, label: &str, value: f64) {
    harness.get_by_role_and_label(Role::SpinButton, label).set_value_accesskit(value);
    harness.run_steps(3);
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

fn title_of_small() -> &'static str {
    let Source::BuiltIn(small) = small_study() else { unreachable!() };
    small.title
}

/// Opens the small study once more, and waits for its run.
fn open_again(harness: &mut Harness<'_, App>, run: u64) {
    choose_built_in(harness, title_of_small());
    wait_for(harness, "the run of the next study", |app| app.work.live().run >= run && app.work.is_run_over());
}

#[test]
fn a_study_begins_without_filter_rules_and_calibration_of_the_one_before() {
    let Some(mut harness) = finished(SIZE, Theme::Light) else { return };
    click(&mut harness, "Palette: Inverted grey");
    click(&mut harness, "Hot iron");
    set(&mut harness, "Calibration, Bq/mL per count/mm", 1000.0);
    set(&mut harness, "Post-filter FWHM", 6.0);
    wait_for(&mut harness, "the filtered image", |app| app.work.shown().filter_mm() == Some(6.0));
    // (The curves say so, too.)
    harness.get_by_role_and_label(Role::Button, "unfiltered").click();
    harness.run_steps(3);
    click(&mut harness, "Stop automatically");
    click(&mut harness, "NSR above");
    // Every image is noisier than that: a run would stop after its first iteration.
    set(&mut harness, "Largest NSR", 0.001);
    let chips =
        ["Post-filter 6.0 mm", "Measured: unfiltered image", "Stops automatically: NSR above 0.001 %", "1 count/mm = 1000 Bq/mL"];
    for chip in chips {
        assert!(has(&harness, chip), "{chip}");
    }
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the run that a rule stops", |app| app.work.live().run == 2 && app.work.is_run_over());
    assert_eq!(harness.state().work.live().state, RunState::Ended(EndReason::Stopped));
    assert!(harness.state().work.reference().is_some());

    open_again(&mut harness, 3);
    let app = harness.state();
    assert_eq!((app.work.live().state, app.work.shown().filter_mm()), (RunState::Ended(EndReason::Completed), None));
    assert!(app.work.reference().is_none() && app.work.kept_runs().next().is_none());
    assert_eq!(app.work.colouring().palette, Palette::HotIron);
    for chip in chips {
        assert!(!has(&harness, chip), "{chip} is of the study before");
    }
    let value = |label: &str| harness.get_by_role_and_label(Role::SpinButton, label).value().unwrap();
    assert_eq!(value("Calibration, Bq/mL per count/mm"), "none");
    assert!(has(&harness, "Stop automatically") && !has(&harness, "Measure on"));
    assert!(value("Post-filter FWHM").starts_with('0'));

    // The runs of a study count from 1.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "the second run of this study", |app| app.work.live().run == 4 && app.work.is_run_over());
    assert_eq!(harness.state().work.reference().unwrap().text(), "run 1");
}

#[test]
fn a_chip_leads_to_its_setting() {
    let Some(mut harness) = finished([1400.0, 700.0], Theme::Dark) else { return };
    set(&mut harness, "Post-filter FWHM", 4.0);
    wait_for(&mut harness, "the filtered image", |app| app.work.shown().filter_mm() == Some(4.0));
    click(&mut harness, "Post-filter 4.0 mm");
    harness.run_steps(3);
    assert!(harness.get_by_role_and_label(Role::SpinButton, "Post-filter FWHM").is_focused());
    // One that stands in another tab, in a closed part of the panel.
    // (The curves say so, too.)
    harness.get_by_role_and_label(Role::Button, "unfiltered").click();
    harness.run_steps(3);
    click(&mut harness, "Race");
    assert!(!has(&harness, "Measure on"));
    click(&mut harness, "Measured: unfiltered image");
    assert!(has(&harness, "Measure on"));
    harness.check_accessibility();
}
