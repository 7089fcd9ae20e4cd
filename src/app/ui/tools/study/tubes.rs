//! Tubes of response in the study panel: their description, progress, and buttons for other ones.

use egui::{RichText, Ui};

use super::edit;
use crate::session::{Producer, TubeSource};
use crate::ui::study::open::open_tubes::OpenTubes;
use crate::ui::study::tube_form::TubeForm;
use crate::ui::widgets::fields::button;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::format;
use crate::ui::workspace::state::{Request, ask};

/// Draws the description of the tubes and the buttons for other ones, or the progress of making them. `show_timings`: true
/// if times are shown.
pub fn tubes_ui(
    tubes: Option<&OpenTubes>,
    maker: Option<&Producer<TubeSource>>,
    show_timings: bool,
    ui: &mut Ui,
    requests: &mut Vec<Request>,
) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Tubes").weak());
        let text = tubes.map_or_else(|| "none yet: a coarse set is used".to_owned(), OpenTubes::text);
        ui.label(text).on_hover_text(
            "Tubes of response: the sensitivity of crystal pairs around a line. The projector tubes uses them; without any it simulates a coarse set within seconds",
        );
    });
    if let Some(maker) = maker {
        return under_way_ui(maker, show_timings, ui, requests);
    }
    ui.horizontal(|ui| {
        let make = edit(|study| study.tube_form = Some(TubeForm::default()));
        button(ui, "Make tubes…", "Simulate tubes of response for this scanner", requests, make);
        let open = ask(FileTask::OpenTubes);
        button(ui, "Open tubes…", "Tubes of response from a file (.tubes)", requests, open);
    });
}

fn under_way_ui(maker: &Producer<TubeSource>, show_timings: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (verb, fraction) = match maker.source() {
        TubeSource::Simulation { .. } => ("Making tubes", maker.fraction()),
        TubeSource::File(_) => ("Reading tubes", None),
    };
    let text = format::under_way(verb, fraction, maker.remaining().filter(|_| show_timings));
    let bar = egui::ProgressBar::new(fraction.unwrap_or(0.0)).animate(fraction.is_none()).text(text);
    ui.add(bar);
    let cancel = edit(|study| (study.tube_maker, study.starts_when_made) = (None, false));
    button(ui, "Cancel tubes", "Give up the tubes that are on their way", requests, cancel);
}
