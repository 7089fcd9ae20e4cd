//! The tables of the window: one row for each, with its title, the studies that have it, and its content. Another one is its panel in a
//! file of its folder, a variant of [`BottomTab`] and a row here.

use egui::Ui;

use super::actions::{Action, summed};
use super::app::App;
use crate::data::RoiRole;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::ui::plots::BottomTab;
use crate::ui::plots::activity_plot::{ActivityView, activity_ui};
use crate::ui::plots::compare_panel::{CompareAction, compare_panel_ui};
use crate::ui::plots::lesions::lesion_panel::lesions_ui;
use crate::ui::plots::model::model_panel::model_ui;
use crate::ui::plots::oxygen_panel::{OxygenView, oxygen_ui};
use crate::ui::plots::race_panel::race_panel_ui;
use crate::ui::plots::recovery::recovery_panel::recovery_ui;
use crate::ui::plots::spectrum::action::SpectrumAction;
use crate::ui::plots::spectrum::spectrum_panel::spectrum_ui;
use crate::ui::plots::stage_panel::stage_panel_ui;
use crate::ui::rois::roi_panel::roi_ui;
use crate::ui::study::list_panel::rates_ui;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::sweep_panel::sweep_panel_ui;
use crate::ui::study::tube_tab::tube_tab_ui;

/// A table of the window.
pub struct Tool {
    pub tab: BottomTab,
    pub title: &'static str,
    /// Its tooltip.
    pub help: &'static str,
    /// True if the open study has it.
    is_for: fn(&App) -> bool,
    ui: fn(&App, &mut Ui, &mut Vec<Action>),
}

/// All tables, in their order.
static TOOLS: &[Tool] = &[
    Tool {
        tab: BottomTab::Rois,
        title: "Regions",
        help: "Numbers of the regions of interest on the image on the screen",
        is_for: |_| true,
        ui: |app, ui, actions| summed(actions, Action::Roi, |actions| roi_ui(&app.roi_view(), ui, actions)),
    },
    Tool {
        tab: BottomTab::Lesions,
        title: "Lesions",
        help: "Lesions of the image on the screen: peak, volume, total glycolysis, change since a baseline",
        is_for: |app| !app.is_epri(),
        ui: |app, ui, actions| summed(actions, Action::Lesion, |actions| lesions_ui(&app.lesion_view(), ui, actions)),
    },
    Tool {
        tab: BottomTab::Time,
        title: "Time",
        help: "Where the time of an iteration goes, stage by stage",
        is_for: |app| app.study.images().is_none(),
        ui: |app, ui, _| stage_panel_ui(&app.run().live, ui),
    },
    Tool {
        tab: BottomTab::Race,
        title: "Race",
        help: "Losses of non-atomic accumulation",
        // (A sweep has no race.)
        is_for: App::is_pet_scan,
        ui: |app, ui, actions| {
            let likeness = app.likeness();
            summed(actions, Action::Plot, |actions| {
                race_panel_ui(&app.run().live, likeness.as_ref(), &app.plots_view(), ui, actions);
            });
        },
    },
    Tool {
        tab: BottomTab::Compare,
        title: "Compare",
        help: "Similarity of the images to those of a reference run",
        is_for: |_| true,
        ui: |app, ui, actions| summed(actions, compared, |actions| compare_panel_ui(&app.runs, &app.plots_view(), ui, actions)),
    },
    Tool {
        tab: BottomTab::Model,
        title: "Model",
        help: "Measured and expected counts of the sinogram row under the crosshair, with the factors of the model",
        is_for: |app| app.counts().is_some(),
        ui: |app, ui, actions| summed(actions, Action::Plot, |actions| model_ui(&app.model_view(), ui, actions)),
    },
    Tool {
        tab: BottomTab::Recovery,
        title: "EARL",
        help: "Recovery of six hot spheres against the bands of a standard (EARL), for each iteration and post-filter",
        is_for: |app| {
            let hot = app.rois.document.rois.iter().filter(|roi| roi.role == RoiRole::Hot).count();
            hot >= SPHERE_DIAMETERS_MM.len() && app.is_pet_scan()
        },
        ui: |app, ui, actions| summed(actions, Action::Recovery, |actions| recovery_ui(&app.recovery_view(), ui, actions)),
    },
    Tool {
        tab: BottomTab::Rates,
        title: "Rates",
        help: "Coincidences per second",
        is_for: |app| app.study.list().is_some(),
        ui: |app, ui, _| {
            let frames_ms = app.run().forms.settings.frames().unwrap_or_default();
            app.study.list().into_iter().for_each(|open| rates_ui(open, &frames_ms, ui));
        },
    },
    Tool {
        tab: BottomTab::Activity,
        title: "Activity",
        help: "Time–activity curves: the mean of each region in each frame",
        is_for: |app| app.study.list().is_some(),
        ui: activity_tool,
    },
    Tool {
        tab: BottomTab::Sweep,
        title: "Sweep",
        help: "The projections of the EPRI sweep, measured and filtered",
        is_for: |app| app.study.sweep().is_some(),
        ui: |app, ui, actions| {
            let is_filtered = !app.run().forms.settings.algorithm.is_least_squares();
            let open = app.study.sweep().into_iter();
            open.for_each(|open| summed(actions, Action::Study, |actions| sweep_panel_ui(open, is_filtered, ui, actions)));
        },
    },
    Tool {
        tab: BottomTab::Oxygen,
        title: "pO2",
        help: "Oxygen pressure of the regions, hypoxic fraction, and the map on the image",
        is_for: |app| app.study.oximetry().is_some(),
        ui: oxygen_tool,
    },
    Tool {
        tab: BottomTab::Spectrum,
        title: "Spectrum",
        help: "Spectrum at the crosshair or of a region with its line, lines of the regions, and maps of the lines on the image",
        is_for: |app| app.spectra.has_spectra(),
        ui: |app, ui, actions| summed(actions, of_spectrum, |actions| spectrum_ui(&app.spectrum_view(), ui, actions)),
    },
    Tool {
        tab: BottomTab::Tube,
        title: "Tube",
        help: "Sensitivity of one bin: a tube of response",
        is_for: |app| {
            let open = app.study.open.as_ref().and_then(OpenStudy::counts);
            open.is_some_and(|open| open.scanner_of_tubes().is_ok())
        },
        ui: |app, ui, actions| match app.study.tubes() {
            Some(tubes) => summed(actions, Action::Study, |actions| tube_tab_ui(tubes, ui, actions)),
            None => _ = ui.label(egui::RichText::new(NO_TUBES_YET).weak()),
        },
    },
];

