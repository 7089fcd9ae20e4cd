//! Tab of tubes of response: a map of all, and the selected one from two sides and in a cut, with its widths.

use egui::{RichText, TextureHandle, Ui};
use egui_plot::{AxisHints, HLine, PlotImage, PlotPoint, Points, VLine};

use super::study::edit;
use super::tool::Tool;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::study::open::open_tubes::OpenTubes;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::plot;
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, Workspace};

/// Shares of the width for the map and for the sections along the line; the cut has the rest.
const WIDTH_SHARES: [f32; 2] = [0.32, 0.40];

/// Text in place of tubes.
const NO_TUBES_YET: &str =
    "There are no tubes of response yet: start with the projector tubes, make some, or open a file of them.";

pub struct Tube;

impl Tool for Tube {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Tube", "Sensitivity of one bin: a tube of response"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        let open = work.study.open.as_ref().and_then(OpenStudy::counts);
        open.is_some_and(|open| open.scanner_of_tubes().is_ok())
    }

    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        work.study.tubes_mut().filter(|_| is_drawn).into_iter().for_each(|tubes| tubes.update(&work.ctx));
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        match work.tubes() {
            Some(tubes) => tube_tab_ui(tubes, ui, requests),
            None => _ = ui.label(RichText::new(NO_TUBES_YET).weak()),
        }
    }
}

fn tube_tab_ui(tubes: &OpenTubes, ui: &mut Ui, requests: &mut Vec<Request>) {
    let (Some(map), Some(sections)) = (&tubes.map, &tubes.sections) else { return };
    ui.add(egui::Label::new(text(tubes)).wrap());
    let [across_mm, axial_mm] = [1, 2].map(|axis| tubes.sampling().num[axis] as f64 * tubes.sampling().spacing_mm[axis]);
    let length_mm = tubes.sampling().num[0] as f64 * tubes.sampling().spacing_mm[0];
    let height = ui.available_height();
    let total = ui.available_width() - 2.0 * ui.spacing().item_spacing.x;
    ui.horizontal_top(|ui| {
        column(ui, WIDTH_SHARES[0] * total, height, |ui| map_ui(tubes, map, ui, requests));
        column(ui, WIDTH_SHARES[1] * total, height, |ui| {
            let each = 0.5 * (ui.available_height() - ui.spacing().item_spacing.y);
            for (title, picture, size_mm) in
                [("From above: across, mm", &sections.across, across_mm), ("From the side: axial, mm", &sections.axial, axial_mm)]
            {
                column(ui, ui.available_width(), each, |ui| {
                    let at = long_section_ui(title, picture, [length_mm, size_mm], tubes.along_mm(), ui);
                    requests.extend(at.map(|along_mm| {
                        edit(move |study| study.tubes_mut().into_iter().for_each(|tubes| tubes.cut_at(along_mm)))
                    }));
                });
            }
        });
        column(ui, ui.available_width(), height, |ui| cut_ui(&sections.cut, [across_mm, axial_mm], ui));
    });
}

/// Describes the selected tube.
fn text(tubes: &OpenTubes) -> String {
    let [radial, difference] = tubes.selected();
    let [bin_mm, ring_mm] = [tubes.sampling().spacing_mm[1], 2.0 * tubes.sampling().spacing_mm[2]];
    let [across, axial] = tubes.widths_mm().map(|width| width.map_or_else(|| "–".to_owned(), |mm| format!("{mm:.2} mm")));
    format!(
        "Bin {radial} from the axis ({:.1} mm), ring difference {difference} ({:.1} mm): adds up to {:.1} mm of line. \
         {:.1} mm along the line its FWHM is {across} across and {axial} axially.",
        radial as f64 * bin_mm,
        difference as f64 * ring_mm,
        tubes.sum_mm(),
        tubes.along_mm()
    )
}

fn column(ui: &mut Ui, width: f32, height: f32, contents: impl FnOnce(&mut Ui)) {
    ui.allocate_ui_with_layout(egui::vec2(width, height), egui::Layout::top_down(egui::Align::Min), |ui| {
        ui.set_width(width);
        contents(ui);
    });
}

