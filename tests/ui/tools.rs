//! Every table of the window at three sizes, in both themes: it opens by its command, its tab lies in the window, and all that can be
//! used has a name.

use std::collections::BTreeSet;

use egui::{Key, Modifiers, Rect, Theme, Vec2};
use egui_kittest::kittest::Queryable as _;
use tomoscope::ui::{App, BUILT_IN, BuiltIn, Measured, Source};

use super::{renderer, small_study, type_text, wait_for, window_on};

/// Returns the first built-in study with a measurement of a kind.
fn built_in(has: impl Fn(&Measured) -> bool) -> Source {
    Source::BuiltIn(BUILT_IN.iter().find(|study| has(&study.measured)).unwrap().clone())
}

#[test]
fn every_table_opens_at_three_sizes_in_both_themes() {
    let sizes = [[1000.0, 700.0], [1400.0, 900.0], [2200.0, 1300.0]];
    let views = sizes.into_iter().flat_map(|size| [Theme::Dark, Theme::Light].map(|theme| (size, theme)));
    let studies = [
        small_study(),
        built_in(|measured| matches!(measured, Measured::Sweep { .. })),
        built_in(|measured| matches!(measured, Measured::Spectra { .. })),
        built_in(|measured| matches!(measured, Measured::Oxygen { .. })),
    ];
    let mut opened = BTreeSet::new();
    for study in studies {
        for (size, theme) in views.clone() {
            let Some(renderer) = renderer() else { return };
            // (A run finds out that there is a spectrum in each voxel.)
            let starts = matches!(&study, Source::BuiltIn(BuiltIn { measured: Measured::Spectra { .. }, .. }));
            let mut harness = window_on(renderer, size, theme, starts, study.clone());
            wait_for(&mut harness, "the study", |app: &App| app.work.study().is_some() && (!starts || app.work.is_run_over()));
            let screen = Rect::from_min_size(egui::Pos2::ZERO, Vec2::from(size));
            for title in harness.state().table_titles() {
                harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
                harness.run_steps(2);
                type_text(&mut harness, &format!("Show {title}"));
                harness.key_press(Key::Enter);
                harness.run_steps(3);
                assert!(harness.query_by_label("Command").is_none(), "{title}: the search is open");
                let tabs = harness.query_all_by_label(title).map(|node| node.rect());
                assert!(tabs.into_iter().any(|tab| screen.contains_rect(tab)), "{title} of {size:?}");
                harness.check_accessibility();
                opened.insert(title);
            }
        }
    }
    assert!(opened.len() >= 9, "{opened:?}");
}
