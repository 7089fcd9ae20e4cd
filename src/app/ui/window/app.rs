//! The window as a whole: the workspace, the tools, and the work of each frame.

use std::time::{Duration, Instant};

use egui::{Context, Ui};

use super::film_job::FilmJob;
use super::status::{FrameMeter, MemoryMeter};
use crate::data::Notice;
use crate::remote::Remote;
use crate::session::{Session, SessionOptions};
use crate::ui::slices::slice_paint;
use crate::ui::slices::slice_paint::Adapter;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::tools;
use crate::ui::tools::tool::Tool;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::widgets::theme;
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::persistence::last_session::last_session;
use crate::ui::workspace::persistence::prefs::Preferences;
use crate::ui::workspace::persistence::saved_session::SavedTools;
use crate::ui::workspace::state::{AppOptions, Graphics, Request, Workspace};
use crate::webgpu;

pub struct App {
    pub work: Workspace,
    pub(super) tools: Vec<(Pane, Box<dyn Tool>)>,
    /// Film that is being taken.
    pub(super) film: Option<FilmJob>,
    /// Typed name of a new arrangement of the panes.
    pub(super) arrangement_name: String,
    pub(super) memory: MemoryMeter,
    pub(super) frames: FrameMeter,
    /// True if a widget received the keys at the end of the last frame.
    pub(super) were_keys_taken: bool,
    /// True if no request followed the last storing of the session.
    is_stored: bool,
    title: String,
    frame_start: Option<Instant>,
}

impl App {
    /// Returns the window with a new session; the first study is being loaded.
    pub fn new(creation: &eframe::CreationContext<'_>, options: AppOptions) -> Self {
        let adapter = creation.wgpu_render_state.as_ref().map(|state| Adapter::of(&state.adapter));
        let lower_priority = adapter == Some(Adapter::Software);
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
        let graphics = graphics(creation, remote.is_none());
        options.trace.record("window", &[]);
        let last = last_session(creation.storage, options.cache.folder());
        let start = options.start.clone();
        let mut work = Workspace::new(ctx, (session, remote), preferences, options, graphics);
        work.sessions.has_unreadable = last.is_err();
        let (offered, about_last) = last.unwrap_or_else(|notice| (None, Some(notice)));
        work.sessions.offered = offered.filter(|_| work.remote.is_none());
        work.notify_all(about_last);
        work.open(start);
        Self {
            work,
            tools: tools::all(),
            film: None,
            arrangement_name: String::new(),
            memory: MemoryMeter::default(),
            frames: FrameMeter::default(),
            were_keys_taken: false,
            is_stored: true,
            title: String::new(),
            frame_start: None,
        }
    }

