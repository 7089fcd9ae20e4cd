//! All actions with a name and keys. The list of keys, the search for commands and the menu of layouts come from this list.

use std::borrow::Cow;

use egui::{Key, KeyboardShortcut, Modifiers};
use strum::VariantArray as _;

use crate::data::RoiPlane;
use crate::geometry::Point;
use crate::operator::Accumulation;
use crate::render::Palette;
use crate::ui::rois::action::{RoiAction, RoiEdit};
use crate::ui::run::action::RunAction;
use crate::ui::run::frames::series::FrameSeries;
use crate::ui::run::frames::slider::neighbour as neighbour_frame;
use crate::ui::run::reference::ReferenceChoice;
use crate::ui::run::scrubber::{ScrubberView, neighbour};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::tool::Tool;
use crate::ui::widgets::file_task::{FileTask, Film, LesionFile, NemaStandard};
use crate::ui::widgets::notices::NoticeAction;
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::workspace::actions::Action;
use crate::ui::workspace::panes::arrangement::Arrangement;
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::panes::panes_ui::PaneAction;

#[derive(Clone)]
pub struct Command {
    /// Keys; none for a command of the search alone.
    pub keys: Vec<KeyboardShortcut>,
    pub text: Cow<'static, str>,
    pub action: Action,
}

/// Commands of one kind of work.
pub struct Group {
    pub title: &'static str,
    pub commands: Vec<Command>,
}

/// State that determines the commands.
pub struct CommandsView<'a> {
    /// Stored iterates.
    pub scrubber: &'a ScrubberView<'a>,
    pub frames: Option<&'a FrameSeries>,
    /// True if the run is paused or has ended.
    pub is_paused: bool,
    /// Plane of the slice that last contained the pointer.
    pub plane: RoiPlane,
    /// Size of a voxel of the displayed image, mm.
    pub voxel_mm: Point,
    /// Comparison mode of the reference image.
    pub beside: CompareMode,
    /// Palette of the displayed image.
    pub palette: Palette,
    /// Palette of images without negative values.
    pub usual_palette: Palette,
    pub panes: Vec<(Pane, &'static str)>,
}

/// Factor of the size of a region by one key press.
const RESIZE_FACTOR: f64 = 1.05;

fn with(keys: &[(Modifiers, Key)], text: impl Into<Cow<'static, str>>, action: Action) -> Command {
    let keys = keys.iter().map(|(modifiers, key)| KeyboardShortcut::new(*modifiers, *key)).collect();
    Command { keys, text: text.into(), action }
}

fn key(key: Key, text: &'static str, action: Action) -> Command {
    with(&[(Modifiers::NONE, key)], text, action)
}

fn command(key: Key, text: &'static str, action: Action) -> Command {
    with(&[(Modifiers::COMMAND, key)], text, action)
}

fn without_key(text: impl Into<Cow<'static, str>>, action: Action) -> Command {
    with(&[], text, action)
}

const SHIFTED: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };

pub fn groups(view: &CommandsView) -> Vec<Group> {
    vec![
        Group { title: "Files", commands: files() },
        Group { title: "Reconstruction", commands: reconstruction(view) },
        Group { title: "Past and comparison", commands: past(view) },
        Group { title: "Slices", commands: slices(view) },
        Group { title: "Regions", commands: regions(view) },
        Group { title: "Layout", commands: layout(view) },
        Group {
            title: "Help",
            commands: vec![
                command(Key::K, "Search commands", Action::ToggleSearch),
                with(&[Key::F1, Key::Questionmark].map(|key| (Modifiers::NONE, key)), "This list", Action::ToggleHelp),
                without_key("Notices", Action::Notice(NoticeAction::ToggleList)),
                without_key("Light or dark theme", Action::ToggleTheme),
            ],
        },
    ]
}

