//! Modal windows: they block everything behind them and receive all keys.

use egui::{Context, Id, Key, Modifiers, Response, RichText, Ui};

use super::fields::push_if_clicked;

/// Width of a modal window, points.
const WIDTH: f32 = 400.0;

/// Draws a modal window; returns true if Escape was pressed. `contents` returns the widget that receives the focus if no
/// widget of the window has it.
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

/// Draws a form as a modal window; returns true if the button `submit` (title, help) was clicked. This, "Close" and Escape
/// push `close`.
pub fn form_ui<A>(
    ctx: &Context,
    title: &str,
    text: &str,
    submit: (&str, &str),
    actions: &mut Vec<A>,
    close: fn() -> A,
    contents: impl FnOnce(&mut Ui, &mut Vec<A>),
) -> bool {
    let mut is_submitted = false;
    let is_escaped = modal_ui(ctx, title, title, |ui| {
        ui.add(egui::Label::new(text).wrap());
        ui.add_space(4.0);
        contents(ui, actions);
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let button = ui.button(submit.0);
            let button = if submit.1.is_empty() { button } else { button.on_hover_text(submit.1) };
            is_submitted = button.clicked();
            push_if_clicked(ui.button("Close"), actions, close());
            button
        })
        .inner
    });
    if is_escaped || is_submitted {
        actions.push(close());
    }
    is_submitted
}
