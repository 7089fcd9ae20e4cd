//! The window as a whole: what it holds, and what each frame does.

use std::path::Path;
use std::time::{Duration, Instant};

use eframe::egui_wgpu::RenderState;
use egui::{Context, Ui};

use super::files::dialogs::Dialogs;
use super::files::file_jobs::FileJob;
use super::keeping::prefs::Preferences;
use super::keeping::restore::last_session;
use super::keeping::saved_session::SavedSession;
use super::keeping::unsaved_changes::{Leaving, SavedWork};
use super::status::{FrameMeter, MemoryMeter};
use super::wake::waker;
use crate::data::{Counts, Notice, Study};
use crate::io::IoError;
use crate::plan::{Acquisition, Cache, Data, Device, DeviceChoice, Forecast};
use crate::render::VolumeSlot;
use crate::session::{Session, SessionOptions, Trace};
use crate::ui::plots::BottomTab;
use crate::ui::plots::plot_options::{PlotOptions, ProfileCurves};
use crate::ui::plots::profile::{ProfileCache, peak_line};
use crate::ui::rois::document::Document;
use crate::ui::rois::measured::DifferenceTable;
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
use crate::ui::study::loader::Source;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::open::open_tubes::OpenTubes;
use crate::ui::study::state::StudyState;
use crate::ui::widgets::colour_scale::ColourScale;
use crate::ui::widgets::notices::Notices;
use crate::ui::widgets::theme;

/// How the window starts.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The study to open.
    pub start: Source,
    /// Whether its reconstruction starts at once.
    pub autostart: bool,
    /// The device that the form begins with.
    pub device: DeviceChoice,
    /// Full iterations of the first run; `None` = the default.
    pub num_iterations: Option<usize>,
    /// Whether pictures of the window are compared: times, speeds and memory are then left out.
    pub for_pictures: bool,
    /// Whether the desktop is asked for its file dialogs; else paths are typed.
    pub desktop_dialogs: bool,
    /// Where tubes of response and matrices are kept.
    pub cache: Cache,
    /// Where the time line goes.
    pub trace: Trace,
}

/// The window.
pub struct App {
    pub(super) session: Session,
    pub(super) study: StudyState,
    pub(super) runs: Runs,
    pub(super) slices: SliceState,
    pub(super) rois: RoiState,
    /// The line profile of the image on the screen, and that of the reference's beside it.
    pub(super) profile: ProfileCache,
    pub(super) profile_beside: ProfileCache,
    /// The regions' numbers on the difference from the reference's image, while that is shown.
    pub(super) difference: DifferenceTable,
    /// What the left part of the bottom panel shows.
    pub(super) numbers: BottomTab,
    pub(super) plots: PlotOptions,
    pub(super) devices: DeviceList,
    pub(super) notices: Notices,
    pub(super) dialogs: Dialogs,
    /// Files that are being written.
    pub(super) file_jobs: Vec<FileJob>,
    /// What need not be asked about before the window is closed or another study opened; and the question.
    pub(super) saved: SavedWork,
    pub(super) leaving: Option<Leaving>,
    /// The session of the last time, while it is offered; and the one whose study is on its way.
    pub(super) offered: Option<SavedSession>,
    pub(super) restoring: Option<SavedSession>,
    /// Whether nothing was done since the work was kept for the next start.
    is_kept: bool,
    /// Whether the stored session can neither be read nor stored elsewhere, so that none takes its place.
    pub(super) keeps_unread: bool,
    /// Whether the window may close without a question.
    pub(super) may_close: bool,
    pub(super) preferences: Preferences,
    pub(super) options: AppOptions,
    pub(super) memory: MemoryMeter,
    pub(super) frames: FrameMeter,
    pub(super) adapter: String,
    /// What draws, if there is something.
    pub(super) drawn_by: Option<Adapter>,
    /// The same with what draws the window.
    pub(super) graphics: Option<RenderState>,
    /// Whether the list of keys is in front of the window.
    pub(super) is_help_open: bool,
    /// Whether the keys were no shortcuts when the last frame ended.
    pub(super) keys_were_taken: bool,
    title: String,
    /// The number of the change of the image beside the one on the screen that is on the adapter.
    uploaded_beside: Option<u64>,
    frame_start: Option<Instant>,
}

