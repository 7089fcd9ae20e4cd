//! Layout of the panels, and their content.

use egui::Ui;

use super::actions::{Action, summed};
use super::app::App;
use super::files::dialogs;
use super::persistence::restore::offer_ui;
use super::persistence::unsaved_changes::unsaved_ui;
use super::shortcuts::{KeysView, help_ui, shortcut_actions};
use super::status::{StatusView, status_ui};
use crate::session::StopRule;
use crate::ui::layer::layer_panel::layer_ui;
use crate::ui::plots::activity_plot::{ActivityView, activity_ui};
use crate::ui::plots::compare_panel::{CompareAction, compare_panel_ui};
use crate::ui::plots::plot_area::plots_ui;
use crate::ui::plots::plots_view::{KeptCurves, PlotsView};
use crate::ui::plots::race_panel::race_panel_ui;
use crate::ui::plots::stage_panel::stage_panel_ui;
use crate::ui::plots::{BottomTab, TabsOf, tabs_ui};
use crate::ui::rois::roi_panel::roi_ui;
use crate::ui::rois::roi_view::RoiView;
use crate::ui::run::frames::slider::frame_slider_ui;
use crate::ui::run::live::RunState;
use crate::ui::run::recon_panel::{ReconView, recon_ui};
use crate::ui::run::scrubber::{ScrubberView, scrubber_ui};
use crate::ui::slices::chips::{ChipsView, chips_ui};
use crate::ui::slices::colour_bar::colour_bar_ui;
use crate::ui::slices::comparison::{Beside, CompareMode};
use crate::ui::slices::comparison_panel::beside_ui;
use crate::ui::slices::pointer::help_text;
use crate::ui::slices::slice_panel::{pointer_text, slices_ui};
use crate::ui::slices::slices_view::SlicesView;
use crate::ui::slices::toolbar::{ToolbarView, toolbar_ui};
use crate::ui::study::list_form_panel::list_form_ui;
use crate::ui::study::list_panel::rates_ui;
use crate::ui::study::open::open_study::{OpenData, OpenStudy};
use crate::ui::study::open::open_sweep::Arrivals;
use crate::ui::study::study_panel::{StudyView, study_ui};
use crate::ui::study::sweep_panel::sweep_panel_ui;
use crate::ui::study::tube_form_panel::tube_form_ui;
use crate::ui::study::tube_tab::tube_tab_ui;
use crate::ui::widgets::notices::{notice_list_ui, toasts_ui};
use crate::ui::widgets::picture_area::PictureArea;
use crate::ui::widgets::place::Place;
use crate::ui::widgets::{format, theme};

/// Text of the tab of tubes without any.
const NO_TUBES_YET: &str =
    "There are no tubes of response yet: start with the projector tubes, make some, or open a file of them.";

