//! Keyboard shortcuts, and the overlay that lists them.

use egui::{Key, Modifiers, RichText};

use super::list::Group;
use crate::ui::widgets::fields::push_if_clicked;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::state::{Request, Workspace, request};

/// Requests the commands of the pressed keys that no widget has used.
pub fn shortcuts(ctx: &egui::Context, groups: &[Group], requests: &mut Vec<Request>) {
    ctx.input_mut(|input| {
        // A question mark needs Shift on most keyboards.
        input.events.iter_mut().for_each(|event| {
            if let egui::Event::Key { key: Key::Questionmark, modifiers, .. } = event {
                *modifiers = Modifiers::NONE;
            }
        });
        let commands = groups.iter().flat_map(|group| &group.commands);
        let mut pressed: Vec<_> = commands.flat_map(|command| command.keys.iter().map(move |keys| (keys, command))).collect();
        // A shortcut also matches with further modifiers: the one with the most comes first.
        pressed.sort_by_key(|(keys, _)| {
            let Modifiers { alt, shift, command, .. } = keys.modifiers;
            std::cmp::Reverse([alt, shift, command].into_iter().filter(|is_held| *is_held).count())
        });
        for (keys, command) in pressed {
            for _ in 0..input.count_and_consume_key(keys.modifiers, keys.logical_key) {
                requests.push(command.request());
            }
        }
    });
}

/// Draws the overlay with all shortcuts.
pub fn help_ui(ctx: &egui::Context, groups: &[Group], requests: &mut Vec<Request>) {
    let is_escaped = modal_ui(ctx, "keys", "Keys", |ui| {
        egui::ScrollArea::vertical().max_height(0.7 * ctx.content_rect().height()).show(ui, |ui| {
            for group in groups.iter().filter(|group| group.commands.iter().any(|command| !command.keys.is_empty())) {
                ui.label(RichText::new(group.title).strong());
                egui::Grid::new(group.title).num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
                    for Command { keys, text, .. } in group.commands.iter().filter(|command| !command.keys.is_empty()) {
                        let keys: Vec<String> = keys.iter().map(|keys| ctx.format_shortcut(keys)).collect();
                        ui.label(RichText::new(keys.join(", ")).monospace());
                        ui.label(&**text);
                        ui.end_row();
                    }
                });
                ui.add_space(4.0);
            }
        });
        ui.label("Ctrl + and Ctrl − zoom the interface, Ctrl 0 resets it.");
        push_if_clicked(ui.button("Close"), requests, request(Workspace::toggle_command_list))
    });
    if is_escaped || ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::F1)) {
        requests.push(request(Workspace::toggle_command_list));
    }
}
