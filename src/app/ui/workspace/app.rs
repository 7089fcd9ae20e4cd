//! The window as a whole: its state and the work of each frame.

use std::path::Path;
use std::time::{Duration, Instant};

use eframe::egui_wgpu::RenderState;
use egui::{Context, Ui};

use super::commands::search::CommandSearch;
use super::files::dialogs::Dialogs;
use super::files::file_job::FileJob;
use super::files::film_job::FilmJob;
use super::panes::pane::Pane;
use super::panes::pane_tree::PaneTree;
use super::persistence::last_session::last_session;
use super::persistence::prefs::Preferences;
use super::persistence::saved_session::SavedSession;
use super::persistence::unsaved_work::{SavedWork, UnsavedQuestion};
use super::series_chooser::SeriesChooser;
use super::status::{FrameMeter, MemoryMeter};
use crate::data::{Counts, Notice, PetScan, Study};
use crate::io::IoError;
use crate::plan::{Acquisition, Cache, Data, Device, DeviceChoice, Forecast};
use crate::remote::Remote;
use crate::render::VolumeSlot;
use crate::session::{Session, SessionOptions, Trace};
use crate::ui::layer::second_image::{SavedLayer, SecondImage};
use crate::ui::layer::state::LayerState;
use crate::ui::plots::BottomTab;
use crate::ui::plots::lesions::state::LesionState;
use crate::ui::plots::model::state::ModelState;
use crate::ui::plots::plot_options::{PlotKind, PlotOptions, ProfileCurves};
use crate::ui::plots::profile::{ProfileCache, ProfileInput, peak_line};
use crate::ui::plots::recovery::state::RecoveryState;
use crate::ui::plots::spectrum::state::SpectraState;
use crate::ui::rois::document::Document;
use crate::ui::rois::measured::{MeasuredImage, TableCache};
use crate::ui::rois::state::RoiState;
use crate::ui::run::curves::Curves;
use crate::ui::run::displayed_image::DisplayedImage;
use crate::ui::run::export;
use crate::ui::run::form::devices::DeviceList;
use crate::ui::run::live::LiveRun;
use crate::ui::run::reference::Reference;
use crate::ui::run::run_view::RunView;
use crate::ui::run::runs::Runs;
use crate::ui::run::similarity::{Similarity, likeness};
use crate::ui::slices::comparison::CompareMode;
use crate::ui::slices::slice_paint;
use crate::ui::slices::slice_paint::Adapter;
use crate::ui::slices::state::SliceState;
use crate::ui::slices::view::ViewState;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::open::open_tubes::OpenTubes;
use crate::ui::study::source::Source;
use crate::ui::study::state::StudyState;
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::notices::Notices;
use crate::ui::widgets::theme;
use crate::ui::widgets::wake::waker;
use crate::webgpu;
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