/// Draws the map of all sums; a click or a drag selects a tube.
fn map_ui(tubes: &OpenTubes, map: &TextureHandle, ui: &mut Ui, requests: &mut Vec<Request>) {
    let title = format!("Sums: white 0, black {:.1} mm", tubes.largest_sum_mm());
    ui.label(RichText::new(title).small().strong())
        .on_hover_text("Sum of each tube, proportional to the sensitivity of its bin. Click to select a tube");
    let size = [tubes.sampling().num_radial as f64, tubes.sampling().num_ring_differences as f64];
    let middle = PlotPoint::new(0.5 * size[0] - 0.5, 0.5 * size[1] - 0.5);
    let image = PlotImage::new("sums", map.id(), middle, size.map(|n| n as f32));
    let [radial, difference] = tubes.selected().map(|index| index as f64);
    let colour = theme::colours(ui.visuals()).crosshair;
    let response = plot("tube map", "bins from the axis").custom_y_axes(vec![axis("ring difference")]).show(ui, |plot| {
        plot.image(image);
        plot.hline(HLine::new("looked at", difference).color(colour));
        plot.vline(VLine::new("looked at", radial).color(colour));
        plot.pointer_coordinate()
    });
    let looks = response.response.clicked() || response.response.dragged();
    if let Some(at) = response.inner.filter(|_| looks) {
        let index = |value: f64, num: f64| value.round().clamp(0.0, num - 1.0) as usize;
        let tube = [index(at.x, size[0]), index(at.y, size[1])];
        requests.push(edit(move |study| study.tubes_mut().into_iter().for_each(|tubes| tubes.select(tube))));
    }
    plot::name(&response.response, "Picture: sums of the tubes");
}

/// Draws a tube from one side with its nominal line; returns the position of a click along the line, mm.
fn long_section_ui(title: &str, picture: &TextureHandle, size_mm: [f64; 2], cut_mm: f64, ui: &mut Ui) -> Option<f64> {
    ui.label(RichText::new(title).small().strong())
        .on_hover_text("White 0, black its largest value. The line itself lies at 0. Click to choose where it is cut");
    let colours = theme::colours(ui.visuals());
    let image = PlotImage::new(title, picture.id(), PlotPoint::new(0.0, 0.0), size_mm.map(|mm| mm as f32));
    let response = plot(title, "mm along the line").custom_y_axes(vec![axis("")]).show(ui, |plot| {
        plot.image(image);
        plot.hline(HLine::new("nominal line", 0.0).color(colours.crosshair));
        plot.vline(VLine::new("cut", cut_mm).color(colours.shown_mark));
        plot.pointer_coordinate()
    });
    plot::name(&response.response, &format!("Picture: tube, {title}"));
    let looks = response.response.clicked() || response.response.dragged();
    response.inner.filter(|_| looks).map(|at| at.x)
}

/// Draws the cut through a tube with the position of its nominal line, both axes to the same scale.
fn cut_ui(picture: &TextureHandle, size_mm: [f64; 2], ui: &mut Ui) {
    ui.label(RichText::new("Cut: axial, mm").small().strong())
        .on_hover_text("To the right across the line, upwards along the axis");
    let colour = theme::colours(ui.visuals()).crosshair;
    let image = PlotImage::new("cut", picture.id(), PlotPoint::new(0.0, 0.0), size_mm.map(|mm| mm as f32));
    let shown = plot("tube cut", "mm across").data_aspect(1.0).custom_y_axes(vec![axis("")]).show(ui, |plot| {
        plot.image(image);
        plot.points(Points::new("nominal line", vec![[0.0, 0.0]]).color(colour).radius(3.0));
    });
    plot::name(&shown.response, "Picture: tube, cut across");
}

fn axis<'a>(label: &str) -> AxisHints<'a> {
    AxisHints::new_y().label(label).min_thickness(24.0)
}