impl App {
    /// Draws all panels; returns the actions of the user.
    pub(super) fn panels(&mut self, ui: &mut Ui) -> Vec<Action> {
        let mut actions = Vec::new();
        // The key that removes the focus of a field is no shortcut.
        let has_shortcuts = !self.were_keys_taken && !self.keys_are_taken(ui.ctx());
        let memory_bytes = if self.options.for_pictures { None } else { self.memory.bytes() };
        let frames_per_sec = Some(self.frames.count()).filter(|_| !self.options.for_pictures);
        let show_timings = !self.options.for_pictures;
        if self.options.for_pictures {
            // The window has this clear colour.
            ui.painter().rect_filled(ui.max_rect(), 0.0, ui.visuals().panel_fill);
        }
        let bar = egui::Frame::side_top_panel(ui.style()).fill(egui::Color32::TRANSPARENT);
        let middle = egui::Frame::central_panel(ui.style()).fill(egui::Color32::TRANSPARENT);
        egui::Panel::bottom("status").frame(bar).show(ui, |ui| {
            let (live, notices, adapter) = (&self.run().live, &self.notices, &self.adapter);
            let remote = self.remote.as_ref();
            let arrivals = self.study.open.as_ref().map_or(Arrivals::Over, OpenStudy::arrivals);
            let search = self.rois.search.query();
            let view =
                StatusView { live, notices, memory_bytes, frames_per_sec, show_timings, arrivals, adapter, remote, search };
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
        if let Some(question) = self.unsaved_question.as_ref().filter(|question| question.is_asking()) {
            unsaved_ui(question, &ctx, &mut actions);
        } else if let Some(form) = &self.study.tube_form {
            summed(&mut actions, Action::Study, |actions| tube_form_ui(form, &ctx, actions));
        } else if let Some(form) = self.study.list_form.as_ref().filter(|_| !self.dialogs.is_modal()) {
            summed(&mut actions, Action::Study, |actions| list_form_ui(form, &ctx, actions));
        } else {
            dialogs::dialogs_ui(&self.dialogs, &ctx, &mut actions);
        }
        dialogs::drop_hint_ui(&ctx);
        self.were_keys_taken = self.keys_are_taken(&ctx);
        actions
    }

    /// Returns true if a field, a menu or a modal window receives the keys.
    fn keys_are_taken(&self, ctx: &egui::Context) -> bool {
        ctx.egui_wants_keyboard_input() || egui::Popup::is_any_open(ctx) || self.has_modal()
    }

    /// Returns true if a modal window is open.
    fn has_modal(&self) -> bool {
        self.dialogs.is_modal() || self.unsaved_question.is_some() || self.study.has_form() || self.is_help_open
    }

    fn side_panel(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let selected = self.rois.selected.and_then(|index| self.rois.document.rois.get(index));
        let study = StudyView {
            state: &self.study,
            recent: &self.preferences.recent,
            selected_roi: selected.map(|roi| roi.name.as_str()),
            show_timings: !self.options.for_pictures,
        };
        if let Some(offered) = &self.offered {
            offer_ui(offered, ui, actions);
        }
        summed(actions, Action::Study, |actions| study_ui(&study, ui, actions));
        ui.separator();
        let recon = ReconView {
            forms: &self.run().forms,
            rois: &self.rois.document.rois,
            study: self.study.open.as_ref(),
            is_waiting: self.is_waiting(),
            devices: self.devices(),
            live: &self.run().live,
            running: self.run().running.as_ref().filter(|_| self.run().live.info.is_some()),
            forecast: self.next_start(),
            remembered: &self.runs.remembered,
            frame: self.run().current_frame(),
            has_image: self.run().shown.volume().is_some(),
            post_filter_mm: self.run().post_filter_mm,
            show_timings: !self.options.for_pictures,
            shows_research: self.slices.view.shows_research,
        };
        summed(actions, Action::Run, |actions| recon_ui(&recon, ui, actions));
        if self.study.open.is_some() && self.remote.is_none() {
            summed(actions, Action::Layer, |actions| layer_ui(&self.layer, ui, actions));
        }
    }

    /// Returns the properties of the study that determine the tabs.
    pub(super) fn tabs(&self) -> TabsOf {
        let counts = self.study.open.as_ref().and_then(OpenStudy::counts);
        let has_tubes = counts.is_some_and(|open| open.scanner_of_tubes().is_ok());
        let [is_sweep, is_list] = [self.study.sweep().is_some(), self.study.list().is_some()];
        TabsOf { is_sweep, is_list, is_image: self.study.images().is_some(), has_tubes }
    }

    fn numbers_panel(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let run = self.run();
        let scale = self.scale();
        let table_width = 0.43 * ui.available_width();
        let has_study_rois = self.study.open.as_ref().is_some_and(|open| !open.study.rois.is_empty());
        let rois = RoiView {
            state: &self.rois,
            table: &run.table,
            scale,
            voxel_mm: run.shown.volume().map(|volume| volume.grid.voxel_mm),
            has_study_rois,
            is_measured: run.live.is_measured(),
            filter_mm: run.shown.filter_mm(),
            axes: self.study.axes(),
            second: self.layer.numbers.as_ref(),
        };
        let kept = self.runs.kept().iter().rev();
        let plots = PlotsView {
            options: &self.plots,
            noise_limit: run.forms.stop.noise_limit().filter(|_| self.study.iteration_scheme().by_iteration),
            curves: run.curves(),
            kept: kept
                .map(|view| KeptCurves {
                    run: view.live.number,
                    title: view.live.title().unwrap_or_default(),
                    curves: view.curves(),
                })
                .collect(),
            show_timings: !self.options.for_pictures,
            rois: &self.rois.document.rois,
            course: self.study.iteration_scheme(),
            axes: self.study.axes(),
            profile: self.profile.profile(),
            profile_beside: self
                .runs
                .beside()
                .and_then(|(reference, image)| Some((image.text(reference), self.reference_profile.profile()?))),
            scale,
            filter_mm: run.shown.filter_mm(),
            view: &self.slices.view,
            shown_at: run.shown.id().filter(|_| run.shown.is_past()).map(|id| run.live.axis_value(id.subiteration as f64)),
        };
        let size = egui::vec2(table_width, ui.available_height());
        ui.horizontal_top(|ui| {
            ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
                ui.set_width(size.x);
                let mut chosen = None;
                let tabs = |ui: &mut Ui| chosen = tabs_ui(self.numbers, self.tabs(), ui);
                if self.numbers == BottomTab::Rois {
                    summed(actions, Action::Roi, |actions| roi_ui(&rois, tabs, ui, actions));
                } else {
                    ui.horizontal(tabs);
                }
                actions.extend(chosen.map(Action::ShowTab));
                match self.numbers {
                    BottomTab::Rois => {}
                    BottomTab::Time => stage_panel_ui(&run.live, ui),
                    BottomTab::Sweep => self.study.sweep().into_iter().for_each(|open| {
                        summed(actions, Action::Study, |actions| sweep_panel_ui(open, ui, actions));
                    }),
                    BottomTab::Tube => match self.study.tubes() {
                        Some(tubes) => summed(actions, Action::Study, |actions| tube_tab_ui(tubes, ui, actions)),
                        None => _ = ui.label(egui::RichText::new(NO_TUBES_YET).weak()),
                    },
                    BottomTab::Rates => {
                        let frames_ms = run.forms.settings.frames().unwrap_or_default();
                        self.study.list().into_iter().for_each(|open| rates_ui(open, &frames_ms, ui));
                    }
                    BottomTab::Activity => {
                        let facts = self.study.list().map(|open| &*open.list.facts);
                        let duration_secs = facts.and_then(|facts| facts.duration_ms).map(|ms| ms as f64 / 1e3);
                        let bq_per_ml = self.study.calibration.bq_per_ml.zip(duration_secs).map(|(factor, secs)| factor * secs);
                        let view = ActivityView { series: self.frames(), rois: &self.rois.document.rois, facts, bq_per_ml };
                        summed(actions, Action::Plot, |actions| activity_ui(&view, ui, actions));
                    }
                    BottomTab::Compare => {
                        summed(actions, compared, |actions| compare_panel_ui(&self.runs, &plots, ui, actions));
                    }
                    BottomTab::Race => {
                        let likeness = self.likeness();
                        summed(actions, Action::Plot, |actions| {
                            race_panel_ui(&run.live, likeness.as_ref(), &plots, ui, actions);
                        });
                    }
                }
            });
            ui.separator();
            summed(actions, Action::Plot, |actions| plots_ui(&plots, ui, actions));
        });
    }

