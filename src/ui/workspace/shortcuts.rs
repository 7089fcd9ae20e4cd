//! Keyboard shortcuts, and the overlay that lists them.

use egui::{Key, KeyboardShortcut, Modifiers, RichText};
use strum::VariantArray as _;

use super::actions::Action;
use crate::operator::Accumulation;
use crate::ui::rois::action::{RoiAction, RoiEdit};
use crate::ui::run::action::RunAction;
use crate::ui::run::frames::series::FrameSeries;
use crate::ui::run::frames::slider::neighbour as neighbour_frame;
use crate::ui::run::scrubber::{ScrubberView, neighbour};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::tool::Tool;
use crate::ui::widgets::fields::push_if_clicked;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::widgets::picture_area::PictureArea;

/// Keyboard shortcut with its description and action.
struct Shortcut {
    keys: Vec<KeyboardShortcut>,
    text: &'static str,
    action: Action,
}

/// Shortcuts of one kind of work.
struct Group {
    title: &'static str,
    shortcuts: Vec<Shortcut>,
}

/// State that determines the actions of the keys.
pub struct KeysView<'a> {
    /// Stored iterates.
    pub scrubber: &'a ScrubberView<'a>,
    /// Series of time frames.
    pub frames: Option<&'a FrameSeries>,
    /// True if the run is paused or has ended.
    pub is_paused: bool,
    /// Normal axis of the slice that last contained the pointer.
    pub axis: usize,
    /// Comparison mode of the reference image.
    pub beside: CompareMode,
}

/// Returns all shortcuts.
fn groups(view: &KeysView) -> Vec<Group> {
    let with = |keys: &[(Modifiers, Key)], text, action| {
        let keys = keys.iter().map(|(modifiers, key)| KeyboardShortcut::new(*modifiers, *key)).collect();
        Shortcut { keys, text, action }
    };
    let shifted = Modifiers::COMMAND | Modifiers::SHIFT;
    let key = |key: Key, text, action| with(&[(Modifiers::NONE, key)], text, action);
    let command = |key: Key, text, action| with(&[(Modifiers::COMMAND, key)], text, action);
    let run = |action| Action::Run(action);
    let picture = |area| Action::Ask(FileTask::SavePicture(area));
    let roi = |edit| Action::Roi(RoiAction::Edit(edit));
    let step = |slices| Action::View(ViewAction::StepSlice(view.axis, slices));
    let iterate = |forward| {
        let ScrubberView { iterations, past, .. } = *view.scrubber;
        Action::Run(RunAction::ShowIterate(neighbour(iterations, past, forward)))
    };
    let is_pinned = view.scrubber.number.is_some_and(|number| view.scrubber.pinned.contains(&number));
    let ways = [
        "Atomic accumulation",
        "Non-atomic accumulation",
        "Deterministic accumulation",
        "Reload accumulation",
        "Random-order accumulation",
    ];
    // With a modifier: a stray digit must not select non-atomic accumulation.
    let numbers = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5];
    let accumulations = numbers.into_iter().zip(ways).zip(Accumulation::VARIANTS);
    let mut running = vec![
        command(Key::Enter, "Start, or start again", run(RunAction::Start)),
        key(Key::Space, "Pause or resume", run(if view.is_paused { RunAction::Resume } else { RunAction::Pause })),
        key(Key::S, "Single step", run(RunAction::Step)),
    ];
    let frame = |forward| view.frames.and_then(|series| neighbour_frame(series, forward));
    let frames = [(Key::Comma, "The frame before", frame(false)), (Key::Period, "The frame after", frame(true))];
    let frames = frames.into_iter().filter_map(|(name, text, to)| Some(key(name, text, run(RunAction::ShowFrame(to?)))));
    running.extend(accumulations.map(|((number, text), way)| command(number, text, run(RunAction::SetAccumulation(*way)))));
    vec![
        Group {
            title: "Files",
            shortcuts: vec![
                command(Key::O, "Open a study", Action::Ask(FileTask::OpenStudy)),
                with(&[(shifted, Key::S)], "Save the session", Action::Ask(FileTask::SaveSession)),
                command(Key::S, "Save the image", Action::Ask(FileTask::SaveImage)),
                with(&[(shifted, Key::P)], "Save a picture of the slices", picture(PictureArea::Slices)),
                command(Key::P, "Save a picture of the window", picture(PictureArea::Window)),
                command(Key::E, "Export the numbers", Action::Ask(FileTask::ExportCsv)),
            ],
        },
        Group { title: "Reconstruction", shortcuts: running },
        Group {
            title: "Past and comparison",
            shortcuts: frames
                .chain([
                    key(Key::ArrowLeft, "The iterate before", iterate(false)),
                    key(Key::ArrowRight, "The iterate after", iterate(true)),
                    key(Key::L, "Follow the newest iterate", run(RunAction::ShowIterate(None))),
                    key(Key::P, "Play the iterates", run(RunAction::Play(!view.scrubber.is_playing))),
                    key(Key::K, "Pin this iterate, or no longer", run(RunAction::Pin(!is_pinned))),
                    key(Key::C, "Next comparison mode", Action::View(ViewAction::SetBeside(view.beside.next()))),
                ])
                .collect(),
        },
        Group {
            title: "Slices",
            shortcuts: vec![
                key(Key::ArrowUp, "The slice before", step(-1)),
                key(Key::ArrowDown, "The slice after", step(1)),
                key(Key::PageUp, "Five slices back", step(-5)),
                key(Key::PageDown, "Five slices on", step(5)),
                key(Key::F, "Fit the object", Action::View(ViewAction::FitObject)),
                key(Key::Home, "The whole image", Action::View(ViewAction::Reset)),
            ],
        },
        Group {
            title: "Regions",
            shortcuts: vec![
                with(&[(shifted, Key::Z), (Modifiers::COMMAND, Key::Y)], "Redo", roi(RoiEdit::Redo)),
                command(Key::Z, "Undo", roi(RoiEdit::Undo)),
                command(Key::D, "Copy the selected one", roi(RoiEdit::CopySelected)),
                command(Key::M, "Mirror the selected one", roi(RoiEdit::MirrorSelected)),
                key(Key::Delete, "Delete the selected one", roi(RoiEdit::DeleteSelected)),
                key(Key::Escape, "Back to the crosshair", Action::View(ViewAction::SetTool(Tool::Crosshair))),
            ],
        },
        Group {
            title: "Help",
            shortcuts: vec![with(
                &[Key::F1, Key::Questionmark].map(|key| (Modifiers::NONE, key)),
                "This list",
                Action::ToggleHelp,
            )],
        },
    ]
}

