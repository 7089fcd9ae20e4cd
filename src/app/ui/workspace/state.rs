//! The workspace: what every part of the window sees and changes (study, runs, displayed image, regions, second image, files, notices),
//! and its requests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use eframe::egui_wgpu::RenderState;
use egui::Context;

use super::command_windows::CommandWindows;
use super::files::dialogs::Dialogs;
use super::files::file_job::FileJob;
use super::files::series_chooser::SeriesChooser;
use super::panes::pane_tree::PaneTree;
use super::persistence::prefs::Preferences;
use super::persistence::saved_session::SavedTools;
use super::persistence::sessions::Sessions;
use super::persistence::unsaved_work::Leaving;
use crate::data::{Counts, Notice, PetScan, Study};
use crate::io::IoError;
use crate::plan::{Acquisition, Cache, Data, Device, DeviceChoice, Forecast, IterationScheme};
use crate::remote::Remote;
use crate::render::VolumeSlot;
use crate::session::{Session, Trace};
use crate::ui::layer::second_image::{SavedLayer, SecondImage};
use crate::ui::layer::spectra::state::SpectraState;
use crate::ui::layer::state::LayerState;
use crate::ui::rois::action::RoiEdit;
use crate::ui::rois::document::Document;
use crate::ui::rois::state::RoiState;
use crate::ui::run::curves::Curves;
use crate::ui::run::displayed_image::DisplayedImage;
use crate::ui::run::export;
use crate::ui::run::form::devices::DeviceList;
use crate::ui::run::live::LiveRun;
use crate::ui::run::plot_options::PlotOptions;
use crate::ui::run::reference::Reference;
use crate::ui::run::run_view::RunView;
use crate::ui::run::runs::Runs;
use crate::ui::run::similarity::{Similarity, likeness};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::slice_paint::Adapter;
use crate::ui::slices::state::SliceState;
use crate::ui::slices::view::ViewState;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::open::open_sweep::Arrivals;
use crate::ui::study::open::open_tubes::OpenTubes;
use crate::ui::study::source::Source;
use crate::ui::study::state::StudyState;
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::notices::Notices;
use crate::ui::widgets::wake::waker;
use crate::webgpu::WindowNumber;

/// Options of the window at its start.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// Study to open.
    pub start: Source,
    /// True if its reconstruction starts automatically.
    pub autostart: bool,
    /// Initial device of the form.
    pub device: DeviceChoice,
    /// Full iterations of the first run; `None`: the default.
    pub num_iterations: Option<usize>,
    /// True for comparisons of pictures: times, speeds and memory are then hidden.
    pub for_pictures: bool,
    /// True for file dialogs of the desktop; else paths are typed.
    pub desktop_dialogs: bool,
    /// Cache of tubes of response and system matrices.
    pub cache: Cache,
    pub trace: Trace,
}

/// Longest wait for a value in a frame; a later one is drawn in the next frame.
const PATIENCE: Duration = Duration::from_millis(1);

/// Change of the workspace that a panel requests; it follows the drawing of all panels.
pub type Request = Box<dyn FnOnce(&mut Workspace)>;

pub fn request(change: impl FnOnce(&mut Workspace) + 'static) -> Request {
    Box::new(change)
}

/// Requests a file for a task.
pub fn ask(task: FileTask) -> Request {
    request(move |work| _ = work.ask(task))
}

/// Requests another study.
pub fn open_source(source: impl Into<Source>) -> Request {
    let source = source.into();
    request(move |work| work.open(source))
}

/// Requests an edit of the regions or of their display.
pub fn edit_rois(edit: RoiEdit) -> Request {
    request(move |work| work.edit_rois(edit))
}

/// Requests a change of the views.
pub fn view_action(action: ViewAction) -> Request {
    request(move |work| work.apply_view(action))
}

/// Requests files with or without the patient's identity.
pub fn anonymise(is_anonymous: bool) -> Request {
    request(move |work| work.preferences.is_anonymous = is_anonymous)
}

