//! Choice of the radical that is shown, above the slices.

use egui::{Button, Ui};

use crate::ui::layer::run_map::RunMap;
use crate::ui::layer::state::LayerState;
use crate::ui::workspace::state::{Request, request};

/// Opacity of a radical that is drawn together with the first.
const BLENDED: f32 = 0.5;

/// Draws the choice between the radicals of a run, whose displayed image is that of the first. `can_choose`: false for an earlier
/// iterate, which is stored of the first only.
pub fn radicals_ui(names: &[String], state: &LayerState, can_choose: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    let Some((first, others)) = names.split_first() else { return };
    let shown = if can_choose { state.radical } else { 0 };
    let is_alone = state.image.as_ref().is_none_or(|image| !matches!(image.map(), Some(RunMap::Radical(_))) || image.hides());
    ui.horizontal_wrapped(|ui| {
        ui.label("Radical:");
        let mut choice = |is_shown: bool, title: &str, help: &str, index: usize, opacity: f32| {
            let button = ui.add_enabled(can_choose, Button::selectable(is_shown, title)).on_hover_text(help);
            let why_not = format!("Earlier iterates are stored of {first} only; show the newest to choose");
            if button.on_disabled_hover_text(why_not).clicked() {
                requests.push(request(move |work| work.layer.show_radical(index, opacity)));
            }
        };
        let alone = "Shows the image of this radical alone";
        choice(shown == 0, first, alone, 0, 1.0);
        for (index, name) in (1..).zip(others) {
            choice(shown == index && is_alone, name, alone, index, 1.0);
        }
        for (index, name) in (1..).zip(others) {
            let help = "Draws the second radical over the first as the second image; order and opacity are set in the row below";
            choice(shown == index && !is_alone, &format!("{first} + {name}"), help, index, BLENDED);
        }
    });
}
