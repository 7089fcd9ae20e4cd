//! Keyboard shortcuts, and the overlay that lists them.

use egui::{Key, Modifiers, RichText};

use super::list::{Command, CommandsView, groups};
use crate::ui::widgets::fields::push_if_clicked;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::actions::Action;

/// Returns the actions of the pressed keys that no widget has used.
pub fn shortcut_actions(ctx: &egui::Context, view: &CommandsView) -> Vec<Action> {
    let mut actions = Vec::new();
    ctx.input_mut(|input| {
        // A question mark needs Shift on most keyboards.
        input.events.iter_mut().for_each(|event| {
            if let egui::Event::Key { key: Key::Questionmark, modifiers, .. } = event {
                *modifiers = Modifiers::NONE;
            }
        });
        let commands = groups(view).into_iter().flat_map(|group| group.commands);
        let mut pressed: Vec<_> =
            commands.flat_map(|Command { keys, action, .. }| keys.into_iter().map(move |keys| (keys, action.clone()))).collect();
        // A shortcut also matches with further modifiers: the one with the most comes first.
        pressed.sort_by_key(|(keys, _)| {
            let Modifiers { alt, shift, command, .. } = keys.modifiers;
            std::cmp::Reverse([alt, shift, command].into_iter().filter(|is_held| *is_held).count())
        });
        for (keys, action) in pressed {
            for _ in 0..input.count_and_consume_key(keys.modifiers, keys.logical_key) {
                actions.push(action.clone());
            }
        }
    });
    actions
}

/// Draws the overlay with all shortcuts.
pub fn help_ui(ctx: &egui::Context, view: &CommandsView, actions: &mut Vec<Action>) {
    let is_escaped = modal_ui(ctx, "keys", "Keys", |ui| {
        egui::ScrollArea::vertical().max_height(0.7 * ctx.content_rect().height()).show(ui, |ui| {
            for group in groups(view) {
                ui.label(RichText::new(group.title).strong());
                egui::Grid::new(group.title).num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
                    for Command { keys, text, .. } in group.commands.into_iter().filter(|command| !command.keys.is_empty()) {
                        let keys: Vec<String> = keys.iter().map(|keys| ctx.format_shortcut(keys)).collect();
                        ui.label(RichText::new(keys.join(", ")).monospace());
                        ui.label(&*text);
                        ui.end_row();
                    }
                });
                ui.add_space(4.0);
            }
        });
        ui.label("Ctrl + and Ctrl − zoom the interface, Ctrl 0 resets it.");
        push_if_clicked(ui.button("Close"), actions, Action::ToggleHelp)
    });
    if is_escaped || ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::F1)) {
        actions.push(Action::ToggleHelp);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use egui::KeyboardShortcut;

    use super::*;
    use crate::data::RoiPlane;
    use crate::render::Palette;
    use crate::ui::run::scrubber::ScrubberView;
    use crate::ui::slices::comparison::CompareMode;

    #[test]
    fn no_key_does_two_things() {
        let pinned = BTreeSet::new();
        let scrubber = ScrubberView {
            iterations: &[],
            past: None,
            run: 1,
            reference: None,
            pinned: &pinned,
            number: None,
            is_playing: false,
            shown: "",
            is_racy: false,
        };
        let view = CommandsView {
            scrubber: &scrubber,
            frames: None,
            is_paused: false,
            plane: RoiPlane::Transaxial,
            voxel_mm: [1.0; 3],
            beside: CompareMode::Off,
            palette: Palette::default(),
            usual_palette: Palette::default(),
            panes: Vec::new(),
        };
        let keys: Vec<KeyboardShortcut> =
            groups(&view).into_iter().flat_map(|group| group.commands).flat_map(|command| command.keys).collect();
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{key:?}");
        }
    }
}