/// Returns the actions of the pressed keys that no widget has used.
pub fn shortcut_actions(ctx: &egui::Context, view: &KeysView) -> Vec<Action> {
    let mut actions = Vec::new();
    ctx.input_mut(|input| {
        // A question mark needs Shift on most keyboards.
        input.events.iter_mut().for_each(|event| {
            if let egui::Event::Key { key: Key::Questionmark, modifiers, .. } = event {
                *modifiers = Modifiers::NONE;
            }
        });
        for Shortcut { keys, action, .. } in groups(view).into_iter().flat_map(|group| group.shortcuts) {
            for keys in keys {
                for _ in 0..input.count_and_consume_key(keys.modifiers, keys.logical_key) {
                    actions.push(action.clone());
                }
            }
        }
    });
    actions
}

/// Draws the overlay with all shortcuts.
pub fn help_ui(ctx: &egui::Context, view: &KeysView, actions: &mut Vec<Action>) {
    let is_escaped = modal_ui(ctx, "keys", "Keys", |ui| {
        egui::ScrollArea::vertical().max_height(0.7 * ctx.content_rect().height()).show(ui, |ui| {
            for group in groups(view) {
                ui.label(RichText::new(group.title).strong());
                egui::Grid::new(group.title).num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
                    for Shortcut { keys, text, .. } in group.shortcuts {
                        let keys: Vec<String> = keys.iter().map(|keys| ctx.format_shortcut(keys)).collect();
                        ui.label(RichText::new(keys.join(", ")).monospace());
                        ui.label(text);
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

    use super::*;

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
            bytes: [0; 2],
            shown: "",
            is_racy: false,
        };
        let view = KeysView { scrubber: &scrubber, frames: None, is_paused: false, axis: 2, beside: CompareMode::Off };
        let keys: Vec<KeyboardShortcut> =
            groups(&view).into_iter().flat_map(|group| group.shortcuts).flat_map(|shortcut| shortcut.keys).collect();
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{key:?}");
        }
    }
}