impl App {
    /// The window's state, with a session of its own and the first study under way.
    pub fn new(creation: &eframe::CreationContext<'_>, options: AppOptions) -> Self {
        let drawn_by = creation.wgpu_render_state.as_ref().map(|state| Adapter::of(&state.adapter));
        let lower_priority = drawn_by == Some(Adapter::Software);
        let (cache, trace) = (options.cache.clone(), options.trace.clone());
        let session_options = SessionOptions { lower_priority, cache, trace, ..SessionOptions::default() };
        let session = Session::with_options(session_options, waker(&creation.egui_ctx));
        Self::with_session(creation, options, session)
    }

    /// The same with a session that was made elsewhere, which wakes the window by a repaint of its context.
    pub fn with_session(creation: &eframe::CreationContext<'_>, options: AppOptions, session: Session) -> Self {
        let ctx = creation.egui_ctx.clone();
        theme::apply(&ctx);
        let preferences = Preferences::load(creation.storage);
        let mut adapter = "no graphics adapter".to_owned();
        if let Some(state) = &creation.wgpu_render_state {
            slice_paint::install(state);
            adapter = state.adapter.get_info().name;
        }
        options.trace.record("window", &[]);
        // What was done here the last time is not there.
        let last = last_session(creation.storage, options.cache.folder());
        let keeps_unread = last.is_err();
        let (offered, about_last) = last.unwrap_or_else(|notice| (None, Some(notice)));
        let offered = offered.filter(|_| session.remote().is_none());
        let devices = if session.remote().is_some() { DeviceList::elsewhere() } else { DeviceList::start(waker(&ctx)) };
        let drawn_by = creation.wgpu_render_state.as_ref().map(|state| Adapter::of(&state.adapter));
        let start = options.start.clone();
        let mut app = Self {
            session,
            study: StudyState::default(),
            runs: Runs::new(RunView::new(ColourScale::automatic(preferences.palette), waker(&ctx)), waker(&ctx)),
            slices: SliceState::new(preferences.view()),
            rois: RoiState::default(),
            profile: ProfileCache::default(),
            profile_beside: ProfileCache::default(),
            difference: DifferenceTable::default(),
            numbers: BottomTab::default(),
            plots: PlotOptions::default(),
            devices,
            notices: Notices::default(),
            dialogs: Dialogs::new(options.desktop_dialogs),
            file_jobs: Vec::new(),
            saved: SavedWork::default(),
            leaving: None,
            offered,
            restoring: None,
            is_kept: true,
            keeps_unread,
            may_close: false,
            preferences,
            options,
            memory: MemoryMeter::default(),
            frames: FrameMeter::default(),
            adapter,
            drawn_by,
            graphics: creation.wgpu_render_state.clone(),
            is_help_open: false,
            keys_were_taken: false,
            title: String::new(),
            uploaded_beside: None,
            frame_start: None,
        };
        about_last.into_iter().for_each(|notice| app.notify(&ctx, notice));
        app.open(&ctx, start);
        app
    }

    /// Whether the run that is shown is over, one way or another.
    pub fn is_run_over(&self) -> bool {
        self.run().live.run > 0 && !self.run().live.state.is_active()
    }