pub struct App {
    pub(super) session: Session,
    /// Server of the session, if it is remote.
    pub(super) remote: Option<Remote>,
    pub(super) study: StudyState,
    pub(super) runs: Runs,
    pub(super) slices: SliceState,
    pub(super) rois: RoiState,
    pub(super) layer: LayerState,
    pub(super) lesions: LesionState,
    pub(super) recovery: RecoveryState,
    pub(super) spectra: SpectraState,
    /// Number of the second image on the graphics adapter.
    pub(super) uploaded_layer: Option<u64>,
    pub(super) series_chooser: Option<SeriesChooser>,
    /// Line profile of the displayed image.
    pub(super) profile: ProfileCache,
    pub(super) reference_profile: ProfileCache,
    /// Row of the sinogram under the crosshair.
    pub(super) model: ModelState,
    /// Numbers of the regions in the displayed difference from the reference image.
    pub(super) difference: TableCache,
    pub(super) panes: PaneTree,
    /// Typed name of a new arrangement of the panes.
    pub(super) arrangement_name: String,
    /// Search for commands while it is open.
    pub(super) search: Option<CommandSearch>,
    pub(super) plots: PlotOptions,
    pub(super) devices: DeviceList,
    pub(super) notices: Notices,
    pub(super) dialogs: Dialogs,
    pub(super) file_jobs: Vec<FileJob>,
    pub(super) film: Option<FilmJob>,
    /// Saved work, and the question about unsaved work.
    pub(super) saved: SavedWork,
    pub(super) unsaved_question: Option<UnsavedQuestion>,
    /// Last session while it is offered.
    pub(super) offered: Option<SavedSession>,
    /// Session to restore once its study is loaded.
    pub(super) restoring: Option<SavedSession>,
    /// True if no action followed the last storing of the session.
    is_stored: bool,
    /// True if the stored session is unreadable and has no backup; the current one then does not replace it.
    pub(super) has_unreadable_session: bool,
    /// True if the window may close without a question.
    pub(super) may_close: bool,
    pub(super) preferences: Preferences,
    pub(super) options: AppOptions,
    pub(super) memory: MemoryMeter,
    pub(super) frames: FrameMeter,
    pub(super) adapter: String,
    pub(super) adapter_kind: Option<Adapter>,
    /// Device and renderer of the window.
    pub(super) graphics: Option<RenderState>,
    /// The window's number for a solver that may compute on its device.
    pub(super) window_number: Option<WindowNumber>,
    /// True if the list of keys is open.
    pub(super) is_help_open: bool,
    /// True if a widget received the keys at the end of the last frame.
    pub(super) were_keys_taken: bool,
    title: String,
    frame_start: Option<Instant>,
}

impl App {
    /// Returns the window with a new session; the first study is being loaded.
    pub fn new(creation: &eframe::CreationContext<'_>, options: AppOptions) -> Self {
        let adapter_kind = creation.wgpu_render_state.as_ref().map(|state| Adapter::of(&state.adapter));
        let lower_priority = adapter_kind == Some(Adapter::Software);
        let (cache, trace) = (options.cache.clone(), options.trace.clone());
        let session_options = SessionOptions { lower_priority, cache, trace, ..SessionOptions::default() };
        let session = Session::with_options(session_options, waker(&creation.egui_ctx));
        Self::with_session(creation, options, session, None)
    }

