//! A question in front of everything else: nothing behind it can be clicked, and the keys are its own.

use egui::{Context, Id, Key, Modifiers, Response, RichText, Ui};

/// Width of a question, points.
const WIDTH: f32 = 400.0;

/// Draws a question; whether Escape was pressed. `contents` gives back the widget that has the focus unless another one of
/// the question has it: at the beginning, and whenever it would go to what lies behind.
pub fn modal_ui(ctx: &Context, id: &str, title: &str, contents: impl FnOnce(&mut Ui) -> Response) -> bool {
    let modal = egui::Modal::new(Id::unique(id)).show(ctx, |ui| {
        ui.set_width(WIDTH);
        ui.label(RichText::new(title).heading().strong());
        ui.add_space(4.0);
        let first = contents(ui);
        let focused = ctx.memory(|memory| memory.focused()).and_then(|id| ctx.read_response(id));
        if focused.is_none_or(|focused| focused.layer_id != ui.layer_id()) {
            first.request_focus();
        }
    });
    modal.is_top_modal && !modal.any_popup_open && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape))
}