    /// Writes the numbers of all runs that are shown as CSV, in Bq/mL where the scan is calibrated.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn export_csv(&self, path: &Path) -> Result<(), IoError> {
        let views = self.runs.kept().iter().chain([self.run()]);
        export::write_csv(path, views.map(|view| (&view.live, self.calibration_of_run(&view.live))))
    }

    /// The study that is open.
    pub fn study(&self) -> Option<&Study<Data>> {
        self.study.open.as_ref().map(|open| &*open.study)
    }

    /// The counts that are open.
    pub fn counts(&self) -> Option<&Counts> {
        Some(&self.study.open.as_ref()?.counts()?.counts)
    }

    /// The EPRI sweep that is open, as runs reconstruct it.
    pub fn acquisition(&self) -> Option<&Acquisition> {
        self.study.sweep().map(|open| &open.acquisition)
    }

    /// How like the reference run's the newest image of a race is, or why that is not known; `None` without a race.
    pub fn likeness(&self) -> Option<Result<Similarity, String>> {
        likeness(&self.run().live, self.runs.reference())
    }

    /// Whether a study is on its way.
    pub fn is_loading(&self) -> bool {
        self.study.loading.is_some()
    }

    /// The tubes of response of the open counts.
    pub fn tubes(&self) -> Option<&OpenTubes> {
        self.study.tubes()
    }

    /// Whether tubes of response are on their way.
    pub fn awaits_tubes(&self) -> bool {
        self.study.tube_maker.is_some()
    }

    /// The run that is watched and edited.
    pub(super) fn run(&self) -> &RunView {
        self.runs.active()
    }

    /// The runs that are kept, oldest first.
    pub fn kept_runs(&self) -> impl Iterator<Item = &LiveRun> {
        self.runs.kept().iter().map(|view| &view.live)
    }

    /// The run that the one on the screen is compared with.
    pub fn reference(&self) -> Option<&Reference> {
        self.runs.reference()
    }

    /// The devices to choose from that are known so far.
    pub fn devices(&self) -> &[Device] {
        self.devices.known()
    }

    /// The document: what the user edits.
    pub fn document(&self) -> &Document {
        &self.rois.document
    }

    /// The run as it is known.
    pub fn live(&self) -> &LiveRun {
        &self.run().live
    }

    /// What the plots draw of the run.
    pub fn curves(&self) -> &Curves {
        self.run().curves()
    }

    /// The image on the screen.
    pub fn shown(&self) -> &DisplayedImage {
        &self.run().shown
    }

    /// What the next start will need, or why it will be refused; `None` while that is not known.
    pub fn next_start(&self) -> Option<&Result<Forecast, String>> {
        self.run().next_start().filter(|_| self.study.open.is_some())
    }

    /// What the slices show.
    pub fn view(&self) -> &ViewState {
        &self.slices.view
    }

    /// Palette and window of the image on the screen.
    pub fn colouring(&self) -> &ColourScale {
        &self.run().colouring
    }

    /// What draws the slices.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// All notices.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Adds a notice.
    pub(super) fn notify(&mut self, ctx: &Context, notice: Notice) {
        self.notices.push(notice, ctx.input(|input| input.time));
    }

    /// Brings everything that is derived from image, run and document up to date.
    fn derive(&mut self, frame: &eframe::Frame, ctx: &Context) {
        if self.numbers == BottomTab::Tube
            && let Some(tubes) = self.study.tubes_mut()
        {
            tubes.update(ctx);
        }
        let run = self.runs.active_mut();
        if self.numbers == BottomTab::Sweep
            && let Some(open) = self.study.sweep_mut()
        {
            // Of the run that made the image, not of the next one.
            let of_image = run.running.as_ref().unwrap_or(&run.forms).filter();
            open.update(ctx, &of_image, &run.forms.filter());
        }
        run.derive(&mut self.rois);
        let scale = self.scale();
        let run = self.runs.active_mut();
        let image = (run.live.run, run.shown.generation());
        self.profile.update(&self.slices.view, image, run.shown.volume(), self.study.truth(), scale);
        let slices = run.grid_shown().and_then(|grid| self.slices.view.slices_at(grid));
        if let Some(state) = frame.wgpu_render_state()
            && let Some((id, volume)) = run.shown.take_for_upload(slices)
        {
            let uploaded = slice_paint::upload(state, VolumeSlot::First, volume.grid.size, volume.as_slice());
            let figures = [("run", id.run as f64), ("iteration", id.iteration as f64), ("subiteration", id.subiteration as f64)];
            self.options.trace.record("iterate_shown", &figures);
            if let Err(error) = uploaded {
                self.notify(ctx, Notice::error(error.to_string()));
            }
        }
        self.derive_beside(frame, ctx);
    }

    /// The same for the runs that are kept, and for the image of the reference: where it is shown beside, and its profile.
    fn derive_beside(&mut self, frame: &eframe::Frame, ctx: &Context) {
        self.runs.derive_kept();
        if let Some(wait) = self.runs.curves_wait() {
            ctx.request_repaint_after(wait);
        }
        self.runs.link(&self.session);
        let scale = self.scale();
        let beside = self.runs.beside().and_then(|(_, image)| Some((image.generation(), image.volume()?)));
        let image = beside.map_or(0, |(generation, _)| generation);
        self.profile_beside.update(&self.slices.view, (0, image), beside.map(|(_, volume)| volume), None, scale);
        let own = self.runs.active().shown.volume().zip(beside);
        let own = own.filter(|(own, (_, other))| own.grid.same_as(&other.grid));
        match own.filter(|_| self.slices.view.beside == CompareMode::Difference) {
            Some((own, other)) => {
                let generation = self.runs.active().shown.generation();
                self.difference.update(self.rois.masked(), [(generation, own), other]);
            }
            None => self.difference = DifferenceTable::default(),
        }
        if let Some(state) = frame.wgpu_render_state()
            && let Some((generation, volume)) = beside
            && self.slices.view.beside != CompareMode::Off
            && self.uploaded_beside != Some(generation)
        {
            self.uploaded_beside = Some(generation);
            if let Err(error) = slice_paint::upload(state, VolumeSlot::Second, volume.grid.size, volume.as_slice()) {
                self.notify(ctx, Notice::error(error.to_string()));
            }
        }
    }

    /// Lets the widths of the profile's peaks be measured over the iterations while they are drawn.
    fn send_line(&mut self) {
        let (view, is_drawn) = (&self.slices.view, self.plots.profile == ProfileCurves::Widths);
        self.runs.send_line(|grid| is_drawn.then(|| peak_line(view, grid)), &self.session);
    }

    /// Names study and device in the window's title.
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

    /// Asks for another frame where something moves by itself.
    fn schedule(&self, ctx: &Context) {
        let is_coming = self.study.loading.is_some() || self.study.tube_maker.is_some() || self.study.matrix_maker.is_some();
        if is_coming || self.run().live.is_being_set_up() {
            ctx.request_repaint_after(Duration::from_millis(100));
        }
        if self.rois.undo.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(350));
        }
        if !self.is_kept {
            // Work is kept in a frame.
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
        let spin_secs = if self.drawn_by == Some(Adapter::Software) { 0.2 } else { 0.03 };
        self.slices.spin(&ctx, spin_secs);
        let actions = self.panels(ui);
        let acted = !actions.is_empty();
        for action in actions {
            self.apply(&ctx, action);
        }
        // At once, so that they are measured while this frame is painted, and the next one shows it.
        let is_held = ctx.input(|input| input.pointer.any_down());
        self.runs.send_rois(self.rois.masked(), is_held, &self.session);
        self.send_line();
        self.rois.undo.feed(ctx.input(|input| input.time), &self.rois.document);
        if acted {
            self.is_kept = false;
            ctx.request_repaint();
        }
        if self.options.trace.is_on() {
            self.trace_frame(frame);
        }
    }

    /// The panels are not filled: drawn by the processor, filling the window costs as much as the slices.
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        let palette = self.run().colouring.usual_palette;
        self.preferences.save(palette, &self.slices.view, storage);
        self.keep_session(storage);
        self.is_kept = true;
    }
}

impl App {
    /// Times of this frame's own code, and of the whole frame before it (with drawing).
    fn trace_frame(&self, frame: &eframe::Frame) {
        let own = self.frame_start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let before = f64::from(frame.info().cpu_usage.unwrap_or_default());
        self.options.trace.record("frame", &[("code_secs", own), ("frame_before_secs", before)]);
    }
}
