//! Layout of the window: banner, panes, status line, modal windows.

use egui::Ui;

use super::app::App;
use super::banner::banner_ui;
use super::commands::list::{Group, groups};
use super::commands::search_panel::search_ui;
use super::commands::shortcuts::{help_ui, shortcuts};
use super::dialogs_ui::{dialogs_ui, drop_hint_ui};
use super::panes_ui::{PaneContent, panes_ui};
use super::series_chooser_ui::series_chooser_ui;
use super::status::{Meters, status_ui};
use super::unsaved_ui::unsaved_ui;
use crate::ui::tools::study::list_form_panel::list_form_ui;
use crate::ui::tools::study::tube_form_panel::tube_form_ui;
use crate::ui::tools::tool::Tool;
use crate::ui::widgets::notices::{notice_list_ui, toasts_ui};
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::state::{Request, Workspace, request};

/// The tools while their panes are drawn.
struct Contents<'a> {
    work: &'a Workspace,
    tools: &'a mut [(Pane, Box<dyn Tool>)],
    requests: &'a mut Vec<Request>,
}

impl PaneContent for Contents<'_> {
    fn title(&self, pane: &Pane) -> [&'static str; 2] {
        let tool = self.tools.iter().find(|(of, _)| of == pane);
        tool.map_or([""; 2], |(_, tool)| tool.title(self.work))
    }

    fn draw(&mut self, pane: &Pane, ui: &mut Ui) {
        if let Some((_, tool)) = self.tools.iter_mut().find(|(of, _)| of == pane) {
            tool.ui(self.work, ui, self.requests);
        }
    }
}

