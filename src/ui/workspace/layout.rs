//! Where the panels of the window are, and what each is drawn from.

use egui::Ui;

use super::actions::{Action, summed};
use super::app::App;
use super::dialogs;
use super::leaving::leaving_ui;
use super::shortcuts::shortcut_actions;
use super::status::{StatusView, status_ui};
use crate::ui::numbers::plots::{PlotsView, plots_ui};
use crate::ui::numbers::profile::Profile;
use crate::ui::numbers::race_panel::race_panel_ui;
use crate::ui::numbers::stage_panel::stage_panel_ui;
use crate::ui::numbers::tabs::{NumbersTab, tabs_ui};
use crate::ui::rois::roi_panel::{RoiView, roi_ui};
use crate::ui::run::live::RunState;
use crate::ui::run::recon_panel::{ReconView, recon_ui};
use crate::ui::run::scrubber::{ScrubberView, scrubber_ui};
use crate::ui::slices::slice_panel::{SlicesView, help_text, pointer_text, slices_ui};
use crate::ui::slices::toolbar::{ToolbarView, colour_bar_ui, toolbar_ui};
use crate::ui::study::open_study::OpenStudy;
use crate::ui::study::open_sweep::OpenSweep;
use crate::ui::study::study_panel::{StudyView, study_ui};
use crate::ui::study::sweep_panel::sweep_panel_ui;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;
use crate::ui::widgets::notices::{notice_list_ui, toasts_ui};
use crate::ui::widgets::theme;