    fn centre(&mut self, has_shortcuts: bool, ui: &mut Ui, actions: &mut Vec<Action>) {
        let shown = self.run().shown_words();
        let scale = self.scale();
        let toolbar = ToolbarView {
            view: &self.slices.view,
            colouring: &self.run().colouring,
            range: self.run().shown.range,
            scale,
            is_slice: self.study.axes().is_slice,
            has_own_window: false,
        };
        let scrubber = ScrubberView {
            iterations: &self.run().stored,
            past: self.run().past_number(),
            run: self.run().live.run,
            reference: self.runs.reference().map(|reference| reference.choice),
            pinned: &self.run().pinned,
            number: self.run().shown_number().filter(|_| !self.run().selects_frame()),
            is_playing: self.run().playing.is_some(),
            bytes: if self.options.for_pictures { [0, 256 << 20] } else { self.session.history_bytes() },
            shown: &shown,
            is_racy: self.run().shown_of().is_some_and(|(id, live)| live.race_at(id.subiteration).is_some()),
        };
        let keys = KeysView {
            scrubber: &scrubber,
            is_paused: !self.run().live.is_running(),
            frames: self.frames(),
            axis: self.slices.active_plane.axes().1,
            beside: self.slices.view.beside,
        };
        if has_shortcuts {
            actions.extend(shortcut_actions(ui.ctx(), &keys));
        }
        if self.is_help_open {
            help_ui(ui.ctx(), &keys, actions);
        }
        summed(actions, Action::View, |actions| toolbar_ui(&toolbar, ui, actions));
        summed(actions, Action::Run, |actions| {
            self.frames().into_iter().for_each(|series| frame_slider_ui(series, ui, actions));
            scrubber_ui(&scrubber, ui, actions);
        });
        if let Some(place) = chips_ui(&self.chips(), ui) {
            actions.extend((place == Place::MeasuredImage).then_some(Action::ShowTab(BottomTab::Rois)));
            place.lead(ui.ctx());
        }
        if let Some((reference, _)) = self.runs.beside() {
            let (chosen, name) = (self.slices.view.beside, reference.text());
            let refusal = self.comparison_refusal();
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
            numbers: if has_own_window { self.difference.numbers() } else { self.run().table.numbers() },
            scale,
            labels: self.rois.labels,
            selected: self.rois.selected,
            draft: self.slices.draft.as_ref(),
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
            bar_help = summed(actions, Action::View, |actions| colour_bar_ui(&toolbar, ui, actions));
        });
        let made = self.run().provenance_words();
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

