//! Question about unsaved work.

use egui::Context;

use crate::ui::widgets::fields::button;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::persistence::unsaved_work::UnsavedQuestion;
use crate::ui::workspace::state::{Request, Workspace, request};

pub fn unsaved_ui(question: &UnsavedQuestion, ctx: &Context, requests: &mut Vec<Request>) {
    let (title, text) = question.text();
    let is_escaped = modal_ui(ctx, "unsaved work", title, |ui| {
        ui.add(egui::Label::new(text).wrap());
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let mut answer =
                |name: &str, help: &str, answer: fn(&mut Workspace)| button(ui, name, help, requests, request(answer));
            let save = question.can_save().then(|| answer("Save…", "Save it first", Workspace::save_unsaved));
            let discard = answer("Don't save", "Continues without saving", Workspace::proceed_confirmed);
            answer("Cancel", "Keeps the study open (Esc)", Workspace::stay);
            save.unwrap_or(discard)
        })
        .inner
    });
    requests.extend(is_escaped.then(|| request(Workspace::stay)));
}
