//! The window as a whole: what it holds, and what each frame does.

use std::path::Path;
use std::time::{Duration, Instant};

use egui::{Context, Ui};

use super::dialogs::Dialogs;
use super::leaving::{Leaving, SavedWork};
use super::prefs::Preferences;
use super::status::MemoryMeter;
use crate::data::{Notice, Roi, RoiPlane, Study};
use crate::geometry::Point;
use crate::io::IoError;
use crate::plan::{Acquisition, Device, DeviceChoice, Forecast};
use crate::render::{Palette, is_software};
use crate::session::{EventKind, Kept, Session, SessionOptions, Trace};
use crate::ui::numbers::tabs::NumbersTab;
use crate::ui::rois::document::{Document, History};
use crate::ui::rois::measured::TableCache;
use crate::ui::run::curves::Curves;
use crate::ui::run::devices::DeviceList;
use crate::ui::run::export;
use crate::ui::run::fbp_form::FbpForm;
use crate::ui::run::forecast::Forecaster;
use crate::ui::run::live::LiveRun;
use crate::ui::run::post_filter::PostFilter;
use crate::ui::run::settings::SettingsForm;
use crate::ui::run::shown::{IterateId, Shown};
use crate::ui::slices::action::Drag;
use crate::ui::slices::slice_paint;
use crate::ui::slices::view::{ViewState, active_bounds_mm};
use crate::ui::study::loader::{Loading, Source};
use crate::ui::study::open_study::OpenStudy;
use crate::ui::study::open_sweep::OpenSweep;
use crate::ui::widgets::notices::Notices;
use crate::ui::widgets::theme;

/// Longest time that a frame spends on the session's events.
const EVENT_TIME: Duration = Duration::from_millis(10);

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
    /// Where the time line goes.
    pub trace: Trace,
}

/// A drag in the slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveDrag {
    pub drag: Drag,
    pub plane: RoiPlane,
    pub from: Point,
    pub last: Point,
}

/// The window.
pub struct App {
    pub(super) session: Session,
    pub(super) study: Option<OpenStudy>,
    pub(super) loading: Option<Loading>,
    pub(super) form: SettingsForm,
    pub(super) fbp_form: FbpForm,
    devices: DeviceList,
    /// What the next start will need.
    pub(super) forecaster: Forecaster,
    /// The forms as they were when the run began.
    pub(super) running_forms: Option<(SettingsForm, FbpForm)>,
    /// Number of the study that is open, counted up.
    pub(super) study_number: usize,
    pub(super) live: LiveRun,
    pub(super) shown: Shown,
    /// The run before, whose image may still be on the screen.
    pub(super) left: LiveRun,
    /// Full iterations that the session keeps; of a sweep numbers of projections.
    pub(super) kept: Vec<usize>,
    pub(super) view: ViewState,
    pub(super) drag: Option<ActiveDrag>,
    pub(super) draft: Option<Roi>,
    pub(super) document: Document,
    pub(super) undo: History,
    pub(super) selected: Option<usize>,
    /// Number of the ROI edit sent last, and its ROIs.
    pub(super) branch: u64,
    pub(super) sent_rois: Vec<Roi>,
    pub(super) post_filter: PostFilter,
    pub(super) post_filter_mm: f64,
    /// Whether the table of regions leaves the filter out.
    pub(super) measure_unfiltered: bool,
    pub(super) notices: Notices,
    pub(super) dialogs: Dialogs,
    /// What need not be asked about before the window is closed or another study opened; and the question.
    pub(super) saved: SavedWork,
    pub(super) leaving: Option<Leaving>,
    /// Whether the window may close without a question.
    pub(super) may_close: bool,
    pub(super) preferences: Preferences,
    pub(super) path_text: String,
    pub(super) options: AppOptions,
    /// What the left part of the bottom panel shows.
    pub(super) numbers: NumbersTab,
    /// Slice plane that the pointer was in last.
    pub(super) active_plane: RoiPlane,
    pub(super) table: TableCache,
    pub(super) curves: Curves,
    curves_are_old: bool,
    pub(super) memory: MemoryMeter,
    pub(super) adapter: String,
    pub(super) has_renderer: bool,
    /// Whether the keys were no shortcuts when the last frame ended.
    pub(super) keys_were_taken: bool,
    title: String,
    frame_start: Option<Instant>,
}