    /// Returns the state that changes the numbers of the displayed image.
    fn chips(&self) -> ChipsView {
        let (run, rois) = (self.run(), &self.rois.document.rois);
        let conversion = self.conversion_shown();
        let is_calibrated = self.study.calibration.bq_per_ml.is_some();
        let by_iteration = self.study.iteration_scheme().by_iteration;
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
        let is_compared = how != CompareMode::Off && self.comparison_refusal().is_none();
        let (reference, image) = self.runs.beside().filter(|_| is_compared)?;
        let other = image.image()?;
        let largest_difference = match how {
            // Differences by rounding have no colour.
            CompareMode::Difference => {
                let rounding = 1e-6 * self.run().colouring.window[1].abs();
                self.difference.usual().max(rounding)
            }
            _ => 0.0,
        };
        let names = [format!("run {}, {}", self.run().live.number, self.run().shown_words()), image.text(reference)];
        Some(Beside { how, volume: other, names, largest_difference })
    }

    /// Returns the reason why no comparison with the reference image is possible.
    fn comparison_refusal(&self) -> Option<&'static str> {
        let shown = &self.run().shown.volume()?.grid;
        match self.runs.beside()?.1.image() {
            None => Some("No image of that run is stored"),
            Some(other) if !other.grid.same_as(shown) => Some("Only images on the same grid can be shown side by side"),
            Some(_) => None,
        }
    }

    /// Returns true if the run has used all data that have arrived.
    fn is_waiting(&self) -> bool {
        let live = &self.run().live;
        let has_all = match self.study.open.as_ref().map(|open| &open.data) {
            Some(OpenData::Sweep(open)) => open.is_live() && open.acquisition.num_complete() == live.progress().0,
            Some(OpenData::Events(open)) => open.following.is_some() && live.num_events() == Some(open.counted.num_prompts),
            _ => false,
        };
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

fn compared(action: CompareAction) -> Action {
    match action {
        CompareAction::Run(action) => Action::Run(action),
        CompareAction::Plot(action) => Action::Plot(action),
    }
}