    /// Returns the window with an existing session, which wakes it by a repaint of its context.
    pub fn with_session(
        creation: &eframe::CreationContext<'_>,
        options: AppOptions,
        session: Session,
        remote: Option<Remote>,
    ) -> Self {
        let ctx = creation.egui_ctx.clone();
        theme::apply(&ctx);
        let preferences = Preferences::load(creation.storage);
        theme::reduce_motion(&ctx, preferences.is_motion_reduced || options.for_pictures);
        let (mut adapter, mut window_number) = ("no graphics adapter".to_owned(), None);
        if let Some(state) = &creation.wgpu_render_state {
            slice_paint::install(state);
            if remote.is_none() {
                window_number = Some(webgpu::share_window(&state.adapter, &state.device, &state.queue));
            }
            adapter = state.adapter.get_info().name;
        }
        options.trace.record("window", &[]);
        let last = last_session(creation.storage, options.cache.folder());
        let has_unreadable_session = last.is_err();
        let (offered, about_last) = last.unwrap_or_else(|notice| (None, Some(notice)));
        let offered = offered.filter(|_| remote.is_none());
        let devices = if remote.is_some() { DeviceList::elsewhere() } else { DeviceList::start(waker(&ctx)) };
        let adapter_kind = creation.wgpu_render_state.as_ref().map(|state| Adapter::of(&state.adapter));
        let start = options.start.clone();
        let mut app = Self {
            session,
            remote,
            study: StudyState::default(),
            runs: Runs::new(RunView::new(ColourScale::automatic(preferences.palette))),
            slices: SliceState::new(preferences.view()),
            rois: RoiState::default(),
            layer: LayerState::default(),
            lesions: LesionState::default(),
            recovery: RecoveryState::default(),
            spectra: SpectraState::default(),
            uploaded_layer: None,
            series_chooser: None,
            profile: ProfileCache::default(),
            reference_profile: ProfileCache::default(),
            model: ModelState::default(),
            difference: TableCache::default(),
            panes: preferences.panes.clone(),
            arrangement_name: String::new(),
            search: None,
            plots: PlotOptions::default(),
            devices,
            notices: Notices::default(),
            dialogs: Dialogs::new(options.desktop_dialogs),
            file_jobs: Vec::new(),
            film: None,
            saved: SavedWork::default(),
            unsaved_question: None,
            offered,
            restoring: None,
            is_stored: true,
            has_unreadable_session,
            may_close: false,
            preferences,
            options,
            memory: MemoryMeter::default(),
            frames: FrameMeter::default(),
            adapter,
            adapter_kind,
            graphics: creation.wgpu_render_state.clone(),
            window_number,
            is_help_open: false,
            were_keys_taken: false,
            title: String::new(),
            frame_start: None,
        };
        app.notify_all(&ctx, about_last);
        app.open(&ctx, start);
        app
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
    pub(super) fn run(&self) -> &RunView {
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
        &self.adapter
    }

    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    pub(super) fn notify(&mut self, ctx: &Context, notice: Notice) {
        self.notices.push(notice, ctx.input(|input| input.time));
    }

    pub(super) fn notify_all(&mut self, ctx: &Context, notices: impl IntoIterator<Item = Notice>) {
        notices.into_iter().for_each(|notice| self.notify(ctx, notice));
    }

    /// Updates all state that depends on image, run and document.
    fn derive(&mut self, frame: &eframe::Frame, ctx: &Context) {
        if self.panes.is_drawn(Pane::Table(BottomTab::Tube))
            && let Some(tubes) = self.study.tubes_mut()
        {
            tubes.update(ctx);
        }
        let patience = self.patience();
        let run = self.runs.active_mut();
        if self.panes.is_drawn(Pane::Table(BottomTab::Sweep))
            && let Some(open) = self.study.sweep_mut()
        {
            // The filter of the image, not of the next run.
            let of_image = run.running.as_ref().unwrap_or(&run.forms).filter();
            open.update(ctx, &of_image, &run.forms.filter());
        }
        self.upload_image(VolumeSlot::First, frame, ctx);
        self.runs.active_mut().derive(&mut self.rois, patience, waker(ctx));
        let scale = self.scale();
        let draws_profile = self.draws_profile();
        let run = self.runs.active_mut();
        let image = (run.live.run, run.shown.generation());
        let input = draws_profile.then(|| run.shown.image()).flatten().map(|volume| ProfileInput {
            view: &self.slices.view,
            image,
            volume,
            truth: self.study.open.as_ref().and_then(|open| open.study.truth.as_ref()),
            scale,
        });
        self.profile.update(input, patience, waker(ctx));
        self.derive_reference(frame, ctx);
        self.receive_layer(ctx);
        self.upload_layer(frame, ctx);
        self.measure_layer(ctx);
        self.derive_lesions(ctx);
        self.derive_model(ctx);
    }

    /// Updates earlier runs, the reference image and its profile.
    fn derive_reference(&mut self, frame: &eframe::Frame, ctx: &Context) {
        self.runs.derive_kept();
        if let Some(wait) = self.runs.curves_wait() {
            ctx.request_repaint_after(wait);
        }
        match self.runs.receive_reference(&self.session) {
            None => {}
            Some(Ok(notices)) => self.notify_all(ctx, notices),
            Some(Err(text)) => self.notify(ctx, Notice::error(text)),
        }
        self.runs.link(&self.session, waker(ctx));
        self.upload_image(VolumeSlot::Second, frame, ctx);
        let (scale, patience) = (self.scale(), self.patience());
        let beside = self.runs.beside().and_then(|(_, image)| Some((image.shown.generation(), image.shown.image()?)));
        let input = beside.filter(|_| self.draws_profile()).map(|(generation, volume)| ProfileInput {
            view: &self.slices.view,
            image: (0, generation),
            volume,
            truth: None,
            scale,
        });
        self.reference_profile.update(input, patience, waker(ctx));
        let RunView { live, shown, .. } = self.runs.active();
        let both = shown.image().zip(beside).filter(|_| self.slices.view.beside == CompareMode::Difference);
        let difference =
            both.filter(|(shown, (_, other))| shown.grid.same_as(&other.grid)).map(|(volume, (generation, minus))| {
                let key = (live.run, shown.generation(), false, Some(generation));
                MeasuredImage { key, volume, minus: Some(minus) }
            });
        self.difference.update(self.rois.masked(), difference, patience, waker(ctx));
    }

    fn draws_profile(&self) -> bool {
        self.plots.profile == ProfileCurves::Values && self.panes.is_drawn(Pane::Plot(PlotKind::Profile))
    }

    /// Returns the longest wait for a value that is computed in the background. Pictures for comparison always contain it.
    pub(super) fn patience(&self) -> Duration {
        if self.options.for_pictures { Duration::from_secs(60) } else { PATIENCE }
    }

    /// Sends the line of the profile to the session while the widths of its peaks are drawn.
    fn send_line(&mut self) {
        let is_drawn = self.plots.profile == ProfileCurves::Widths && self.panes.is_drawn(Pane::Plot(PlotKind::Profile));
        let view = &self.slices.view;
        self.runs.send_line(|grid| is_drawn.then(|| peak_line(view, grid)), &self.session);
    }

    /// Sets the title of the window: study and device.
    fn set_title(&mut self, ctx: &Context) {
        let study = self.study.open.as_ref().map_or("no study", OpenStudy::title);
        let device = self
            .run()
            .live
            .info
            .as_ref()
            .map_or("no device in use".into(), |info| format!("{} · {}", info.device, info.projector));
        let title = format!("tomoscope – {study} – {device}");
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Requests frames for progress, undo points and storing of the session.
    fn schedule(&self, ctx: &Context) {
        let is_coming = self.study.loading.is_some() || self.study.tube_maker.is_some() || self.study.matrix_maker.is_some();
        if is_coming || self.run().live.is_being_set_up() {
            ctx.request_repaint_after(Duration::from_millis(100));
        }
        if self.rois.undo.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(350));
        }
        if !self.is_stored {
            // Storing needs a frame.
            ctx.request_repaint_after(eframe::App::auto_save_interval(self) + Duration::from_secs(1));
        }
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.frame_start = Some(Instant::now());
        self.receive(ctx);
        self.schedule(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        self.derive(frame, &ctx);
        self.set_title(&ctx);
        let spin_secs = if self.adapter_kind == Some(Adapter::Software) { 0.2 } else { 0.03 };
        self.slices.spin(&ctx, spin_secs);
        let actions = self.panels(ui);
        let has_actions = !actions.is_empty();
        for action in actions {
            self.apply(&ctx, action);
        }
        self.advance_film(&ctx);
        // Before painting, so that the solver measures meanwhile and the next frame shows the numbers.
        let is_held = ctx.input(|input| input.pointer.any_down());
        self.runs.send_rois(self.rois.masked(), is_held, &self.session);
        self.send_line();
        self.send_recovery();
        self.rois.undo.feed_state(ctx.input(|input| input.time), &self.rois.document);
        if has_actions {
            self.is_stored = false;
            ctx.request_repaint();
        }
        if self.options.trace.is_on() {
            self.trace_frame(frame);
        }
    }

    /// Returns the background of all panels: with a software renderer, filling them would cost as much as the slices.
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        let palette = self.run().colouring.usual_palette;
        self.preferences.panes = self.panes.clone();
        self.preferences.save(palette, &self.slices.view, storage);
        self.store_session(storage);
        self.is_stored = true;
    }
}

impl App {
    /// Records the time of the code in this frame, and of the previous frame with drawing.
    fn trace_frame(&self, frame: &eframe::Frame) {
        let code_secs = self.frame_start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let before = f64::from(frame.info().cpu_usage.unwrap_or_default());
        self.options.trace.record("frame", &[("code_secs", code_secs), ("frame_before_secs", before)]);
    }
}
