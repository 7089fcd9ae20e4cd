//! Layout of the window: banner, panes, status line, modal windows; and the pane of the image.

use egui::Ui;

use super::actions::{Action, summed};
use super::app::App;
use super::banner::{BannerView, banner_ui};
use super::commands::list::CommandsView;
use super::commands::search_panel::search_ui;
use super::commands::shortcuts::{help_ui, shortcut_actions};
use super::files::dialogs;
use super::panes::pane::Pane;
use super::panes::panes_ui::{PaneAction, PaneContent, panes_ui};
use super::persistence::unsaved_changes::unsaved_ui;
use super::series_chooser::series_chooser_ui;
use super::status::{StatusView, status_ui};
use crate::data::ValueScale;
use crate::plan::IterationScheme;
use crate::session::StopRule;
use crate::ui::layer::layer_panel::blend_ui;
use crate::ui::layer::radical_panel::radicals_ui;
use crate::ui::plots::BottomTab;
use crate::ui::rois::measured::TableCache;
use crate::ui::run::frames::slider::frame_slider_ui;
use crate::ui::run::live::RunState;
use crate::ui::run::scrubber::{ScrubberView, scrubber_ui};
use crate::ui::slices::chips::{ChipsView, chips_ui};
use crate::ui::slices::colour_bar::colour_bar_ui;
use crate::ui::slices::comparison::panel::beside_ui;
use crate::ui::slices::comparison::{Beside, CompareMode};
use crate::ui::slices::pointer::help_text;
use crate::ui::slices::slice_panel::{pointer_text, slices_ui};
use crate::ui::slices::slices_view::SlicesView;
use crate::ui::slices::toolbar::{ToolbarView, toolbar_ui};
use crate::ui::study::list_form_panel::list_form_ui;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::open::open_sweep::Arrivals;
use crate::ui::study::tube_form_panel::tube_form_ui;
use crate::ui::widgets::notices::{notice_list_ui, toasts_ui};
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::place::Place;
use crate::ui::widgets::{format, theme};

/// Contents of the panes while they are drawn.
struct Contents<'a> {
    app: &'a mut App,
    actions: &'a mut Vec<Action>,
}

impl PaneContent for Contents<'_> {
    fn title(&self, pane: Pane) -> [&'static str; 2] {
        self.app.pane_title(pane)
    }

    fn draw(&mut self, pane: Pane, ui: &mut Ui) {
        match pane {
            Pane::Side => self.app.side_pane(ui, self.actions),
            Pane::Image => self.app.image_pane(ui, self.actions),
            Pane::Table(tab) => {
                self.app.table(tab).into_iter().for_each(|tool| tool.ui(self.app, ui, self.actions));
            }
            Pane::Plot(kind) => self.app.plot_pane(kind, ui, self.actions),
        }
    }
}