fn files() -> Vec<Command> {
    let ask = Action::Ask;
    let picture = |area| Action::Ask(FileTask::SavePicture(area));
    vec![
        command(Key::O, "Open a study", ask(FileTask::OpenStudy)),
        without_key("Follow a file while it is written", ask(FileTask::Follow)),
        without_key("Add a second image", ask(FileTask::OpenLayer)),
        with(&[(SHIFTED, Key::S)], "Save the session", ask(FileTask::SaveSession)),
        command(Key::S, "Save the image", ask(FileTask::SaveImage)),
        without_key("Send a DICOM series", ask(FileTask::SendSeries)),
        with(&[(SHIFTED, Key::P)], "Save a picture of the slices", picture(PictureArea::Slices)),
        command(Key::P, "Save a picture of the window", picture(PictureArea::Window)),
        without_key("Film of the rotating projection", ask(FileTask::SaveFilm(Film::Rotation))),
        without_key("Film of the iterates or images", ask(FileTask::SaveFilm(Film::Iterates))),
        without_key("Film of the time frames", ask(FileTask::SaveFilm(Film::Frames))),
        command(Key::E, "Export the numbers", ask(FileTask::ExportCsv)),
        without_key("Lesions as CSV", ask(FileTask::Lesions(LesionFile::Table))),
        without_key("Lesions as a DICOM segmentation", ask(FileTask::Lesions(LesionFile::Segmentation))),
        without_key("Report on the lesions", ask(FileTask::Lesions(LesionFile::Report))),
        without_key("Lines of the regions as CSV", ask(FileTask::Lines)),
        without_key("NEMA NU 2 report", ask(FileTask::NemaReport(NemaStandard::Body))),
        without_key("NEMA NU 4 report", ask(FileTask::NemaReport(NemaStandard::SmallAnimal))),
    ]
}

fn reconstruction(view: &CommandsView) -> Vec<Command> {
    let run = Action::Run;
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
        without_key("Continue with more iterations", run(RunAction::Continue)),
        without_key("Stop and keep image", run(RunAction::Stop)),
        without_key("Default settings for the next run", run(RunAction::ResetForm)),
    ];
    running.extend(accumulations.map(|((number, text), way)| command(number, text, run(RunAction::SetAccumulation(*way)))));
    running
}

fn past(view: &CommandsView) -> Vec<Command> {
    let run = Action::Run;
    let iterate = |forward| {
        let ScrubberView { iterations, past, .. } = *view.scrubber;
        Action::Run(RunAction::ShowIterate(neighbour(iterations, past, forward)))
    };
    let frame = |forward| view.frames.and_then(|series| neighbour_frame(series, forward));
    let frames = [(Key::Comma, "The frame before", frame(false)), (Key::Period, "The frame after", frame(true))];
    let frames = frames.into_iter().filter_map(|(name, text, to)| Some(key(name, text, run(RunAction::ShowFrame(to?)))));
    let ScrubberView { number, pinned, run: of_run, is_playing, .. } = *view.scrubber;
    let is_pinned = number.is_some_and(|number| pinned.contains(&number));
    let reference = |choice| Action::Run(RunAction::SetReference(choice));
    let this = ReferenceChoice { run: of_run, number };
    let compare =
        |how: CompareMode| without_key(format!("Compare: {}", <&str>::from(how)), Action::View(ViewAction::SetBeside(how)));
    frames
        .chain([
            key(Key::ArrowLeft, "The iterate before", iterate(false)),
            key(Key::ArrowRight, "The iterate after", iterate(true)),
            key(Key::L, "Follow the newest iterate", run(RunAction::ShowIterate(None))),
            key(Key::P, "Play the iterates", run(RunAction::Play(!is_playing))),
            key(Key::K, "Pin this iterate, or no longer", run(RunAction::Pin(!is_pinned))),
            key(Key::C, "Next comparison mode", Action::View(ViewAction::SetBeside(view.beside.next()))),
        ])
        .chain(number.map(|_| key(Key::R, "Use this iterate as reference", reference(Some(this)))))
        .chain([without_key("No reference", reference(None))])
        .chain(CompareMode::VARIANTS.iter().copied().map(compare))
        .collect()
}

/// Returns inverted grey; where it is shown, the palette for PET.
fn inverted_or_back(view: &CommandsView) -> Palette {
    let is_inverted = view.palette == Palette::InvertedGrey;
    let back = Some(view.usual_palette).filter(|usual| *usual != Palette::InvertedGrey).unwrap_or(Palette::HotIron);
    if is_inverted { back } else { Palette::InvertedGrey }
}