/// Text in place of tubes.
const NO_TUBES_YET: &str =
    "There are no tubes of response yet: start with the projector tubes, make some, or open a file of them.";

impl Tool {
    /// Draws it.
    pub fn ui(&self, app: &App, ui: &mut Ui, actions: &mut Vec<Action>) {
        (self.ui)(app, ui, actions);
    }
}

impl App {
    /// Returns the titles of the tables that the open study has.
    pub fn table_titles(&self) -> Vec<&'static str> {
        TOOLS.iter().filter(|tool| (tool.is_for)(self)).map(|tool| tool.title).collect()
    }

    /// Returns a table by its tab, if the open study has it.
    pub(super) fn table(&self, tab: BottomTab) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.tab == tab && (tool.is_for)(self))
    }

    /// Returns true for one or several EPRI acquisitions.
    fn is_epri(&self) -> bool {
        self.study.sweep().is_some() || self.study.oximetry().is_some()
    }

    /// Returns true for data of a PET scan.
    fn is_pet_scan(&self) -> bool {
        !self.is_epri() && self.study.images().is_none()
    }
}

fn activity_tool(app: &App, ui: &mut Ui, actions: &mut Vec<Action>) {
    let list = app.study.list().map(|open| &open.list);
    let facts = list.map(|list| &*list.facts);
    // The duration by which the calibration of a frame is divided, too.
    let duration_ms = list.map(|list| list.time.duration_ms(&list.facts)).filter(|ms| *ms > 0);
    let duration_secs = duration_ms.map(|ms| ms as f64 / 1e3);
    let bq_per_ml = app.study.calibration.bq_per_ml.zip(duration_secs).map(|(factor, secs)| factor * secs);
    let view = ActivityView { series: app.frames(), rois: &app.rois.document.rois, facts, bq_per_ml };
    summed(actions, Action::Plot, |actions| activity_ui(&view, ui, actions));
}

fn oxygen_tool(app: &App, ui: &mut Ui, actions: &mut Vec<Action>) {
    let (Some(open), run) = (app.study.oximetry(), app.run()) else { return };
    let view = OxygenView {
        series: &open.series,
        num_images: run.live.progress().0,
        next_image: run.live.iterations_of_next_image(),
        update: run.live.oxygen.as_ref(),
        images: run.live.oxygen_maps().map(|(_, images)| images),
        redraw: run.live.oxygen_redraw.as_ref(),
        has_redraw: run.live.info.as_ref().is_some_and(|info| !info.job.settings.algorithm.is_least_squares()),
        map: app.layer.oxygen,
        rois: &app.rois.document.rois,
        selected: app.rois.selected,
    };
    summed(actions, Action::Layer, |actions| oxygen_ui(&view, ui, actions));
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
