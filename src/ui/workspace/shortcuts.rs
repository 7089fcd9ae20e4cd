//! Keys, and the overlay that lists them.

use egui::{Key, KeyboardShortcut, Modifiers, RichText};
use strum::VariantArray as _;

use super::actions::Action;
use crate::operator::Accumulation;
use crate::ui::rois::action::RoiAction;
use crate::ui::run::action::RunAction;
use crate::ui::run::frame_series::FrameSeries;
use crate::ui::run::frame_slider::neighbour as neighbour_frame;
use crate::ui::run::scrubber::{ScrubberView, neighbour};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::tool::Tool;
use crate::ui::study::action::StudyAction;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::widgets::picture_area::PictureArea;

/// A key, what it does and what is asked for.
struct Shortcut {
    keys: Vec<KeyboardShortcut>,
    words: &'static str,
    action: Action,
}

/// Keys of one kind of work.
struct Group {
    title: &'static str,
    shortcuts: Vec<Shortcut>,
}

/// What the keys depend on.
pub struct KeysView<'a> {
    /// The iterates that are kept.
    pub scrubber: &'a ScrubberView<'a>,
    /// The frames that are reconstructed one after the other.
    pub frames: Option<&'a FrameSeries>,
    /// Whether the run holds or is over.
    pub is_paused: bool,
    /// The axis across the slice that the pointer was in last.
    pub axis: usize,
    /// How the image of the reference run is shown.
    pub beside: CompareMode,
}

/// All keys.
fn groups(view: &KeysView) -> Vec<Group> {
    let key = |key: Key, words, action| Shortcut { keys: vec![KeyboardShortcut::new(Modifiers::NONE, key)], words, action };
    let command =
        |key: Key, words, action| Shortcut { keys: vec![KeyboardShortcut::new(Modifiers::COMMAND, key)], words, action };
    let run = |action| Action::Run(action);
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
    // With a modifier: a stray digit must not make a run lose additions.
    let numbers = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5];
    let accumulations = numbers.into_iter().zip(ways).zip(Accumulation::VARIANTS);
    let redo =
        [KeyboardShortcut::new(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z), KeyboardShortcut::new(Modifiers::COMMAND, Key::Y)];
    let mut running = vec![
        command(Key::Enter, "Start, or start again", run(RunAction::Start)),
        key(Key::Space, "Pause or resume", run(if view.is_paused { RunAction::Resume } else { RunAction::Pause })),
        key(Key::S, "Single step", run(RunAction::Step)),
    ];
    let frame = |forward| view.frames.and_then(|series| neighbour_frame(series, forward));
    let frames = [(Key::Comma, "The frame before", frame(false)), (Key::Period, "The frame after", frame(true))];
    let frames = frames.into_iter().filter_map(|(name, words, to)| Some(key(name, words, run(RunAction::ShowFrame(to?)))));
    running.extend(accumulations.map(|((number, words), way)| command(number, words, run(RunAction::SetAccumulation(*way)))));
    vec![
        Group {
            title: "Files",
            shortcuts: vec![
                command(Key::O, "Open a study", Action::Study(StudyAction::AskForFile)),
                Shortcut {
                    keys: vec![KeyboardShortcut::new(Modifiers::COMMAND | Modifiers::SHIFT, Key::S)],
                    words: "Save the session",
                    action: Action::Study(StudyAction::AskSaveSession),
                },
                command(Key::S, "Save the image", run(RunAction::AskSaveImage)),
                Shortcut {
                    keys: vec![KeyboardShortcut::new(Modifiers::COMMAND | Modifiers::SHIFT, Key::P)],
                    words: "Save a picture of the slices",
                    action: Action::SavePicture(PictureArea::Slices),
                },
                command(Key::P, "Save a picture of the window", Action::SavePicture(PictureArea::Window)),
                command(Key::E, "Export the numbers", Action::Roi(RoiAction::AskExport)),
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
                Shortcut { keys: redo.into(), words: "Redo", action: Action::Roi(RoiAction::Redo) },
                command(Key::Z, "Undo", Action::Roi(RoiAction::Undo)),
                command(Key::D, "Copy the selected one", Action::Roi(RoiAction::CopySelected)),
                command(Key::M, "Mirror the selected one", Action::Roi(RoiAction::MirrorSelected)),
                key(Key::Delete, "Delete the selected one", Action::Roi(RoiAction::DeleteSelected)),
                key(Key::Escape, "Back to the crosshair", Action::View(ViewAction::SetTool(Tool::Crosshair))),
            ],
        },
        Group {
            title: "Help",
            shortcuts: vec![Shortcut {
                keys: vec![
                    KeyboardShortcut::new(Modifiers::NONE, Key::F1),
                    KeyboardShortcut::new(Modifiers::NONE, Key::Questionmark),
                ],
                words: "This list",
                action: Action::ToggleHelp,
            }],
        },
    ]
}

/// Keys that work wherever nothing else takes them.
pub fn shortcut_actions(ctx: &egui::Context, view: &KeysView) -> Vec<Action> {
    let mut actions = Vec::new();
    ctx.input_mut(|input| {
        // A question mark needs Shift on most keyboards, and comes as text too.
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

/// The overlay.
pub fn help_ui(ctx: &egui::Context, view: &KeysView, actions: &mut Vec<Action>) {
    let is_escaped = modal_ui(ctx, "keys", "Keys", |ui| {
        egui::ScrollArea::vertical().max_height(0.7 * ctx.content_rect().height()).show(ui, |ui| {
            for group in groups(view) {
                ui.label(RichText::new(group.title).strong());
                egui::Grid::new(group.title).num_columns(2).spacing([16.0, 2.0]).show(ui, |ui| {
                    for Shortcut { keys, words, .. } in group.shortcuts {
                        let keys: Vec<String> = keys.iter().map(|keys| ctx.format_shortcut(keys)).collect();
                        ui.label(RichText::new(keys.join(", ")).monospace());
                        ui.label(words);
                        ui.end_row();
                    }
                });
                ui.add_space(4.0);
            }
        });
        ui.label("Ctrl + and Ctrl − zoom the interface, Ctrl 0 resets it.");
        let close = ui.button("Close");
        if close.clicked() {
            actions.push(Action::ToggleHelp);
        }
        close
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