impl App {
    /// Draws all panels; adds the requests of the user.
    pub(super) fn panels(&mut self, ui: &mut Ui, requests: &mut Vec<Request>) {
        // The key that removes the focus of a field is no shortcut.
        let has_shortcuts = !self.were_keys_taken && !self.keys_are_taken(ui.ctx());
        if self.work.options.for_pictures {
            // The window has this clear colour.
            ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().panel_fill);
        }
        self.commands_ui(has_shortcuts, ui.ctx(), requests);
        let bar = egui::Frame::side_top_panel(ui.style()).fill(egui::Color32::TRANSPARENT);
        egui::Panel::top("banner").frame(bar).show(ui, |ui| self.banner(ui, requests));
        egui::Panel::bottom("status").frame(bar).show(ui, |ui| self.status(ui, requests));
        egui::CentralPanel::default().frame(egui::Frame::NONE).show(ui, |ui| self.panes_ui(ui, requests));
        let ctx = ui.ctx().clone();
        toasts_ui(&mut self.work.notices, &ctx);
        notice_list_ui(&mut self.work.notices, &ctx);
        self.modal_ui(&ctx, requests);
        drop_hint_ui(&ctx);
        self.were_keys_taken = self.keys_are_taken(&ctx);
    }

    /// Draws the modal window that is open; the question about unsaved work comes first.
    fn modal_ui(&self, ctx: &egui::Context, requests: &mut Vec<Request>) {
        let (study, files) = (&self.work.study, &self.work.files);
        let is_asking = files.dialogs.is_modal();
        if let Some(question) = self.work.leaving.question.as_ref().filter(|question| question.is_asking()) {
            unsaved_ui(question, ctx, requests);
        } else if let Some(form) = &study.tube_form {
            tube_form_ui(form, ctx, requests);
        } else if let Some(form) = study.list_form.as_ref().filter(|_| !is_asking) {
            list_form_ui(form, ctx, requests);
        } else if let Some(chooser) = files.series.as_ref().filter(|_| !is_asking) {
            series_chooser_ui(chooser, ctx, requests);
        } else {
            dialogs_ui(&files.dialogs, self.work.is_anonymous(), ctx, requests);
        }
    }

    /// Returns true if a field, a menu or a modal window receives the keys.
    fn keys_are_taken(&self, ctx: &egui::Context) -> bool {
        ctx.egui_wants_keyboard_input() || egui::Popup::is_any_open(ctx) || self.has_modal()
    }

    fn has_modal(&self) -> bool {
        let Workspace { files, leaving, study, commands, .. } = &self.work;
        let is_asking = files.dialogs.is_modal() || leaving.question.is_some() || study.has_form();
        is_asking || files.series.is_some() || commands.is_list_open || commands.search.is_some()
    }

    /// Returns the panes that the study has, with their titles.
    fn offered(&self) -> Vec<(Pane, &'static str)> {
        let offered = self.tools.iter().filter(|(_, tool)| tool.is_for(&self.work));
        offered.map(|(pane, tool)| (pane.clone(), tool.title(&self.work)[0])).collect()
    }

    /// Returns the commands with an effect: those of the window, and those of each tool that the study has.
    fn commands(&self) -> Vec<Group> {
        let tools = self.tools.iter().filter(|(_, tool)| tool.is_for(&self.work));
        let of_tools = tools.map(|(_, tool)| Group { title: tool.title(&self.work)[0], commands: tool.commands() });
        let mut groups: Vec<Group> = groups(&self.offered()).into_iter().chain(of_tools).collect();
        groups.iter_mut().for_each(|group| group.commands.retain(|command| command.is_enabled(&self.work)));
        groups.retain(|group| !group.commands.is_empty());
        groups
    }

    /// Handles the pressed keys, and draws the list of keys and the search for commands.
    fn commands_ui(&self, has_shortcuts: bool, ctx: &egui::Context, requests: &mut Vec<Request>) {
        let windows = &self.work.commands;
        let has_keys =
            has_shortcuts && ctx.input(|input| input.events.iter().any(|event| matches!(event, egui::Event::Key { .. })));
        if !(has_keys || windows.is_list_open || windows.search.is_some()) {
            return;
        }
        let groups = self.commands();
        if has_keys {
            // Escape first returns a maximised pane to its place.
            let is_maximised = self.work.panes.maximised().is_some();
            if is_maximised && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape)) {
                requests.push(request(|work| work.panes.maximise(None)));
            }
            shortcuts(ctx, &groups, requests);
        }
        if windows.is_list_open {
            help_ui(ctx, &groups, requests);
        }
        if let Some(search) = &windows.search {
            search_ui(search, &groups, ctx, requests);
        }
    }

    fn banner(&mut self, ui: &mut Ui, requests: &mut Vec<Request>) {
        let panes = self.offered().into_iter().filter(|(pane, _)| *pane != Pane::Image);
        let with_state = |(pane, title)| {
            let is_shown = !self.work.panes.is_hidden(&pane);
            (pane, title, is_shown)
        };
        let panes: Vec<_> = panes.map(with_state).collect();
        banner_ui(&self.work, &panes, &mut self.arrangement_name, ui, requests);
    }

    fn status(&mut self, ui: &mut Ui, requests: &mut Vec<Request>) {
        let is_timed = !self.work.options.for_pictures;
        let memory_bytes = if is_timed { self.memory.bytes() } else { None };
        let frames_per_sec = Some(self.frames.count()).filter(|_| is_timed);
        let meters = Meters { memory_bytes, frames_per_sec };
        if status_ui(&self.work, &meters, self.film.as_ref(), ui, requests) {
            self.film = None;
        }
    }

    fn panes_ui(&mut self, ui: &mut Ui, requests: &mut Vec<Request>) {
        let mut panes = std::mem::take(&mut self.work.panes);
        let offered: Vec<(Pane, bool)> = self.tools.iter().map(|(pane, tool)| (pane.clone(), tool.is_for(&self.work))).collect();
        panes.offer(&offered);
        let mut of_panes = Vec::new();
        panes_ui(&mut panes, &mut Contents { work: &self.work, tools: &mut self.tools, requests }, ui, &mut of_panes);
        requests.extend(of_panes);
        self.work.panes = panes;
    }
}
