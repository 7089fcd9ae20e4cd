//! The status line: device, projector, accumulation, iteration, speed; notices.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use egui::containers::menu::{MenuButton, MenuConfig};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::film_job::FilmJob;
use crate::operator::Accumulation;
use crate::remote::{ConnectionState, Remote};
use crate::ui::rois::search::RoiSearch;
use crate::ui::run::accumulations::GATHERED;
use crate::ui::run::live::LiveRun;
use crate::ui::study::open::open_sweep::Arrivals;
use crate::ui::tools::run::scrubber::history_ui;
use crate::ui::widgets::fields::push_if_clicked;
use crate::ui::widgets::format;
use crate::ui::widgets::icons::{self, IconButton, Prominence};
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace, request};

const MEMORY_INTERVAL: Duration = Duration::from_secs(2);

/// Memory of the program, queried at intervals.
pub struct MemoryMeter {
    system: Option<System>,
    pid: Option<Pid>,
    queried: Option<Instant>,
    bytes: Option<u64>,
}

impl Default for MemoryMeter {
    fn default() -> Self {
        Self { system: System::new().ok(), pid: sysinfo::get_current_pid().ok(), queried: None, bytes: None }
    }
}

impl MemoryMeter {
    /// Returns the resident bytes; `None` if the system does not report them.
    pub fn bytes(&mut self) -> Option<u64> {
        if self.queried.is_none_or(|queried| queried.elapsed() >= MEMORY_INTERVAL) {
            self.queried = Some(Instant::now());
            let pid = self.pid?;
            let what = ProcessRefreshKind::nothing().with_memory();
            let system = self.system.as_mut()?;
            system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
            self.bytes = system.process(pid).map(sysinfo::Process::memory);
        }
        self.bytes
    }
}

/// Times of the frames in the last second.
#[derive(Default)]
pub struct FrameMeter(VecDeque<Instant>);

impl FrameMeter {
    /// Counts this frame; returns the number of frames in the last second.
    pub fn count(&mut self) -> usize {
        let now = Instant::now();
        self.0.push_back(now);
        while self.0.front().is_some_and(|frame| now - *frame > Duration::from_secs(1)) {
            self.0.pop_front();
        }
        self.0.len()
    }
}

/// Figures of the program itself; `None` in pictures for comparison.
pub struct Meters {
    /// Resident bytes.
    pub memory_bytes: Option<u64>,
    /// Frames drawn in the last second.
    pub frames_per_sec: Option<usize>,
}

/// Draws the line; returns true if the film is cancelled.
pub fn status_ui(
    work: &Workspace,
    meters: &Meters,
    film: Option<&FilmJob>,
    ui: &mut egui::Ui,
    requests: &mut Vec<Request>,
) -> bool {
    let mut is_cancelled = false;
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
        let text = format!("Notices ({})", work.notices.len());
        let notices = ui.add(IconButton::new(icons::NOTICES, &text).prominence(Prominence::Quiet));
        push_if_clicked(notices, requests, request(|work| work.notices.toggle_list()));
        details_ui(work, meters, ui, requests);
        ui.separator();
        if let Some(remote) = &work.remote {
            remote_ui(remote, !work.options.for_pictures, ui, requests);
            ui.separator();
        }
        if let Some(film) = film {
            is_cancelled = ui.button("Cancel film").clicked();
            ui.label(film.text());
            ui.separator();
        }
        if let Some(search) = work.rois.search.query() {
            push_if_clicked(ui.button("Cancel search"), requests, request(|work| work.rois.search = RoiSearch::default()));
            ui.label(search.text());
            ui.separator();
        }
        // The rest of the line, truncated.
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| run_ui(work, ui));
    });
    is_cancelled
}

/// Draws the menu with graphics adapter, speed of drawing, memory and its limit for stored images.
fn details_ui(work: &Workspace, meters: &Meters, ui: &mut egui::Ui, requests: &mut Vec<Request>) {
    let button = IconButton::new(icons::DETAILS, "Performance").icon_only().prominence(Prominence::Quiet).button(ui.visuals());
    let stays = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let (menu, _) = MenuButton::from_button(button).config(stays).ui(ui, |ui| {
        ui.label(format!("drawn by {}", work.adapter()));
        if let Some(frames) = meters.frames_per_sec {
            ui.label(format!("{frames} frames/s")).on_hover_text("Drawn in the last second; where nothing moves none is");
        }
        if let Some(bytes) = meters.memory_bytes {
            ui.label(format!("memory {}", crate::text::bytes(bytes)));
        }
        let for_pictures = work.options.for_pictures;
        history_ui(if for_pictures { [0, 256 << 20] } else { work.session.history_bytes() }, ui, requests);
    });
    menu.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Performance"));
    menu.on_hover_text("Graphics adapter, frames per second, memory and its limit");
}

