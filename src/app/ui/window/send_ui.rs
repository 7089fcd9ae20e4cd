//! Form of a DICOM series to send, drawn.

use egui::{Context, TextEdit};

use crate::ui::widgets::fields::anonymise_ui;
use crate::ui::widgets::modal::form_ui;
use crate::ui::workspace::files::send_form::SendForm;
use crate::ui::workspace::state::{Request, Workspace, anonymise, request};

pub fn send_ui(form: &SendForm, is_anonymous: bool, ctx: &Context, requests: &mut Vec<Request>) {
    let mut edited = form.clone();
    let text = format!("All DICOM files of {}. The connection is not encrypted.", form.folder.display());
    let submit = ("Send", "Send to this node");
    let close = || request(|work| work.files.dialogs.send = None);
    let (mut closing, mut setting) = (Vec::new(), None);
    let is_submitted = form_ui(ctx, "Send a DICOM series", &text, submit, &mut closing, close, |ui, _| {
        egui::Grid::new("node").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
            let fields = [
                ("AE title", &mut edited.title),
                ("Host", &mut edited.host),
                ("Port", &mut edited.port),
                ("Own AE title", &mut edited.calling),
            ];
            for (label, value) in fields {
                let label = ui.label(label);
                ui.add(TextEdit::singleline(value).desired_width(200.0)).labelled_by(label.id);
                ui.end_row();
            }
        });
        setting = anonymise_ui(is_anonymous, ui);
        if let Err(problem) = edited.node() {
            ui.label(problem);
        }
    });
    requests.extend(setting.map(anonymise));
    if edited != *form {
        let form = edited.clone();
        requests.push(request(|work| work.files.dialogs.send = Some(form)));
    }
    // The form stays open for a node that is none.
    match is_submitted {
        true if edited.node().is_err() => {}
        true => requests.push(request(Workspace::send_series)),
        false => requests.append(&mut closing),
    }
}
