//! Content of the panes with forms, tables and plots.

use egui::{ScrollArea, Ui};

use super::actions::{Action, summed};
use super::app::App;
use super::persistence::restore::offer_ui;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{Notice, RoiRole};
use crate::ui::layer::layer_panel::{OwnLayers, layer_ui};
use crate::ui::plots::activity_plot::{ActivityView, activity_ui};
use crate::ui::plots::compare_panel::{CompareAction, compare_panel_ui};
use crate::ui::plots::lesions::lesion_panel::lesions_ui;
use crate::ui::plots::model::model_panel::model_ui;
use crate::ui::plots::oxygen_panel::{OxygenView, oxygen_ui};
use crate::ui::plots::plot_area::plot_ui;
use crate::ui::plots::plot_options::PlotKind;
use crate::ui::plots::plots_view::{KeptCurves, PlotsView};
use crate::ui::plots::race_panel::race_panel_ui;
use crate::ui::plots::recovery::recovery_panel::recovery_ui;
use crate::ui::plots::spectrum::action::SpectrumAction;
use crate::ui::plots::spectrum::spectrum_panel::spectrum_ui;
use crate::ui::plots::stage_panel::stage_panel_ui;
use crate::ui::plots::{BottomTab, TabsOf};
use crate::ui::rois::roi_panel::roi_ui;
use crate::ui::rois::roi_view::RoiView;
use crate::ui::run::recon_panel::{ReconView, recon_ui};
use crate::ui::study::list_panel::rates_ui;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::study_panel::{StudyView, study_ui};
use crate::ui::study::sweep_panel::sweep_panel_ui;
use crate::ui::study::tube_tab::tube_tab_ui;

/// Text of the tab of tubes without any.
const NO_TUBES_YET: &str =
    "There are no tubes of response yet: start with the projector tubes, make some, or open a file of them.";

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

    /// Returns the properties of the study that determine the tabs.
    pub(super) fn tabs(&self) -> TabsOf {
        let counts = self.study.open.as_ref().and_then(OpenStudy::counts);
        let has_tubes = counts.is_some_and(|open| open.scanner_of_tubes().is_ok());
        let [is_sweep, is_list] = [self.study.sweep().is_some(), self.study.list().is_some()];
        let has_hot_spheres =
            self.rois.document.rois.iter().filter(|roi| roi.role == RoiRole::Hot).count() >= SPHERE_DIAMETERS_MM.len();
        let is_image = self.study.images().is_some();
        let is_oximetry = self.study.oximetry().is_some();
        let has_spectra = self.spectra.has_spectra();
        TabsOf {
            is_sweep,
            is_oximetry,
            has_spectra,
            is_list,
            is_sinogram: counts.is_some(),
            is_image,
            has_hot_spheres,
            has_tubes,
        }
    }

    fn plots_view(&self) -> PlotsView<'_> {
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

    pub(super) fn table_pane(&self, tab: BottomTab, ui: &mut Ui, actions: &mut Vec<Action>) {
        let run = self.run();
        match tab {
            BottomTab::Rois => summed(actions, Action::Roi, |actions| roi_ui(&self.roi_view(), ui, actions)),
            BottomTab::Lesions => summed(actions, Action::Lesion, |actions| lesions_ui(&self.lesion_view(), ui, actions)),
            BottomTab::Time => stage_panel_ui(&run.live, ui),
            BottomTab::Sweep => self.study.sweep().into_iter().for_each(|open| {
                let is_filtered = !run.forms.settings.algorithm.is_least_squares();
                summed(actions, Action::Study, |actions| sweep_panel_ui(open, is_filtered, ui, actions));
            }),
            BottomTab::Oxygen => self.study.oximetry().into_iter().for_each(|open| {
                let view = OxygenView {
                    series: &open.series,
                    num_images: run.live.progress().0,
                    next_image: run.live.iterations_of_next_image(),
                    update: run.live.oxygen.as_ref(),
                    images: run.live.oxygen_maps().map(|(_, images)| images),
                    redraw: run.live.oxygen_redraw.as_ref(),
                    has_redraw: run.live.info.as_ref().is_some_and(|info| !info.job.settings.algorithm.is_least_squares()),
                    map: self.layer.oxygen,
                    rois: &self.rois.document.rois,
                    selected: self.rois.selected,
                };
                summed(actions, Action::Layer, |actions| oxygen_ui(&view, ui, actions));
            }),
            BottomTab::Spectrum => {
                summed(actions, of_spectrum, |actions| spectrum_ui(&self.spectrum_view(), ui, actions));
            }
            BottomTab::Tube => match self.study.tubes() {
                Some(tubes) => summed(actions, Action::Study, |actions| tube_tab_ui(tubes, ui, actions)),
                None => _ = ui.label(egui::RichText::new(NO_TUBES_YET).weak()),
            },
            BottomTab::Rates => {
                let frames_ms = run.forms.settings.frames().unwrap_or_default();
                self.study.list().into_iter().for_each(|open| rates_ui(open, &frames_ms, ui));
            }
            BottomTab::Activity => {
                let list = self.study.list().map(|open| &open.list);
                let facts = list.map(|list| &*list.facts);
                // The duration by which the calibration of a frame is divided, too.
                let duration_ms = list.map(|list| list.time.duration_ms(&list.facts)).filter(|ms| *ms > 0);
                let duration_secs = duration_ms.map(|ms| ms as f64 / 1e3);
                let bq_per_ml = self.study.calibration.bq_per_ml.zip(duration_secs).map(|(factor, secs)| factor * secs);
                let view = ActivityView { series: self.frames(), rois: &self.rois.document.rois, facts, bq_per_ml };
                summed(actions, Action::Plot, |actions| activity_ui(&view, ui, actions));
            }
            BottomTab::Model => summed(actions, Action::Plot, |actions| model_ui(&self.model_view(), ui, actions)),
            BottomTab::Recovery => {
                summed(actions, Action::Recovery, |actions| recovery_ui(&self.recovery_view(), ui, actions));
            }
            BottomTab::Compare => {
                summed(actions, compared, |actions| compare_panel_ui(&self.runs, &self.plots_view(), ui, actions));
            }
            BottomTab::Race => {
                let likeness = self.likeness();
                summed(actions, Action::Plot, |actions| {
                    race_panel_ui(&run.live, likeness.as_ref(), &self.plots_view(), ui, actions);
                });
            }
        }
    }

    pub(super) fn plot_pane(&self, kind: PlotKind, ui: &mut Ui, actions: &mut Vec<Action>) {
        summed(actions, Action::Plot, |actions| plot_ui(kind, &self.plots_view(), ui, actions));
    }
}

fn of_spectrum(action: SpectrumAction) -> Action {
    match action {
        SpectrumAction::Layer(action) => Action::Layer(action),
        SpectrumAction::Roi(action) => Action::Roi(action),
        SpectrumAction::Show(of) => Action::ShowSpectrum(of),
    }
}

fn compared(action: CompareAction) -> Action {
    match action {
        CompareAction::Run(action) => Action::Run(action),
        CompareAction::Plot(action) => Action::Plot(action),
    }
}