impl App {
    /// The window's state, with its session and the first study under way.
    pub fn new(creation: &eframe::CreationContext<'_>, options: AppOptions) -> Self {
        let ctx = creation.egui_ctx.clone();
        theme::apply(&ctx);
        let preferences = Preferences::load(creation.storage);
        let mut adapter = "no graphics adapter".to_owned();
        let mut lower_priority = false;
        if let Some(state) = &creation.wgpu_render_state {
            slice_paint::install(state);
            adapter = state.adapter.get_info().name;
            lower_priority = is_software(&state.adapter);
        }
        let session_options = SessionOptions { lower_priority, trace: options.trace.clone(), ..SessionOptions::default() };
        let session = Session::with_options(session_options, waker(&ctx));
        let loading = Some(Loading::start(options.start.clone(), waker(&ctx)));
        options.trace.record("window", &[]);
        let view = ViewState {
            palette: preferences.palette,
            usual_palette: preferences.palette,
            interpolation: preferences.interpolation,
            ..ViewState::default()
        };
        Self {
            session,
            study: None,
            loading,
            form: SettingsForm::default(),
            fbp_form: FbpForm::default(),
            devices: DeviceList::start(waker(&ctx)),
            forecaster: Forecaster::start(waker(&ctx)),
            running_forms: None,
            study_number: 0,
            live: LiveRun::default(),
            shown: Shown::default(),
            left: LiveRun::default(),
            kept: Vec::new(),
            view,
            drag: None,
            draft: None,
            document: Document::default(),
            undo: History::default(),
            selected: None,
            branch: 0,
            sent_rois: Vec::new(),
            post_filter: PostFilter::start(waker(&ctx)),
            post_filter_mm: 0.0,
            measure_unfiltered: false,
            notices: Notices::default(),
            dialogs: Dialogs::new(options.desktop_dialogs),
            saved: SavedWork::default(),
            leaving: None,
            may_close: false,
            preferences,
            path_text: String::new(),
            options,
            numbers: NumbersTab::default(),
            active_plane: RoiPlane::Transaxial,
            table: TableCache::default(),
            curves: Curves::default(),
            curves_are_old: true,
            memory: MemoryMeter::default(),
            adapter,
            has_renderer: creation.wgpu_render_state.is_some(),
            keys_were_taken: false,
            title: String::new(),
            frame_start: None,
        }
    }

    /// Whether the run that is shown is over, one way or another.
    pub fn is_run_over(&self) -> bool {
        self.live.run > 0 && !self.live.state.is_active()
    }