/// Files that are chosen, read and written.
pub struct Files {
    pub dialogs: Dialogs,
    pub(in crate::ui) jobs: Vec<FileJob>,
    /// Chooser of a series, while it is open.
    pub series: Option<SeriesChooser>,
    /// Chosen files of tasks that need the drawn window or a tool.
    pub(in crate::ui) for_window: Vec<(FileTask, PathBuf)>,
}

/// Graphics adapter of the window.
#[derive(Default)]
pub struct Graphics {
    pub name: String,
    pub kind: Option<Adapter>,
    /// Device and renderer.
    pub state: Option<RenderState>,
    /// The window's number for a solver that may compute on its device.
    pub window: Option<WindowNumber>,
    /// Number of the second image on the adapter.
    pub uploaded_layer: Option<u64>,
}

/// Study, runs, displayed image, regions, second image, files, notices and preferences.
pub struct Workspace {
    /// Wakes the window, and has its theme and its time.
    pub ctx: Context,
    pub session: Session,
    /// Server of the session, if it is remote.
    pub remote: Option<Remote>,
    pub study: StudyState,
    pub runs: Runs,
    pub slices: SliceState,
    pub rois: RoiState,
    pub layer: LayerState,
    pub spectra: SpectraState,
    pub plots: PlotOptions,
    pub panes: PaneTree,
    pub devices: DeviceList,
    pub notices: Notices,
    pub files: Files,
    pub sessions: Sessions,
    pub leaving: Leaving,
    pub commands: CommandWindows,
    pub preferences: Preferences,
    pub options: AppOptions,
    pub graphics: Graphics,
}

impl Workspace {
    /// Returns the workspace without a study.
    pub fn new(
        ctx: Context,
        (session, remote): (Session, Option<Remote>),
        preferences: Preferences,
        options: AppOptions,
        graphics: Graphics,
    ) -> Self {
        let devices = if remote.is_some() { DeviceList::elsewhere() } else { DeviceList::start(waker(&ctx)) };
        let dialogs = Dialogs::new(options.desktop_dialogs);
        Self {
            ctx,
            session,
            remote,
            study: StudyState::default(),
            runs: Runs::new(RunView::new(ColourScale::automatic(preferences.palette))),
            slices: SliceState::new(preferences.view()),
            rois: RoiState::default(),
            layer: LayerState::default(),
            spectra: SpectraState::default(),
            plots: PlotOptions::default(),
            panes: preferences.panes.clone(),
            devices,
            notices: Notices::default(),
            files: Files { dialogs, jobs: Vec::new(), series: None, for_window: Vec::new() },
            sessions: Sessions::default(),
            leaving: Leaving::default(),
            commands: CommandWindows::default(),
            preferences,
            options,
            graphics,
        }
    }

    /// Stores preferences and session.
    pub fn store(&mut self, storage: &mut dyn eframe::Storage, tools: SavedTools) {
        let palette = self.run().colouring.usual_palette;
        self.preferences.panes = self.panes.clone();
        self.preferences.save(palette, &self.slices.view, storage);
        self.store_session(storage, tools);
    }

    /// Updates all state that depends on image, run and regions.
    pub fn derive(&mut self) {
        // A frame that updates long curves copies no part of a large image.
        match self.run() {
            run if run.updates_curves() && run.shown.is_coming() => self.ctx.request_repaint(),
            _ => self.upload_image(VolumeSlot::First),
        }
        let patience = self.patience();
        self.runs.active_mut().derive(&mut self.rois, patience, waker(&self.ctx));
        self.runs.derive_kept();
        if let Some(wait) = self.runs.curves_wait() {
            self.ctx.request_repaint_after(wait);
        }
        match self.runs.receive_reference(&self.session) {
            None => {}
            Some(Ok(notices)) => self.notify_all(notices),
            Some(Err(text)) => self.notify(Notice::error(text)),
        }
        self.runs.link(&self.session, waker(&self.ctx));
        self.upload_image(VolumeSlot::Second);
        self.receive_layer();
        self.upload_layer();
        self.measure_layer();
    }

    /// Returns true if the displayed run has ended.
    pub fn is_run_over(&self) -> bool {
        self.run().live.run > 0 && !self.run().live.state.is_active()
    }

