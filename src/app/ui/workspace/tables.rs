//! Content of the panes with forms and plots.

use egui::{ScrollArea, Ui};

use super::actions::{Action, summed};
use super::app::App;
use super::persistence::restore::offer_ui;
use crate::data::Notice;
use crate::ui::layer::layer_panel::{OwnLayers, layer_ui};
use crate::ui::plots::plot_area::plot_ui;
use crate::ui::plots::plot_options::PlotKind;
use crate::ui::plots::plots_view::{KeptCurves, PlotsView};
use crate::ui::rois::roi_view::RoiView;
use crate::ui::run::recon_panel::{ReconView, recon_ui};
use crate::ui::study::study_panel::{StudyView, study_ui};

impl App {
    /// Draws study, reconstruction and second image.
    pub(super) fn side_pane(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| self.side_panel(ui, actions));
    }

    fn side_panel(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let selected = self.rois.selected.and_then(|index| self.rois.document.rois.get(index));
        let study = StudyView {
            state: &self.study,
            recent: &self.preferences.recent,
            selected_roi: selected.map(|roi| roi.name.as_str()),
            show_timings: !self.options.for_pictures,
            map_cover: self.map_cover(),
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
            is_anonymous: self.is_anonymous(),
        };
        summed(actions, Action::Run, |actions| recon_ui(&recon, ui, actions));
        if self.study.open.is_some() && self.remote.is_none() {
            let has_attenuation = self.study.open.as_ref().is_some_and(|open| !open.study.measured.attenuation_maps().is_empty());
            let own = OwnLayers { has_attenuation, has_deviation: self.has_deviation() };
            summed(actions, Action::Layer, |actions| layer_ui(&self.layer, own, ui, actions));
        }
    }

    /// Returns the notice on an attenuation map that ends inside the image of the next run.
    fn map_cover(&self) -> Option<Notice> {
        let map = self.study.open.as_ref()?.study.measured.attenuation_maps().first()?;
        let settings = self.run().forms.settings.run_settings().ok()?;
        map.cover_notice(&settings.grid, settings.fov_radius_mm)
    }

    pub(super) fn plots_view(&self) -> PlotsView<'_> {
        let run = self.run();
        let kept = self.runs.kept().iter().rev();
        PlotsView {
            options: &self.plots,
            noise_limit: run.forms.stop.noise_limit().filter(|_| self.iteration_scheme().by_iteration),
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
            course: self.iteration_scheme(),
            axes: self.study.axes(),
            profile: self.profile.profile(),
            profile_beside: self
                .runs
                .beside()
                .and_then(|(reference, image)| Some((image.text(reference), self.reference_profile.profile()?))),
            scale: self.scale(),
            filter_mm: run.shown.filter_mm(),
            view: &self.slices.view,
            shown_at: run.shown.id().filter(|_| run.shown.is_past()).map(|id| run.live.axis_value(id.subiteration as f64)),
        }
    }

    pub(super) fn roi_view(&self) -> RoiView<'_> {
        let run = self.run();
        RoiView {
            state: &self.rois,
            table: &run.table,
            deviations: run.roi_deviations(self.rois.measure_unfiltered, &self.rois.document.rois),
            scale: self.scale(),
            voxel_mm: run.shown.volume().map(|volume| volume.grid.voxel_mm),
            image: run.live.radical_names().into_iter().next(),
            has_study_rois: self.study.open.as_ref().is_some_and(|open| !open.study.rois.is_empty()),
            is_measured: run.live.is_measured(),
            filter_mm: run.shown.filter_mm(),
            axes: self.study.axes(),
            second: self.layer.numbers.as_ref(),
            is_anonymous: self.is_anonymous(),
        }
    }

    pub(super) fn plot_pane(&self, kind: PlotKind, ui: &mut Ui, actions: &mut Vec<Action>) {
        summed(actions, Action::Plot, |actions| plot_ui(kind, &self.plots_view(), ui, actions));
    }
}
