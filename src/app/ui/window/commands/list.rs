//! Commands of the whole window. The list of keys, the search for commands and the menu of layouts come from this list and from the
//! commands of the tools.

use egui::{Key, Modifiers};
use strum::VariantArray as _;

use crate::operator::Accumulation;
use crate::render::Palette;
use crate::ui::rois::action::RoiEdit;
use crate::ui::run::reference::ReferenceChoice;
use crate::ui::run::run_view::RunView;
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::tool::Tool;
use crate::ui::widgets::file_task::{FileTask, Film, NemaStandard};
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::panes::arrangement::Arrangement;
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::state::Workspace;

/// Commands of one kind of work.
pub struct Group {
    pub title: &'static str,
    pub commands: Vec<Command>,
}

/// Factor of the size of a region by one key press.
const RESIZE_FACTOR: f64 = 1.05;

const SHIFTED: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };

/// Returns the commands of the window; `panes`: those that the study has, with their titles.
pub fn groups(panes: &[(Pane, &'static str)]) -> Vec<Group> {
    vec![
        Group { title: "Files", commands: files() },
        Group { title: "Reconstruction", commands: reconstruction() },
        Group { title: "Past and comparison", commands: past() },
        Group { title: "Slices", commands: slices() },
        Group { title: "Regions", commands: regions() },
        Group { title: "Layout", commands: layout(panes) },
        Group {
            title: "Help",
            commands: vec![
                Command::ctrl(Key::K, "Search commands", Workspace::toggle_search),
                Command::new(
                    &[Key::F1, Key::Questionmark].map(|key| (Modifiers::NONE, key)),
                    "This list",
                    Workspace::toggle_command_list,
                ),
                Command::named("Notices", |work| work.notices.toggle_list()),
                Command::named("Light or dark theme", |work| work.toggle_theme()),
            ],
        },
    ]
}

fn files() -> Vec<Command> {
    let ask = |task| move |work: &mut Workspace| _ = work.ask(task);
    let picture = |area| ask(FileTask::SavePicture(area));
    vec![
        Command::ctrl(Key::O, "Open a study", ask(FileTask::OpenStudy)),
        Command::named("Follow a file while it is written", ask(FileTask::Follow)),
        Command::named("Add a second image", ask(FileTask::OpenLayer)),
        Command::new(&[(SHIFTED, Key::S)], "Save the session", ask(FileTask::SaveSession)),
        Command::ctrl(Key::S, "Save the image", ask(FileTask::SaveImage)),
        Command::named("Send a DICOM series", ask(FileTask::SendSeries)),
        Command::new(&[(SHIFTED, Key::P)], "Save a picture of the slices", picture(PictureArea::Slices)),
        Command::ctrl(Key::P, "Save a picture of the window", picture(PictureArea::Window)),
        Command::named("Film of the rotating projection", ask(FileTask::SaveFilm(Film::Rotation))),
        Command::named("Film of the iterates or images", ask(FileTask::SaveFilm(Film::Iterates))),
        Command::named("Film of the time frames", ask(FileTask::SaveFilm(Film::Frames))),
        Command::ctrl(Key::E, "Export the numbers", ask(FileTask::ExportCsv)),
    ]
}

fn reconstruction() -> Vec<Command> {
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
    let pause = |work: &mut Workspace| if work.live().is_running() { work.pause() } else { work.resume() };
    let mut running = vec![
        Command::ctrl(Key::Enter, "Start, or start again", Workspace::start_run),
        Command::key(Key::Space, "Pause or resume", pause),
        Command::key(Key::S, "Single step", Workspace::step),
        Command::named("Continue with more iterations", Workspace::continue_run),
        Command::named("Stop and keep image", Workspace::stop),
        Command::named("Default settings for the next run", Workspace::reset_form),
    ];
    running.extend(accumulations.map(|((number, text), way)| Command::ctrl(number, text, |work| work.set_accumulation(*way))));
    running
}

fn past() -> Vec<Command> {
    let iterate = |forward| move |work: &mut Workspace| work.show_iterate(work.run().neighbour(forward));
    let frame = |key, text, forward| {
        let neighbour = move |work: &Workspace| work.frames()?.neighbour(forward);
        let show = move |work: &mut Workspace| neighbour(work).into_iter().for_each(|index| work.show_frame(index));
        Command::key(key, text, show).when(move |work| neighbour(work).is_some())
    };
    let number = |run: &RunView| run.shown_number().filter(|_| !run.selects_frame());
    let this = move |work: &mut Workspace| {
        let (run, number) = (work.run().live.run, number(work.run()));
        work.set_reference(Some(ReferenceChoice { run, number }));
    };
    let compare = |how: CompareMode| {
        Command::named(format!("Compare: {}", <&str>::from(how)), move |work| work.apply_view(ViewAction::SetBeside(how)))
    };
    [
        frame(Key::Comma, "The frame before", false),
        frame(Key::Period, "The frame after", true),
        Command::key(Key::ArrowLeft, "The iterate before", iterate(false)),
        Command::key(Key::ArrowRight, "The iterate after", iterate(true)),
        Command::key(Key::L, "Follow the newest iterate", |work| work.show_iterate(None)),
        Command::key(Key::P, "Play the iterates", Workspace::toggle_play),
        Command::key(Key::K, "Pin this iterate, or no longer", Workspace::toggle_pin),
        Command::key(Key::C, "Next comparison mode", |work| {
            work.apply_view(ViewAction::SetBeside(work.slices.view.beside.next()));
        }),
        Command::key(Key::R, "Use this iterate as reference", this).when(move |work| number(work.run()).is_some()),
        Command::named("No reference", |work| work.set_reference(None)),
    ]
    .into_iter()
    .chain(CompareMode::VARIANTS.iter().copied().map(compare))
    .collect()
}

/// Sets inverted grey; where it is shown, the palette for PET.
fn invert(work: &mut Workspace) {
    let colouring = work.colouring();
    let is_inverted = colouring.palette == Palette::InvertedGrey;
    let back = Some(colouring.usual_palette).filter(|usual| *usual != Palette::InvertedGrey).unwrap_or(Palette::HotIron);
    work.apply_view(ViewAction::SetPalette(if is_inverted { back } else { Palette::InvertedGrey }));
}

/// Direction in the plane of the slice that last contained the pointer.
#[derive(Clone, Copy)]
enum Direction {
    Across,
    Down,
    Normal,
}

impl Direction {
    fn axis(self, work: &Workspace) -> usize {
        let ([across, down], normal) = work.slices.active_plane.axes();
        match self {
            Direction::Across => across,
            Direction::Down => down,
            Direction::Normal => normal,
        }
    }
}

fn slices() -> Vec<Command> {
    use Direction::{Across, Down, Normal};
    let step = |direction: Direction, slices| {
        move |work: &mut Workspace| work.apply_view(ViewAction::StepSlice(direction.axis(work), slices))
    };
    let moved = |name, text, direction, slices| Command::new(&[(Modifiers::ALT, name)], text, step(direction, slices));
    let view = |action: ViewAction| move |work: &mut Workspace| work.apply_view(action.clone());
    let tools = Tool::VARIANTS
        .iter()
        .map(|tool| Command::named(format!("Tool: {}", tool.name().to_lowercase()), view(ViewAction::SetTool(*tool))));
    [
        Command::key(Key::ArrowUp, "The slice before", step(Normal, -1)),
        Command::key(Key::ArrowDown, "The slice after", step(Normal, 1)),
        Command::key(Key::PageUp, "Five slices back", step(Normal, -5)),
        Command::key(Key::PageDown, "Five slices on", step(Normal, 5)),
        moved(Key::ArrowLeft, "Crosshair left", Across, -1),
        moved(Key::ArrowRight, "Crosshair right", Across, 1),
        moved(Key::ArrowUp, "Crosshair up", Down, -1),
        moved(Key::ArrowDown, "Crosshair down", Down, 1),
        Command::key(Key::F, "Fit the object", view(ViewAction::FitObject)),
        Command::key(Key::I, "Inverted grey, or back", invert),
        Command::key(Key::Home, "The whole image", view(ViewAction::Reset)),
        Command::named("Full window of values", view(ViewAction::FullWindow)),
        Command::named("Lock the window of values", view(ViewAction::LockWindow)),
        Command::key(Key::Escape, "Back to the crosshair", view(ViewAction::SetTool(Tool::Crosshair))),
    ]
    .into_iter()
    .chain(tools)
    .collect()
}

fn regions() -> Vec<Command> {
    use Direction::{Across, Down, Normal};
    let edit = |edit: RoiEdit| move |work: &mut Workspace| work.edit_rois(edit.clone());
    let moved = |name, text, direction: Direction, sign: f64| {
        Command::new(&[(Modifiers::SHIFT, name)], text, move |work: &mut Workspace| {
            let (axis, mut by_mm) = (direction.axis(work), [0.0; 3]);
            by_mm[axis] = sign * work.run().grid_shown().map_or(1.0, |grid| grid.voxel_mm[axis]);
            work.edit_rois(RoiEdit::MoveSelected(by_mm));
        })
    };
    let nema = |standard| move |work: &mut Workspace| work.place_nema(standard);
    vec![
        Command::new(&[(SHIFTED, Key::Z), (Modifiers::COMMAND, Key::Y)], "Redo", edit(RoiEdit::Redo)),
        Command::ctrl(Key::Z, "Undo", edit(RoiEdit::Undo)),
        Command::key(Key::A, "Add a sphere at the crosshair", Workspace::add_sphere),
        Command::key(Key::N, "Select the next one", edit(RoiEdit::SelectNext)),
        moved(Key::ArrowLeft, "Move the selected one left", Across, -1.0),
        moved(Key::ArrowRight, "Move the selected one right", Across, 1.0),
        moved(Key::ArrowUp, "Move the selected one up", Down, -1.0),
        moved(Key::ArrowDown, "Move the selected one down", Down, 1.0),
        moved(Key::PageUp, "Move the selected one to the slice before", Normal, -1.0),
        moved(Key::PageDown, "Move the selected one to the slice after", Normal, 1.0),
        Command::key(Key::OpenBracket, "Make the selected one smaller", edit(RoiEdit::ResizeSelected(1.0 / RESIZE_FACTOR))),
        Command::key(Key::CloseBracket, "Make the selected one larger", edit(RoiEdit::ResizeSelected(RESIZE_FACTOR))),
        Command::ctrl(Key::D, "Copy the selected one", edit(RoiEdit::CopySelected)),
        Command::ctrl(Key::M, "Mirror the selected one", edit(RoiEdit::MirrorSelected)),
        Command::key(Key::Delete, "Delete the selected one", edit(RoiEdit::DeleteSelected)),
        Command::named("Load regions", |work| _ = work.ask(FileTask::LoadRois)),
        Command::named("Save regions", |work| _ = work.ask(FileTask::SaveRois)),
        Command::named("Reset to the study's regions", Workspace::take_rois_from_study),
        Command::named("NEMA NU 2 template", nema(NemaStandard::Body)),
        Command::named("NEMA NU 4 template", nema(NemaStandard::SmallAnimal)),
    ]
}

/// Returns the commands of the arrangements.
pub fn arrangements() -> impl Iterator<Item = (Arrangement, Command)> {
    let keys = [Key::F2, Key::F3, Key::F4, Key::F6, Key::F7];
    Arrangement::VARIANTS
        .iter()
        .zip(keys)
        .map(|(arrangement, key)| (*arrangement, Command::key(key, arrangement.name(), |work| work.arrange(*arrangement))))
}

fn layout(panes: &[(Pane, &'static str)]) -> Vec<Command> {
    let shown =
        panes.iter().cloned().map(|(pane, title)| Command::named(format!("Show {title}"), move |work| work.panes.show(&pane)));
    let titles = arrangements().map(|(_, command)| Command { text: format!("Layout {}", command.text).into(), ..command });
    titles
        .chain([
            Command::ctrl(Key::B, "Show or hide the side pane", |work| work.panes.toggle(&Pane::Side)),
            Command::key(Key::F11, "The image alone, or all panes", |work| work.panes.toggle_maximised(&Pane::Image)),
        ])
        .chain(shown)
        .collect()
}

#[cfg(test)]
mod tests {
    use egui::KeyboardShortcut;

    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let commands = groups(&[]).into_iter().flat_map(|group| group.commands);
        let of_tools = crate::ui::tools::all().into_iter().flat_map(|(_, tool)| tool.commands());
        let keys: Vec<KeyboardShortcut> = commands.chain(of_tools).flat_map(|command| command.keys).collect();
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{key:?}");
        }
    }
}