/// Draws the server and the state of the connection.
fn remote_ui(remote: &Remote, show_timings: bool, ui: &mut egui::Ui, requests: &mut Vec<Request>) {
    let host = remote.host();
    let broken = |ui: &mut egui::Ui, text: String, help: String| {
        let colour = theme::colours(ui.visuals()).error;
        ui.label(egui::RichText::new(text).color(colour).strong()).on_hover_text(help);
    };
    match remote.connection() {
        ConnectionState::Connecting => _ = ui.label(format!("connecting to {host} …")),
        ConnectionState::Connected => {
            let latency = remote.latency().filter(|_| show_timings);
            let latency = latency.map_or_else(String::new, |time| format!(" · {:.0} ms", 1e3 * time.as_secs_f64()));
            ui.label(format!("{host}{latency}"))
                .on_hover_text("Where the run computes, and how long a message and its answer take");
        }
        ConnectionState::Lost { reason } => broken(ui, format!("no connection to {host}, trying again …"), reason),
        ConnectionState::Failed { reason } => {
            push_if_clicked(
                ui.button("Connect again"),
                requests,
                request(|work| work.remote.as_ref().into_iter().for_each(Remote::reconnect)),
            );
            broken(ui, format!("no connection to {host}"), reason);
        }
        ConnectionState::Closed { reason } => broken(ui, format!("the session on {host} is over"), reason),
    }
}

/// Draws device, projector, accumulation and progress of the run.
fn run_ui(work: &Workspace, ui: &mut egui::Ui) {
    let live = work.live();
    match &live.info {
        Some(info) if info.job.data().images().is_some() => _ = ui.label("image file"),
        Some(info) => {
            ui.label(format!("{} · {}", info.device, info.projector));
            ui.separator();
            accumulation_ui(live, ui);
        }
        None => _ = ui.label("no device in use yet"),
    }
    ui.separator();
    ui.add(egui::Label::new(progress_text(live, work.arrivals(), !work.options.for_pictures)).truncate());
}

fn accumulation_ui(live: &LiveRun, ui: &mut egui::Ui) {
    let Some(accumulation) = live.accumulation() else { return };
    if live.info.as_ref().is_some_and(|info| info.accumulations.is_empty()) {
        ui.label("no race condition").on_hover_text(GATHERED);
        return;
    }
    let mut text = egui::RichText::new(accumulation_text(accumulation));
    if accumulation.has_race() {
        text = text.color(theme::colours(ui.visuals()).error).strong();
    }
    ui.label(text);
}

fn accumulation_text(accumulation: Accumulation) -> &'static str {
    match accumulation {
        Accumulation::Atomic => "atomic",
        Accumulation::NonAtomic => "non-atomic (race, not for diagnosis)",
        Accumulation::Deterministic => "deterministic",
        Accumulation::Reload => "reload",
        Accumulation::RandomCentralAtomic => "random order, central slices atomic (race, not for diagnosis)",
    }
}

fn progress_text(live: &LiveRun, arrivals: Arrivals, show_timings: bool) -> String {
    let (done, total) = live.progress();
    if let Some((what, part, remaining)) = live.making() {
        return format::under_way(&format!("setting up · making {what}"), Some(part), remaining.filter(|_| show_timings));
    }
    if total == 0 {
        return live.state.label().into();
    }
    if live.modality().is_some() && done == total {
        return "read".to_owned();
    }
    let (subsets, course) = (live.num_subsets(), live.iteration_scheme());
    if let Some(num_events) = live.num_events() {
        return format!("{} · {} of {} events", live.state.label(), course.text(done), format::count(num_events as f64));
    }
    if !course.by_iteration {
        let counted = course.counted;
        let speed = arrivals.steps_per_sec(live.steps_per_sec()).filter(|_| show_timings);
        let text = |speed: f64| format!(" · {speed:.digits$} {counted}s/s", digits = usize::from(speed < 10.0));
        let speed = speed.map_or_else(String::new, text);
        return format!("{} · {done} of {total} {counted}s{speed}", live.state.label());
    }
    let mut text = format!("{} · iteration {} of {}", live.state.label(), done / subsets, total / subsets);
    if done % subsets > 0 {
        text += &format!(", subset {} of {subsets}", done % subsets);
    }
    if let Some(speed) = live.steps_per_sec().filter(|_| show_timings) {
        text += &format!(" · {:.2} iterations/s", speed / subsets as f64);
        if subsets > 1 {
            text += &format!(" ({speed:.1} updates/s)");
        }
    }
    text
}