    /// Returns the titles of the tables that the open study has.
    pub fn table_titles(&self) -> Vec<&'static str> {
        let tables = self.tools.iter().filter(|(pane, tool)| matches!(pane, Pane::Table(_)) && tool.is_for(&self.work));
        tables.map(|(_, tool)| tool.title(&self.work)[0]).collect()
    }

    /// Returns a tool by its type.
    pub fn tool<T: Tool>(&self) -> Option<&T> {
        self.tools.iter().find_map(|(_, tool)| (&**tool as &dyn std::any::Any).downcast_ref())
    }

    /// Carries out the file tasks that need the drawn window or a tool.
    fn receive_files(&mut self) {
        for (task, path) in std::mem::take(&mut self.work.files.for_window) {
            let done = match task {
                FileTask::SavePicture(area) => self.save_picture(area, &path).map(|()| None),
                FileTask::SaveFilm(film) => self.start_film(film, &path).map(|()| None),
                FileTask::SaveSession => self.work.save_session(&path, self.saved_tools()).map(|()| Some("saved")),
                FileTask::OfTool(file) => {
                    let tool = self.tools.iter_mut().find(|(pane, _)| *pane == Pane::table(file.tool));
                    tool.map_or(Ok(()), |(_, tool)| tool.take_file(&mut self.work, file, &path)).map(|()| None)
                }
                _ => Ok(None),
            };
            if let Some(outcome) = done.transpose() {
                self.work.report_file(task, &path, outcome);
            }
        }
    }

    /// Returns the parts of the tools in a session.
    fn saved_tools(&self) -> SavedTools {
        let saved = |(pane, tool): &(Pane, Box<dyn Tool>)| match pane {
            Pane::Table(key) | Pane::Plot(key) => Some((key.to_string(), tool.saved()?)),
            Pane::Side | Pane::Image => None,
        };
        self.tools.iter().filter_map(saved).chain(self.work.sessions.unknown.clone()).collect()
    }

    /// Gives the tools their parts of a restored session.
    fn restore_tools(&mut self) {
        let Some((table, mut saved)) = self.work.sessions.of_tools.take() else { return };
        for (pane, tool) in &mut self.tools {
            let (Pane::Table(key) | Pane::Plot(key)) = &*pane else { continue };
            if let Err(error) = tool.restore(saved.remove(&**key)) {
                self.work.notify(Notice::error(format!("not restored from the session: {key}: {error}")));
            }
            if **key == table && tool.is_for(&self.work) {
                self.work.panes.show(pane);
            }
        }
        if !self.tools.iter().any(|(pane, _)| *pane == Pane::Table(table.clone().into())) {
            self.work.notify(Notice::warning(format!("the session has an unknown table in front: {table}")));
        }
        if !saved.is_empty() {
            let unknown = saved.keys().cloned().collect::<Vec<_>>().join(", ");
            let text = format!("not restored from the session, because this version has no part of this name: {unknown}");
            self.work.notify(Notice::warning(text));
        }
        self.work.sessions.unknown = saved;
    }

    /// Sets the title of the window: study and device.
    fn set_title(&mut self) {
        let study = self.work.study.open.as_ref().map_or("no study", OpenStudy::title);
        let info = self.work.live().info.as_ref();
        let device = info.map_or("no device in use".into(), |info| format!("{} · {}", info.device, info.projector));
        let title = format!("tomoscope – {study} – {device}");
        if title != self.title {
            self.work.ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Requests frames for progress, undo points and storing of the session.
    fn schedule(&self) {
        let (study, ctx) = (&self.work.study, &self.work.ctx);
        let is_coming = study.loading.is_some() || study.tube_maker.is_some() || study.matrix_maker.is_some();
        if is_coming || self.work.live().is_being_set_up() {
            ctx.request_repaint_after(Duration::from_millis(100));
        }
        if self.work.rois.undo.is_in_flux() {
            ctx.request_repaint_after(Duration::from_millis(350));
        }
        if !self.is_stored {
            // Storing needs a frame.
            ctx.request_repaint_after(eframe::App::auto_save_interval(self) + Duration::from_secs(1));
        }
    }

    /// Records the time of the code in this frame, and of the previous frame with drawing.
    fn trace_frame(&self, frame: &eframe::Frame) {
        let code_secs = self.frame_start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let before = f64::from(frame.info().cpu_usage.unwrap_or_default());
        self.work.options.trace.record("frame", &[("code_secs", code_secs), ("frame_before_secs", before)]);
    }
}

/// Returns the graphics adapter of a window. `shares`: true if a solver may compute on it.
fn graphics(creation: &eframe::CreationContext<'_>, shares: bool) -> Graphics {
    let Some(state) = &creation.wgpu_render_state else {
        return Graphics { name: "no graphics adapter".to_owned(), ..Graphics::default() };
    };
    slice_paint::install(state);
    Graphics {
        name: state.adapter.get_info().name,
        kind: Some(Adapter::of(&state.adapter)),
        state: Some(state.clone()),
        window: shares.then(|| webgpu::share_window(&state.adapter, &state.device, &state.queue)),
        uploaded_layer: None,
    }
}

impl eframe::App for App {
    fn logic(&mut self, _ctx: &Context, _frame: &mut eframe::Frame) {
        self.frame_start = Some(Instant::now());
        // With the image and the numbers that were drawn when the dialog closed.
        self.work.receive_dialog();
        self.receive_files();
        self.work.receive();
        self.restore_tools();
        self.receive_files();
        self.schedule();
    }

    fn ui(&mut self, ui: &mut Ui, frame: &mut eframe::Frame) {
        self.work.derive();
        for (pane, tool) in &mut self.tools {
            let is_drawn = self.work.panes.is_drawn(pane);
            tool.update(&mut self.work, is_drawn);
        }
        self.set_title();
        let spin_secs = if self.work.graphics.kind == Some(Adapter::Software) { 0.2 } else { 0.03 };
        self.work.slices.spin(ui.ctx(), spin_secs);
        let mut requests: Vec<Request> = Vec::new();
        self.panels(ui, &mut requests);
        let has_requests = !requests.is_empty();
        requests.into_iter().for_each(|request| request(&mut self.work));
        self.restore_tools();
        self.receive_files();
        self.advance_film();
        // Before painting, so that the solver measures meanwhile and the next frame shows the numbers.
        let is_held = ui.input(|input| input.pointer.any_down());
        let work = &mut self.work;
        work.runs.send_rois(work.rois.masked(), is_held, &work.session);
        work.rois.undo.feed_state(ui.input(|input| input.time), &work.rois.document);
        if has_requests {
            self.is_stored = false;
            ui.ctx().request_repaint();
        }
        if self.work.options.trace.is_on() {
            self.trace_frame(frame);
        }
    }

    /// Returns the background of all panels: with a software renderer, filling them would cost as much as the slices.
    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        let tools = self.saved_tools();
        self.work.store(storage, tools);
        self.is_stored = true;
    }
}