impl App {
    /// Draws everything; what the user asked for comes back.
    pub(super) fn panels(&mut self, ui: &mut Ui) -> Vec<Action> {
        let mut actions = Vec::new();
        // The key that takes the focus from a field is no shortcut either.
        let has_shortcuts = !self.keys_were_taken && !self.keys_are_taken(ui.ctx());
        let memory_bytes = if self.options.for_pictures { None } else { self.memory.bytes() };
        let show_timings = !self.options.for_pictures;
        if self.options.for_pictures {
            // In the window this is the clear colour.
            ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().panel_fill);
        }
        let bar = egui::Frame::side_top_panel(ui.style()).fill(egui::Color32::TRANSPARENT);
        let middle = egui::Frame::central_panel(ui.style()).fill(egui::Color32::TRANSPARENT);
        egui::Panel::bottom("status").frame(bar).show(ui, |ui| {
            let view =
                StatusView { live: &self.live, notices: &self.notices, memory_bytes, show_timings, adapter: &self.adapter };
            status_ui(&view, ui, &mut actions);
        });
        egui::Panel::bottom("numbers")
            .frame(bar)
            .resizable(true)
            .default_size(theme::BOTTOM_HEIGHT.min(0.38 * ui.available_height()))
            .size_range(120.0..=600.0)
            .show(ui, |ui| self.numbers_panel(ui, &mut actions));
        egui::Panel::left("side").frame(bar).resizable(true).default_size(theme::SIDE_WIDTH).size_range(240.0..=420.0).show(
            ui,
            |ui| {
                egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| self.side_panel(ui, &mut actions));
            },
        );
        egui::CentralPanel::default().frame(middle).show(ui, |ui| self.centre(has_shortcuts, ui, &mut actions));
        let ctx = ui.ctx().clone();
        summed(&mut actions, Action::Notice, |actions| {
            toasts_ui(&self.notices, &ctx, actions);
            notice_list_ui(&self.notices, &ctx, actions);
        });
        match self.leaving.as_ref().filter(|leaving| leaving.is_asking()) {
            Some(leaving) => leaving_ui(leaving, &ctx, &mut actions),
            None => dialogs::dialogs_ui(&self.dialogs, &ctx, &mut actions),
        }
        dialogs::drop_hint_ui(&ctx);
        self.keys_were_taken = self.keys_are_taken(&ctx);
        actions
    }

    /// Whether keys go to a field, a menu or a question, and are no shortcuts.
    fn keys_are_taken(&self, ctx: &egui::Context) -> bool {
        ctx.egui_wants_keyboard_input() || egui::Popup::is_any_open(ctx) || self.dialogs.is_modal() || self.leaving.is_some()
    }

    fn side_panel(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let study = StudyView {
            study: self.study.as_ref(),
            loading: self.loading.as_ref(),
            recent: &self.preferences.recent,
            path_text: &self.path_text,
        };
        summed(actions, Action::Study, |actions| study_ui(&study, ui, actions));
        ui.separator();
        let recon = ReconView {
            form: &self.form,
            fbp_form: &self.fbp_form,
            is_sweep: self.sweep().is_some(),
            is_waiting: self.is_waiting(),
            devices: self.devices(),
            live: &self.live,
            running: self.running_forms.as_ref().filter(|_| self.live.info.is_some()),
            forecast: self.next_start(),
            has_study: self.study.is_some(),
            has_image: self.shown.volume().is_some(),
            post_filter_mm: self.post_filter_mm,
            show_timings: !self.options.for_pictures,
        };
        summed(actions, Action::Run, |actions| recon_ui(&recon, ui, actions));
    }

    fn numbers_panel(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let table_width = 0.43 * ui.available_width();
        let has_study_rois = self.study.as_ref().is_some_and(|open| !open.rois().is_empty());
        let rois = RoiView {
            rois: &self.document.rois,
            numbers: self.table.numbers(),
            selected: self.selected,
            can_undo: self.undo.can_undo(&self.document),
            can_redo: self.undo.can_redo(&self.document),
            has_study_rois,
            is_measured: self.live.is_measured(),
            filter_mm: self.shown.filter_mm(),
            is_unfiltered: self.measure_unfiltered,
            axes: self.axes(),
        };
        let truth = self.study.as_ref().and_then(OpenStudy::truth);
        let profile = self.shown.volume().map(|volume| Profile::of(&self.view, volume, truth));
        let plots = PlotsView {
            curves: &self.curves,
            is_sweep: self.sweep().is_some(),
            axes: self.axes(),
            profile: profile.as_ref(),
            unit: self.unit(),
            filter_mm: self.shown.filter_mm(),
            view: &self.view,
            shown_at: self.shown.id().filter(|_| self.shown.is_past()).map(|id| self.live.place(id.subiteration as f64)),
        };
        let size = egui::vec2(table_width, ui.available_height());
        ui.horizontal_top(|ui| {
            ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
                ui.set_width(size.x);
                let mut chosen = None;
                let tabs = |ui: &mut Ui| chosen = tabs_ui(self.numbers, self.sweep().is_some(), ui);
                if self.numbers == NumbersTab::Rois {
                    summed(actions, Action::Roi, |actions| roi_ui(&rois, tabs, ui, actions));
                } else {
                    ui.horizontal(tabs);
                }
                actions.extend(chosen.map(Action::ShowNumbers));
                match (self.numbers, self.sweep()) {
                    (NumbersTab::Rois, _) => {}
                    (NumbersTab::Sweep, Some(open)) => {
                        summed(actions, Action::Study, |actions| sweep_panel_ui(open, ui, actions));
                    }
                    (NumbersTab::Race, _) => race_panel_ui(&self.live, &plots, ui),
                    _ => stage_panel_ui(&self.live, ui),
                }
            });
            ui.separator();
            summed(actions, Action::View, |actions| plots_ui(&plots, ui, actions));
        });
    }

    /// The axes of the image.
    pub(super) fn axes(&self) -> ImageAxes {
        self.study.as_ref().map_or(ImageAxes::PATIENT, OpenStudy::axes)
    }

    /// What is on the screen, in words.
    fn shown_words(&self) -> String {
        let Some((id, live)) = self.shown_of() else { return String::new() };
        let subsets = live.num_subsets();
        let mut words = match (id.subiteration, id.subiteration % subsets) {
            (0, _) if live.is_sweep() => "no projection yet".to_owned(),
            (number, _) if live.is_sweep() => crate::words::counted(number, "projection"),
            (0, _) => "start image".to_owned(),
            (_, 0) => format!("iteration {}", id.iteration),
            (_, subset) => format!("iteration {}, after subset {subset} of {subsets}", id.iteration),
        };
        if live.run != self.live.run {
            words += " of the run before";
        }
        if let Some(fwhm_mm) = self.shown.filter_mm() {
            words += &format!(", {}", format::filtered(fwhm_mm));
        }
        words
    }

    fn centre(&mut self, has_shortcuts: bool, ui: &mut Ui, actions: &mut Vec<Action>) {
        let shown = self.shown_words();
        let toolbar = ToolbarView { view: &self.view, range: self.shown.range, unit: self.unit() };
        let scrubber = ScrubberView {
            iterations: &self.kept,
            past: self
                .shown
                .chosen()
                .filter(|_| self.shown.is_past())
                .map(|(id, _)| if self.live.is_sweep() { id.subiteration } else { id.iteration }),
            shown: &shown,
            is_racy: self.shown_of().is_some_and(|(id, live)| live.had_race(id.subiteration)),
        };
        if has_shortcuts {
            actions.extend(shortcut_actions(ui.ctx(), &scrubber, !self.live.is_running(), self.active_plane.axes().1));
        }
        summed(actions, Action::View, |actions| toolbar_ui(&toolbar, ui, actions));
        summed(actions, Action::Run, |actions| scrubber_ui(&scrubber, ui, actions));
        let Some(volume) = self.shown.volume() else {
            ui.centered_and_justified(|ui| ui.label(self.waiting_words()));
            return;
        };
        let lines = egui::vec2(ui.available_width(), 3.0 * ui.text_style_height(&egui::TextStyle::Small) + 12.0);
        let area = egui::vec2(ui.available_width(), (ui.available_height() - lines.y).max(50.0));
        let slices = SlicesView {
            view: &self.view,
            volume,
            rois: &self.document.rois,
            selected: self.selected,
            draft: self.draft.as_ref(),
            drag: self.drag.map(|active| (active.drag, active.plane)),
            axes: self.axes(),
            has_renderer: self.has_renderer,
        };
        let mut hovered = None;
        ui.allocate_ui_with_layout(area, egui::Layout::left_to_right(egui::Align::Min), |ui| {
            let bar = theme::COLOUR_BAR_WIDTH;
            let size = egui::vec2(area.x - bar, area.y);
            ui.allocate_ui(size, |ui| {
                ui.set_min_size(size);
                hovered = summed(actions, Action::View, |actions| slices_ui(&slices, ui, actions));
            });
            colour_bar_ui(&toolbar, ui);
        });
        ui.add(egui::Label::new(egui::RichText::new(self.provenance_words()).small()).truncate());
        let pointer = hovered.map_or_else(String::new, |(_, point)| pointer_text(point, volume, &self.axes()));
        ui.add(egui::Label::new(egui::RichText::new(pointer).small()).truncate());
        ui.add(egui::Label::new(egui::RichText::new(help_text(self.view.tool)).small().weak()).truncate());
        if let Some((plane, _)) = hovered {
            self.active_plane = plane;
        }
    }

    /// Whether the run has nothing to do before another projection comes.
    fn is_waiting(&self) -> bool {
        let all = |open: &OpenSweep| open.is_live() && open.acquisition.num_complete() == self.live.progress().0;
        self.live.state == RunState::Running && self.live.is_sweep() && self.sweep().is_some_and(all)
    }

    /// What is said where no image is there yet.
    fn waiting_words(&self) -> String {
        match (&self.loading, &self.study) {
            (Some(loading), _) => format!("{} …", loading.source.words()),
            (None, Some(_)) if self.live.state.is_active() => "Setting the reconstruction up …".into(),
            (None, Some(_)) => "Press Start to reconstruct.".into(),
            (None, None) => "Open a study, or drop its file here.".into(),
        }
    }
}