impl App {
    /// Draws all panels; returns the actions of the user.
    pub(super) fn panels(&mut self, ui: &mut Ui) -> Vec<Action> {
        let mut actions = Vec::new();
        // The key that removes the focus of a field is no shortcut.
        let has_shortcuts = !self.were_keys_taken && !self.keys_are_taken(ui.ctx());
        if self.options.for_pictures {
            // The window has this clear colour.
            ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().panel_fill);
        }
        self.commands_ui(has_shortcuts, ui.ctx(), &mut actions);
        let bar = egui::Frame::side_top_panel(ui.style()).fill(egui::Color32::TRANSPARENT);
        egui::Panel::top("banner").frame(bar).show(ui, |ui| self.banner(ui, &mut actions));
        egui::Panel::bottom("status").frame(bar).show(ui, |ui| self.status(ui, &mut actions));
        egui::CentralPanel::default().frame(egui::Frame::NONE).show(ui, |ui| self.panes_ui(ui, &mut actions));
        let ctx = ui.ctx().clone();
        summed(&mut actions, Action::Notice, |actions| {
            toasts_ui(&self.notices, &ctx, actions);
            notice_list_ui(&self.notices, &ctx, actions);
        });
        if let Some(question) = self.unsaved_question.as_ref().filter(|question| question.is_asking()) {
            unsaved_ui(question, &ctx, &mut actions);
        } else if let Some(form) = &self.study.tube_form {
            summed(&mut actions, Action::Study, |actions| tube_form_ui(form, &ctx, actions));
        } else if let Some(form) = self.study.list_form.as_ref().filter(|_| !self.dialogs.is_modal()) {
            summed(&mut actions, Action::Study, |actions| list_form_ui(form, &ctx, actions));
        } else if let Some(chooser) = self.series_chooser.as_ref().filter(|_| !self.dialogs.is_modal()) {
            series_chooser_ui(chooser, &ctx, &mut actions);
        } else {
            dialogs::dialogs_ui(&self.dialogs, self.is_anonymous(), &ctx, &mut actions);
        }
        dialogs::drop_hint_ui(&ctx);
        self.were_keys_taken = self.keys_are_taken(&ctx);
        actions
    }

    /// Returns true if a field, a menu or a modal window receives the keys.
    fn keys_are_taken(&self, ctx: &egui::Context) -> bool {
        ctx.egui_wants_keyboard_input() || egui::Popup::is_any_open(ctx) || self.has_modal()
    }

    fn has_modal(&self) -> bool {
        let is_asking = self.dialogs.is_modal() || self.unsaved_question.is_some() || self.study.has_form();
        is_asking || self.series_chooser.is_some() || self.is_help_open || self.search.is_some()
    }

    /// Handles the pressed keys, and draws the list of keys and the search for commands.
    fn commands_ui(&self, has_shortcuts: bool, ctx: &egui::Context, actions: &mut Vec<Action>) {
        if !(has_shortcuts || self.is_help_open || self.search.is_some()) {
            return;
        }
        let shown = self.run().shown_words();
        let scrubber = self.scrubber_view(&shown);
        let commands = CommandsView {
            scrubber: &scrubber,
            is_paused: !self.run().live.is_running(),
            frames: self.frames(),
            plane: self.slices.active_plane,
            voxel_mm: self.run().grid_shown().map_or([1.0; 3], |grid| grid.voxel_mm),
            beside: self.slices.view.beside,
            palette: self.run().colouring.palette,
            usual_palette: self.run().colouring.usual_palette,
            panes: Pane::all().filter(|pane| self.has_pane(*pane)).map(|pane| (pane, self.pane_title(pane)[0])).collect(),
        };
        if has_shortcuts {
            // Escape first returns a maximised pane to its place.
            let is_maximised = self.panes.maximised().is_some();
            if is_maximised && ctx.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Escape)) {
                actions.push(Action::Pane(PaneAction::Restore));
            }
            actions.extend(shortcut_actions(ctx, &commands));
        }
        if self.is_help_open {
            help_ui(ctx, &commands, actions);
        }
        if let Some(search) = &self.search {
            search_ui(search, &commands, ctx, actions);
        }
    }

    fn banner(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let view = BannerView {
            study: self.study.open.as_ref(),
            live: &self.run().live,
            saved: &self.preferences.arrangements,
            typed: &self.arrangement_name,
            panes: Pane::all()
                .filter(|pane| *pane != Pane::Image && self.has_pane(*pane))
                .map(|pane| (pane, self.pane_title(pane)[0], !self.panes.is_hidden(pane)))
                .collect(),
            is_motion_reduced: self.preferences.is_motion_reduced,
        };
        banner_ui(&view, ui, actions);
    }

    fn status(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let is_timed = !self.options.for_pictures;
        let memory_bytes = if is_timed { self.memory.bytes() } else { None };
        let frames_per_sec = Some(self.frames.count()).filter(|_| is_timed);
        let view = StatusView {
            live: &self.run().live,
            notices: &self.notices,
            memory_bytes,
            frames_per_sec,
            show_timings: is_timed,
            arrivals: self.study.open.as_ref().map_or(Arrivals::Over, OpenStudy::arrivals),
            adapter: &self.adapter,
            remote: self.remote.as_ref(),
            search: self.rois.search.query(),
            history_bytes: if is_timed { self.session.history_bytes() } else { [0, 256 << 20] },
            film: self.film.as_ref(),
        };
        status_ui(&view, ui, actions);
    }

    fn panes_ui(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let mut panes = std::mem::take(&mut self.panes);
        panes.offer(|pane| self.has_pane(pane));
        let mut on_panes = Vec::new();
        panes_ui(&mut panes, &mut Contents { app: self, actions }, ui, &mut on_panes);
        actions.extend(on_panes.into_iter().map(Action::Pane));
        self.panes = panes;
    }

    /// Returns true if the study has a pane.
    fn has_pane(&self, pane: Pane) -> bool {
        match pane {
            Pane::Table(tab) => self.table(tab).is_some(),
            Pane::Side | Pane::Image | Pane::Plot(_) => true,
        }
    }

    /// Returns the iteration scheme of a run with the form's settings.
    pub(super) fn iteration_scheme(&self) -> IterationScheme {
        self.study.iteration_scheme(self.run().forms.settings.algorithm)
    }

    /// Returns title and tooltip of a pane.
    fn pane_title(&self, pane: Pane) -> [&'static str; 2] {
        match pane {
            Pane::Side => ["Study and run", "Study, reconstruction, second image"],
            Pane::Image => ["Image", "Views of the image"],
            Pane::Table(tab) => self.table(tab).map_or([""; 2], |tool| [tool.title, tool.help]),
            Pane::Plot(kind) => kind.title(&self.iteration_scheme()),
        }
    }

    fn scrubber_view<'a>(&'a self, shown: &'a str) -> ScrubberView<'a> {
        ScrubberView {
            iterations: &self.run().stored,
            past: self.run().past_number(),
            run: self.run().live.run,
            reference: self.runs.reference().map(|reference| reference.choice),
            pinned: &self.run().pinned,
            number: self.run().shown_number().filter(|_| !self.run().selects_frame()),
            is_playing: self.run().playing.is_some(),
            shown,
            is_racy: self.run().shown_of().is_some_and(|(id, live)| live.race_at(id.subiteration).is_some()),
        }
    }

    fn image_pane(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let shown = self.run().shown_words();
        let scale = self.scale();
        let toolbar = ToolbarView {
            view: &self.slices.view,
            colouring: &self.run().colouring,
            range: self.run().shown.range,
            scale,
            is_slice: self.study.axes().is_slice,
            liver_mean: self.liver_mean(),
            has_own_window: false,
        };
        let scrubber = self.scrubber_view(&shown);
        summed(actions, Action::View, |actions| toolbar_ui(&toolbar, ui, actions));
        summed(actions, Action::Run, |actions| {
            self.frames().into_iter().for_each(|series| frame_slider_ui(series, ui, actions));
            let is_single = self.study.images().is_some_and(|open| open.series.num_images == 1);
            if !is_single {
                scrubber_ui(&scrubber, ui, actions);
            }
        });
        let (radicals, can_choose) = (self.run().live.radical_names(), !self.run().shown.is_past());
        summed(actions, Action::Layer, |actions| radicals_ui(&radicals, &self.layer, can_choose, ui, actions));
        if let Some(image) = self.drawn_layer() {
            summed(actions, Action::Layer, |actions| blend_ui(image, ui, actions));
        }
        if let Some(place) = chips_ui(&self.chips(), ui) {
            let regions = Action::Pane(PaneAction::Show(Pane::Table(BottomTab::Rois)));
            actions.extend((place == Place::MeasuredImage).then_some(regions));
            place.lead(ui.ctx());
        }
        if let Some((reference, _)) = self.runs.beside() {
            let (chosen, name) = (self.slices.view.beside, reference.text());
            let refusal = |how| self.comparison_refusal(how);
            summed(actions, Action::View, |actions| beside_ui(chosen, &name, refusal, ui, actions));
        }
        let slices = self.run().grid_shown().and_then(|grid| self.slices.view.slices_at(grid));
        let Some(volume) = self.run().shown.drawn(slices) else {
            ui.centered_and_justified(|ui| ui.label(self.waiting_text()));
            return;
        };
        let beside = self.beside();
        let colouring = beside.as_ref().map(|beside| beside.colouring(&self.run().colouring));
        let has_own_window = beside.as_ref().is_some_and(|beside| beside.how == CompareMode::Difference);
        let toolbar = ToolbarView { colouring: colouring.as_ref().unwrap_or(toolbar.colouring), has_own_window, ..toolbar };
        let lines = egui::vec2(ui.available_width(), 3.0 * ui.text_style_height(&egui::TextStyle::Small) + 12.0);
        let area = egui::vec2(ui.available_width(), (ui.available_height() - lines.y).max(50.0));
        let slices = SlicesView {
            view: &self.slices.view,
            colouring: &self.run().colouring,
            volume,
            rois: &self.rois.document.rois,
            // The outlines have the numbers of the displayed picture.
            table: self.outline_numbers(has_own_window),
            scale,
            labels: self.rois.labels,
            selected: self.rois.selected,
            draft: self.slices.draft.as_ref(),
            corners: self.slices.corners.as_ref(),
            drag: self.slices.drag.map(|active| (active.drag, active.plane)),
            axes: self.study.axes(),
            beside: beside.as_ref(),
            layer: self.drawn_layer(),
            placement: self.placement(),
            adapter: self.adapter_kind,
        };
        let (mut hovered, mut bar_help) = (None, None);
        ui.allocate_ui_with_layout(area, egui::Layout::left_to_right(egui::Align::Min), |ui| {
            let bar = theme::COLOUR_BAR_WIDTH;
            let size = egui::vec2(area.x - bar, area.y);
            PictureArea::Slices.is_at(egui::Rect::from_min_size(ui.max_rect().min, area), ui);
            ui.allocate_ui(size, |ui| {
                ui.set_min_size(size);
                hovered = summed(actions, Action::View, |actions| slices_ui(&slices, ui, actions));
            });
            // An image that hides the displayed one has its own bar.
            let hiding = slices.layer.filter(|image| image.hides() && beside.is_none());
            let colouring = hiding.map_or(toolbar.colouring, |image| &image.display.colouring);
            let scale = hiding.map_or(toolbar.scale, |image| ValueScale::own(image.volume.unit));
            let has_own_window = toolbar.has_own_window || hiding.is_some();
            let bar = ToolbarView { colouring, scale, has_own_window, ..toolbar };
            bar_help = summed(actions, Action::View, |actions| colour_bar_ui(&bar, ui, actions));
        });
        let made = self.run().provenance_words(self.hiding_radical());
        ui.add(egui::Label::new(egui::RichText::new(made).small()).truncate());
        // Without the whole volume no value at the pointer is shown.
        let is_whole = self.run().shown.volume().is_some_and(|whole| std::ptr::eq(whole, volume));
        let point = hovered.as_ref().and_then(|pointed| pointed.point).filter(|_| is_whole);
        let pointer = point.map_or_else(String::new, |point| {
            let of_both = beside.as_ref().and_then(|beside| beside.words_at(point, volume, scale));
            let text = pointer_text(point, volume, scale, &self.study.axes());
            let others = of_both.into_iter().chain(self.layer_text(point));
            others.fold(text, |text, other| format!("{text} · {other}"))
        });
        ui.add(egui::Label::new(egui::RichText::new(pointer).small()).truncate());
        let plane = hovered.as_ref().and_then(|pointed| pointed.plane);
        let help = hovered.map(|pointed| pointed.help).or(bar_help);
        let help = help.unwrap_or_else(|| help_text(self.slices.view.tool));
        ui.add(egui::Label::new(egui::RichText::new(help).small().weak()).truncate());
        if let Some(plane) = plane {
            self.slices.active_plane = plane;
        }
    }

    /// Returns the numbers of the regions in the displayed picture; none where another radical hides the measured image.
    fn outline_numbers(&self, is_difference: bool) -> Option<&TableCache> {
        let table = if is_difference { &self.difference } else { &self.run().table };
        self.hiding_radical().is_none().then_some(table)
    }

    /// Returns the mean of the first region whose name contains "liver".
    fn liver_mean(&self) -> Option<f64> {
        let index = self.rois.document.rois.iter().position(|roi| roi.name.to_lowercase().contains("liver"))?;
        let table = Some(&self.run().table).filter(|table| table.is_current())?;
        table.numbers().get(index)?.as_ref()?.mean
    }

    /// Returns the state that changes the numbers of the displayed image.
    fn chips(&self) -> ChipsView {
        let (run, rois) = (self.run(), &self.rois.document.rois);
        let conversion = self.conversion_shown();
        let is_calibrated = self.study.calibration.bq_per_ml.is_some();
        let by_iteration = self.iteration_scheme().by_iteration;
        let rules = if by_iteration { run.forms.stop.rules(rois) } else { Vec::new() };
        let shown = run.shown_of().filter(|_| by_iteration);
        ChipsView {
            filter_mm: run.shown.filter_mm(),
            is_unfiltered: self.rois.measure_unfiltered,
            rules: rules.iter().map(StopRule::text).collect(),
            conversion,
            lacks_calibration: is_calibrated && conversion.is_none() && run.shown_of().is_some(),
            accumulation: shown.and_then(|(id, live)| live.accumulation_of(id.subiteration)),
            chosen_accumulation: run.forms.settings.accumulation.filter(|_| by_iteration),
        }
    }

    /// Returns the reference image and its comparison mode, if both images are comparable.
    fn beside(&self) -> Option<Beside<'_>> {
        let how = self.slices.view.beside;
        let is_compared = how != CompareMode::Off && self.comparison_refusal(how).is_none();
        let (reference, image) = self.runs.beside().filter(|_| is_compared)?;
        let other = image.shown.image().filter(|_| self.graphics.is_none() || image.shown.is_uploaded())?;
        let largest_difference = match how {
            // Differences by rounding have no colour.
            CompareMode::Difference => {
                let largest = self.run().colouring.window[1].abs();
                self.difference.usual_difference().unwrap_or(largest).max(1e-6 * largest)
            }
            _ => 0.0,
        };
        let names = [format!("run {}, {}", self.run().live.number, self.run().shown_words()), image.text(reference)];
        Some(Beside { how, volume: other, names, largest_difference })
    }

    /// Returns the reason why a comparison with the reference image is impossible.
    fn comparison_refusal(&self, how: CompareMode) -> Option<&'static str> {
        let shown = &self.run().shown.volume()?.grid;
        match self.runs.beside().filter(|_| how != CompareMode::Off)?.1.shown.image() {
            None => Some("No image of that run is stored"),
            Some(other) if how.needs_same_grid() && !other.grid.same_as(shown) => {
                Some("The difference needs both images on the same grid")
            }
            Some(_) => None,
        }
    }

    /// Returns true if the run has used all data that have arrived.
    pub(super) fn is_waiting(&self) -> bool {
        let live = &self.run().live;
        let num_used = [Some(live.progress().0), live.num_events()];
        let has_all = self.study.open.as_ref().is_some_and(|open| open.kind().has_used_all(num_used));
        live.state == RunState::Running && live.iteration_scheme().can_grow && has_all
    }

    /// Returns the text in place of an image.
    fn waiting_text(&self) -> String {
        match (&self.study.loading, &self.study.open) {
            (Some(loading), _) => format!("{} …", loading.source.text()),
            (None, Some(_)) if let Some((what, part, remaining)) = self.run().live.making() => {
                let remaining = remaining.filter(|_| !self.options.for_pictures);
                format::under_way(&format!("Making {what}"), Some(part), remaining)
            }
            (None, Some(_)) if self.run().live.state.is_active() => "Setting the reconstruction up …".into(),
            (None, Some(_)) => "Press Start to reconstruct.".into(),
            (None, None) => "Open a study, or drop its file here.".into(),
        }
    }
}
