//! Keys.

use strum::VariantArray as _;

use super::actions::Action;
use crate::operator::Accumulation;
use crate::ui::rois::action::RoiAction;
use crate::ui::run::action::RunAction;
use crate::ui::run::scrubber::{ScrubberView, neighbour};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::tool::Tool;

/// Keys that work wherever nothing else takes them.
pub fn shortcut_actions(ctx: &egui::Context, view: &ScrubberView, is_paused: bool, axis: usize) -> Vec<Action> {
    use egui::{Key, KeyboardShortcut, Modifiers};
    let mut actions = Vec::new();
    let undo = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
    let redo =
        [KeyboardShortcut::new(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z), KeyboardShortcut::new(Modifiers::COMMAND, Key::Y)];
    ctx.input_mut(|input| {
        for shortcut in &redo {
            if input.consume_shortcut(shortcut) {
                actions.push(Action::Roi(RoiAction::Redo));
            }
        }
        if input.consume_shortcut(&undo) {
            actions.push(Action::Roi(RoiAction::Undo));
        }
        for (with_command, action) in [(Key::D, RoiAction::CopySelected), (Key::M, RoiAction::MirrorSelected)] {
            if input.consume_shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, with_command)) {
                actions.push(Action::Roi(action));
            }
        }
        let mut key = |key: Key, action: Action| {
            for _ in 0..input.count_and_consume_key(Modifiers::NONE, key) {
                actions.push(action.clone());
            }
        };
        key(Key::Space, Action::Run(if is_paused { RunAction::Resume } else { RunAction::Pause }));
        key(Key::S, Action::Run(RunAction::Step));
        let numbers = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5];
        for (number, accumulation) in numbers.into_iter().zip(Accumulation::VARIANTS) {
            key(number, Action::Run(RunAction::SetAccumulation(*accumulation)));
        }
        for (arrow, slices) in [(Key::ArrowUp, -1), (Key::ArrowDown, 1), (Key::PageUp, -5), (Key::PageDown, 5)] {
            key(arrow, Action::View(ViewAction::StepSlice(axis, slices)));
        }
        for (arrow, forward) in [(Key::ArrowLeft, false), (Key::ArrowRight, true)] {
            key(arrow, Action::Run(RunAction::ShowIterate(neighbour(view.iterations, view.past, forward))));
        }
        key(Key::F, Action::View(ViewAction::FitObject));
        key(Key::Home, Action::View(ViewAction::Reset));
        key(Key::Escape, Action::View(ViewAction::SetTool(Tool::Crosshair)));
        key(Key::Delete, Action::Roi(RoiAction::DeleteSelected));
    });
    actions
}