    /// Writes the numbers of all displayed runs as CSV, in Bq/mL for a calibrated scan.
    ///
    /// # Errors
    /// Writing the file failed.
    pub fn export_csv(&self, path: &Path) -> Result<(), IoError> {
        let views = self.runs.kept().iter().chain([self.run()]);
        export::write_csv(path, views.map(|view| (&view.live, self.conversion_of_run(&view.live))))
    }

    pub fn study(&self) -> Option<&Study<Data>> {
        self.study.open.as_ref().map(|open| &*open.study)
    }

    pub fn counts(&self) -> Option<&Counts> {
        Some(&self.study.open.as_ref()?.counts()?.counts)
    }

    /// Returns the open EPRI acquisition, as runs reconstruct it.
    pub fn acquisition(&self) -> Option<&Acquisition> {
        self.study.sweep().map(|open| &open.acquisition)
    }

    /// Returns the facts of the open PET series, with the user's changes.
    pub fn pet_scan(&self) -> Option<&PetScan> {
        self.study.images()?.pet.as_ref()
    }

    /// Returns the state of the second image for a session; `None` without one.
    pub fn second_image(&self) -> Option<SavedLayer> {
        self.layer.image.as_ref().map(SecondImage::saved)
    }

    /// Returns the similarity of the newest image of a non-atomic run to the reference run, or the reason why it is unknown;
    /// `None` for other runs.
    pub fn likeness(&self) -> Option<Result<Similarity, String>> {
        likeness(&self.run().live, self.runs.reference())
    }

    pub fn is_loading(&self) -> bool {
        self.study.loading.is_some()
    }

    pub fn tubes(&self) -> Option<&OpenTubes> {
        self.study.tubes()
    }

    /// Returns true while regions are being searched for.
    pub fn is_searching(&self) -> bool {
        self.rois.search.query().is_some()
    }

    /// Returns the active run.
    pub fn run(&self) -> &RunView {
        self.runs.active()
    }

    /// Returns the earlier runs, oldest first.
    pub fn kept_runs(&self) -> impl Iterator<Item = &LiveRun> {
        self.runs.kept().iter().map(|view| &view.live)
    }

    pub fn reference(&self) -> Option<&Reference> {
        self.runs.reference()
    }

    pub fn devices(&self) -> &[Device] {
        self.devices.known()
    }

    pub fn document(&self) -> &Document {
        &self.rois.document
    }

    /// Returns the state of the active run.
    pub fn live(&self) -> &LiveRun {
        &self.run().live
    }

    /// Returns the curves of the active run.
    pub fn curves(&self) -> &Curves {
        self.run().curves()
    }

    pub fn shown(&self) -> &DisplayedImage {
        &self.run().shown
    }

    /// Returns the memory forecast of the next run, or the reason of a refusal; `None` while it is unknown.
    pub fn next_start(&self) -> Option<&Result<Forecast, String>> {
        self.runs.forecast().filter(|_| self.study.open.is_some())
    }

    pub fn view(&self) -> &ViewState {
        &self.slices.view
    }

    /// Returns palette and window of the displayed image.
    pub fn colouring(&self) -> &ColourScale {
        &self.run().colouring
    }

    pub fn adapter(&self) -> &str {
        &self.graphics.name
    }

    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Returns the longest wait for a value that is computed in the background. Pictures for comparison always contain it.
    pub fn patience(&self) -> Duration {
        if self.options.for_pictures { Duration::from_secs(60) } else { PATIENCE }
    }

    /// Returns the iteration scheme of a run with the form's settings.
    pub fn iteration_scheme(&self) -> IterationScheme {
        self.study.iteration_scheme(self.run().forms.settings.algorithm)
    }

    pub fn arrivals(&self) -> Arrivals {
        self.study.open.as_ref().map_or(Arrivals::Over, OpenStudy::arrivals)
    }

    pub fn notify(&mut self, notice: Notice) {
        self.notices.push(notice, self.ctx.input(|input| input.time));
    }

    pub fn notify_all(&mut self, notices: impl IntoIterator<Item = Notice>) {
        notices.into_iter().for_each(|notice| self.notify(notice));
    }
}