fn slices(view: &CommandsView) -> Vec<Command> {
    let ([across, down], normal) = view.plane.axes();
    let step = |axis, slices| Action::View(ViewAction::StepSlice(axis, slices));
    let moved = |name, text, axis, slices| with(&[(Modifiers::ALT, name)], text, step(axis, slices));
    let tools = Tool::VARIANTS
        .iter()
        .map(|tool| without_key(format!("Tool: {}", tool.name().to_lowercase()), Action::View(ViewAction::SetTool(*tool))));
    [
        key(Key::ArrowUp, "The slice before", step(normal, -1)),
        key(Key::ArrowDown, "The slice after", step(normal, 1)),
        key(Key::PageUp, "Five slices back", step(normal, -5)),
        key(Key::PageDown, "Five slices on", step(normal, 5)),
        moved(Key::ArrowLeft, "Crosshair left", across, -1),
        moved(Key::ArrowRight, "Crosshair right", across, 1),
        moved(Key::ArrowUp, "Crosshair up", down, -1),
        moved(Key::ArrowDown, "Crosshair down", down, 1),
        key(Key::F, "Fit the object", Action::View(ViewAction::FitObject)),
        key(Key::I, "Inverted grey, or back", Action::View(ViewAction::SetPalette(inverted_or_back(view)))),
        key(Key::Home, "The whole image", Action::View(ViewAction::Reset)),
        without_key("Full window of values", Action::View(ViewAction::FullWindow)),
        without_key("Lock the window of values", Action::View(ViewAction::LockWindow)),
        key(Key::Escape, "Back to the crosshair", Action::View(ViewAction::SetTool(Tool::Crosshair))),
    ]
    .into_iter()
    .chain(tools)
    .collect()
}

fn regions(view: &CommandsView) -> Vec<Command> {
    let roi = |edit| Action::Roi(RoiAction::Edit(edit));
    let ([across, down], normal) = view.plane.axes();
    let moved = |name, text, axis: usize, sign: f64| {
        let mut by_mm = [0.0; 3];
        by_mm[axis] = sign * view.voxel_mm[axis];
        with(&[(Modifiers::SHIFT, name)], text, roi(RoiEdit::MoveSelected(by_mm)))
    };
    vec![
        with(&[(SHIFTED, Key::Z), (Modifiers::COMMAND, Key::Y)], "Redo", roi(RoiEdit::Redo)),
        command(Key::Z, "Undo", roi(RoiEdit::Undo)),
        key(Key::A, "Add a sphere at the crosshair", Action::Roi(RoiAction::AddAtCrosshair)),
        key(Key::N, "Select the next one", roi(RoiEdit::SelectNext)),
        moved(Key::ArrowLeft, "Move the selected one left", across, -1.0),
        moved(Key::ArrowRight, "Move the selected one right", across, 1.0),
        moved(Key::ArrowUp, "Move the selected one up", down, -1.0),
        moved(Key::ArrowDown, "Move the selected one down", down, 1.0),
        moved(Key::PageUp, "Move the selected one to the slice before", normal, -1.0),
        moved(Key::PageDown, "Move the selected one to the slice after", normal, 1.0),
        key(Key::OpenBracket, "Make the selected one smaller", roi(RoiEdit::ResizeSelected(1.0 / RESIZE_FACTOR))),
        key(Key::CloseBracket, "Make the selected one larger", roi(RoiEdit::ResizeSelected(RESIZE_FACTOR))),
        command(Key::D, "Copy the selected one", roi(RoiEdit::CopySelected)),
        command(Key::M, "Mirror the selected one", roi(RoiEdit::MirrorSelected)),
        key(Key::Delete, "Delete the selected one", roi(RoiEdit::DeleteSelected)),
        without_key("Load regions", Action::Ask(FileTask::LoadRois)),
        without_key("Save regions", Action::Ask(FileTask::SaveRois)),
        without_key("Reset to the study's regions", Action::Roi(RoiAction::TakeFromStudy)),
        without_key("NEMA NU 2 template", Action::Roi(RoiAction::PlaceNema(NemaStandard::Body))),
        without_key("NEMA NU 4 template", Action::Roi(RoiAction::PlaceNema(NemaStandard::SmallAnimal))),
    ]
}

/// Returns the commands of the arrangements.
pub fn arrangements() -> impl Iterator<Item = (Arrangement, Command)> {
    let keys = [Key::F2, Key::F3, Key::F4, Key::F6, Key::F7];
    Arrangement::VARIANTS.iter().zip(keys).map(|(arrangement, name)| {
        let command = with(&[(Modifiers::NONE, name)], arrangement.name(), Action::Arrange(*arrangement));
        (*arrangement, command)
    })
}

fn layout(view: &CommandsView) -> Vec<Command> {
    let pane = Action::Pane;
    let shown = view.panes.iter().map(|(of, title)| without_key(format!("Show {title}"), pane(PaneAction::Show(*of))));
    let titles = arrangements().map(|(_, command)| Command { text: format!("Layout {}", command.text).into(), ..command });
    titles
        .chain([
            command(Key::B, "Show or hide the side pane", pane(PaneAction::Toggle(Pane::Side))),
            key(Key::F11, "The image alone, or all panes", pane(PaneAction::Maximise(Pane::Image))),
        ])
        .chain(shown)
        .collect()
}