    /// Writes the numbers of the run as CSV.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn export_csv(&self, path: &Path) -> Result<(), IoError> {
        export::write_csv(path, &self.live)
    }

    /// The counts that are open.
    pub fn study(&self) -> Option<&Study> {
        match &self.study {
            Some(OpenStudy::Counts(open)) => Some(&open.study),
            _ => None,
        }
    }

    /// The EPRI sweep that is open, as runs reconstruct it.
    pub fn acquisition(&self) -> Option<&Acquisition> {
        self.sweep().map(|open| &open.acquisition)
    }

    pub(super) fn sweep(&self) -> Option<&OpenSweep> {
        self.study.as_ref().and_then(OpenStudy::sweep)
    }

    /// The devices to choose from that are known so far.
    pub fn devices(&self) -> &[Device] {
        self.devices.known()
    }

    /// The document: what the user edits.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The run as it is known.
    pub fn live(&self) -> &LiveRun {
        &self.live
    }

    /// What the plots draw of the run.
    pub fn curves(&self) -> &Curves {
        &self.curves
    }

    /// The image on the screen.
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// What the next start will need, or why it will be refused; `None` while that is not known.
    pub fn next_start(&self) -> Option<&Result<Forecast, String>> {
        self.forecaster.known().map(|(_, forecast)| forecast).filter(|_| self.study.is_some())
    }

    /// What the slices show.
    pub fn view(&self) -> &ViewState {
        &self.view
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

    /// Takes in what came from other threads: studies, dialogs, events, volumes (in this order; events before volumes).
    fn receive(&mut self, ctx: &Context) {
        // While a question is open the study waits for its answer.
        let loading = self.loading.as_ref().filter(|_| self.leaving.is_none());
        if let Some(outcome) = loading.and_then(Loading::poll) {
            self.finish_loading(ctx, outcome);
        }
        self.devices.poll();
        match self.dialogs.poll() {
            Some((task, Some(path))) => self.take_from_desktop(ctx, task, path),
            Some((task, None)) => self.was_not_saved(task),
            None => {}
        }
        let dropped = ctx.input(|input| input.raw.dropped_files.first().map(|file| file.path().to_owned()));
        if let Some(path) = dropped {
            self.open(ctx, Source::File(path));
        }
        self.receive_news(ctx);
        self.receive_events(ctx);
        if let Some(frame) = self.session.take_frame() {
            self.receive_frame(frame);
        }
        self.filter();
        self.look_ahead();
        self.look_for_close(ctx);
    }

    /// What a feed tells of its file.
    fn receive_news(&mut self, ctx: &Context) {
        let feed = self.sweep().and_then(|open| open.feed.as_ref());
        let news: Vec<Notice> = feed.map(|feed| feed.notices().try_iter().collect()).unwrap_or_default();
        news.into_iter().for_each(|notice| self.notify(ctx, notice));
    }

    fn receive_events(&mut self, ctx: &Context) {
        let begin = Instant::now();
        let mut any = false;
        while begin.elapsed() < EVENT_TIME {
            let Ok(event) = self.session.events().try_recv() else { break };
            any = true;
            self.live.apply(&event);
            // What a run said that is no longer watched would be taken for a word on this one; run 0 is the session itself.
            match event.kind {
                _ if event.run != self.live.run && event.run != 0 => {}
                EventKind::Notice(notice) => self.notify(ctx, notice),
                EventKind::Failed(text) => self.notify(ctx, Notice::error(text)),
                _ => {}
            }
        }
        if any {
            self.curves_are_old = true;
            self.kept = self.history().map(|kept| self.number_of_kept(&kept)).collect();
        }
        if !self.session.events().is_empty() {
            ctx.request_repaint();
        }
    }

    fn receive_frame(&mut self, frame: crate::session::Frame) {
        if frame.run != self.live.run {
            self.session.return_frame(frame);
            return;
        }
        if self.shown.chosen().is_none_or(|(_, volume)| volume.grid != frame.volume.grid) {
            self.view.reset_for(&frame.volume.grid);
            // Of a phantom the object is known before it is reconstructed.
            let truth = self.study.as_ref().and_then(OpenStudy::truth);
            if let Some(bounds) = truth.and_then(active_bounds_mm) {
                self.view.fit(&frame.volume.grid, bounds, if self.sweep().is_some() { 3 } else { 2 });
            }
        }
        if let Some(before) = self.shown.set_newest(frame) {
            self.session.return_frame(before);
        }
    }

    /// Keeps the filtered image up to date.
    fn filter(&mut self) {
        if let Some(filtered) = self.post_filter.poll()
            && self.post_filter_mm > 0.0
        {
            self.shown.set_filtered(Some(filtered));
        }
        if self.post_filter_mm > 0.0
            && let Some((id, volume)) = self.shown.chosen()
        {
            self.post_filter.ask(id, volume, self.post_filter_mm);
        }
    }

    /// Brings everything that is derived from image, run and document up to date.
    fn derive(&mut self, frame: &eframe::Frame, ctx: &Context) {
        if self.view.auto_palette {
            let palette = if self.shown.is_signed() { Palette::Signed } else { self.view.usual_palette };
            self.view.set_palette(palette);
        }
        if self.view.auto_window {
            self.view.window = self.shown.auto_window(self.view.palette);
        }
        let filter = self.fbp_form.filter_settings();
        if self.numbers == NumbersTab::Sweep
            && let Some(open) = self.study.as_mut().and_then(OpenStudy::sweep_mut)
        {
            open.update(ctx, &filter);
        }
        let measured = if self.measure_unfiltered { self.shown.unfiltered() } else { self.shown.volume() };
        match measured {
            Some(volume) => {
                self.table.update(&self.document.rois, volume, (self.shown.generation(), self.measure_unfiltered));
            }
            None => self.table = TableCache::default(),
        }
        if std::mem::take(&mut self.curves_are_old) {
            self.curves = Curves::of(&self.live);
        }
        let id = self.shown.id();
        if let Some(state) = frame.wgpu_render_state()
            && let Some(volume) = self.shown.take_for_upload()
        {
            let uploaded = slice_paint::upload(state, volume.grid.size, volume.as_slice());
            if let Some(id) = id {
                let figures =
                    [("run", id.run as f64), ("iteration", id.iteration as f64), ("subiteration", id.subiteration as f64)];
                self.options.trace.record("iterate_shown", &figures);
            }
            if let Err(error) = uploaded {
                self.notify(ctx, Notice::error(error.to_string()));
            }
        }
    }

    /// Names study and device in the window's title.
    fn set_title(&mut self, ctx: &Context) {
        let study = self.study.as_ref().map_or("no study", OpenStudy::title);
        let device =
            self.live.info.as_ref().map_or("no device in use".into(), |info| format!("{} · {}", info.device, info.projector));
        let title = format!("tomoscope – {study} – {device}");
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Watches this run from now on: nothing of the one before stays but its image, until there is another.
    pub(super) fn watch(&mut self, live: LiveRun) {
        let before = std::mem::replace(&mut self.live, live);
        if self.shown.id().is_some_and(|id| id.run == before.run) {
            self.left = before;
        }
        self.kept.clear();
        self.curves_changed();
    }

    /// The images of the past of the run that is watched, oldest first. Before it is set up the session still has those of
    /// the one before.
    pub(super) fn history(&self) -> impl Iterator<Item = Kept> + use<> {
        let run = self.live.run;
        self.session.history().into_iter().filter(move |kept| kept.run == run)
    }

    /// The run's curves must be made anew.
    pub(super) fn curves_changed(&mut self) {
        self.curves_are_old = true;
    }

    pub(super) fn unit(&self) -> &'static str {
        self.shown.volume().map_or("", |volume| volume.unit.label())
    }

    /// The image on the screen and the run that made it: the one that is watched, or still the one before.
    pub(super) fn shown_of(&self) -> Option<(IterateId, &LiveRun)> {
        let id = self.shown.id()?;
        [&self.live, &self.left].into_iter().find(|live| live.run == id.run).map(|live| (id, live))
    }

    /// The number by which an image of the past is called: of the iteration, of a sweep of the projections.
    pub(super) fn number_of_kept(&self, kept: &Kept) -> usize {
        if self.live.is_sweep() { kept.subiteration } else { kept.iteration }
    }

    /// Asks for another frame where something moves by itself.
    fn schedule(&self, ctx: &Context) {
        if self.loading.is_some() {
            ctx.request_repaint_after(Duration::from_millis(100));
        }
        if self.undo.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(350));
        }
    }
}

/// A closure that wakes the window from another thread.
fn waker(ctx: &Context) -> impl Fn() + Send + 'static {
    let ctx = ctx.clone();
    move || ctx.request_repaint()
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.frame_start = Some(Instant::now());
        self.receive(ctx);
        self.send_rois(ctx);
        self.schedule(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        self.derive(frame, &ctx);
        self.set_title(&ctx);
        let actions = self.panels(ui);
        let acted = !actions.is_empty();
        for action in actions {
            self.apply(&ctx, action);
        }
        self.undo.feed(ctx.input(|input| input.time), &self.document);
        if acted {
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
        self.preferences.save(&self.view, storage);
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
