//! The tubes of response of the open counts in the study panel: which they are, and ways to others.

use egui::{RichText, Ui};

use super::action::StudyAction;
use super::open::open_tubes::OpenTubes;
use crate::session::{Producer, TubeSource};
use crate::ui::widgets::format;

/// Which tubes there are, those on their way, and the buttons. `show_timings` = whether times are told.
pub fn tubes_ui(
    tubes: Option<&OpenTubes>,
    maker: Option<&Producer<TubeSource>>,
    show_timings: bool,
    ui: &mut Ui,
    actions: &mut Vec<StudyAction>,
) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Tubes").weak());
        let words = tubes.map_or_else(|| "none yet: a coarse set is used".to_owned(), OpenTubes::text);
        ui.label(words).on_hover_text(
            "Tubes of response: the sensitivity of crystal pairs around a line. The projector tubes uses them; without any it simulates a coarse set within seconds",
        );
    });
    if let Some(maker) = maker {
        return under_way_ui(maker, show_timings, ui, actions);
    }
    ui.horizontal(|ui| {
        if ui.button("Make tubes…").on_hover_text("Simulate tubes of response for this scanner").clicked() {
            actions.push(StudyAction::AskToMakeTubes);
        }
        if ui.button("Open tubes…").on_hover_text("Tubes of response from a file (.tubes)").clicked() {
            actions.push(StudyAction::AskForTubes);
        }
    });
}

fn under_way_ui(maker: &Producer<TubeSource>, show_timings: bool, ui: &mut Ui, actions: &mut Vec<StudyAction>) {
    let (verb, fraction) = match maker.source() {
        TubeSource::Simulation { .. } => ("Making tubes", maker.fraction()),
        TubeSource::File(_) => ("Reading tubes", None),
    };
    let words = format::under_way(verb, fraction, maker.remaining().filter(|_| show_timings));
    let bar = egui::ProgressBar::new(fraction.unwrap_or(0.0)).animate(fraction.is_none()).text(words);
    ui.add(bar);
    if ui.button("Cancel tubes").on_hover_text("Give up the tubes that are on their way").clicked() {
        actions.push(StudyAction::CancelTubes);
    }
}
