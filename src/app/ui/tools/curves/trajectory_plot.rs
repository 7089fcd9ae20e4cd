//! Contrast recovery against noise: the trajectory of each ROI over the iterations, for the choice of a stopping point, and
//! fainter the trajectories of earlier runs.

use egui::{Align2, Color32, Ui};
use egui_plot::{GridInput, GridMark, LineStyle, MarkerShape, PlotPoint, PlotResponse, PlotUi, Points};

use super::curve_plot::{Drawn, KEPT_STRENGTH, exported, kept_style, menu_ui};
use super::plots_view::{PlotsView, show_at};
use crate::ui::run::curves::Trajectory;
use crate::ui::widgets::plot;
use crate::ui::widgets::plot::Axes;
use crate::ui::widgets::{format, theme};
use crate::ui::workspace::state::Request;

/// Most ticks of iterations along a way.
const MAX_TICKS: usize = 12;

/// Nearest that a click has to be to a point, points of the screen.
const MAX_DISTANCE: f32 = 24.0;

/// Draws the plot; a click near a trajectory displays the iterate there.
pub fn trajectory_ui(view: &PlotsView, ui: &mut Ui, requests: &mut Vec<Request>) {
    let axes = Axes { x: "NSR, %".into(), y_unit: "%", ..Axes::default() };
    let colours = theme::colours(ui.visuals());
    let trajectories = &view.curves.against_noise;
    let plot = plot::plot_of("trajectories", &axes).x_grid_spacer(round_marks);
    let plot = plot.include_x(0.0).include_x(5.0).include_y(0.0).include_y(10.0);
    let response = plot.show(ui, |plot| {
        for (index, kept) in view.kept.iter().enumerate() {
            for trajectory in &kept.curves.against_noise {
                let name = format!("{}, run {}", trajectory.name, kept.run);
                trajectory_curve_ui(
                    plot,
                    trajectory,
                    &name,
                    trajectory.colour.gamma_multiply(KEPT_STRENGTH),
                    1.2,
                    kept_style(index),
                );
            }
        }
        for trajectory in trajectories {
            trajectory_curve_ui(plot, trajectory, &trajectory.name, trajectory.colour, 1.8, LineStyle::Solid);
            let at = view.shown_at.unwrap_or(f64::INFINITY);
            if let Some((_, point)) = trajectory.points.iter().rev().find(|(axis_value, _)| *axis_value <= at) {
                let marker = Points::new("on the screen", vec![*point]).shape(MarkerShape::Circle).filled(false);
                plot.points(marker.radius(5.0).color(colours.shown_mark));
            }
        }
    });
    plot::name(&response.response, "Plot: contrast recovery against noise");
    let drawn = |trajectory: &Trajectory, name: String, is_kept| Drawn {
        name,
        is_kept,
        points: trajectory.points.iter().map(|(_, p)| *p).collect(),
    };
    let of_kept = view.kept.iter().flat_map(|kept| {
        kept.curves
            .against_noise
            .iter()
            .map(move |trajectory| drawn(trajectory, format!("{}, run {}", trajectory.name, kept.run), true))
    });
    let all = trajectories.iter().map(|trajectory| drawn(trajectory, trajectory.name.clone(), false)).chain(of_kept);
    menu_ui(ui, &response.response, || exported("contrast recovery", &axes, all.collect()), requests);
    if let Some(longest) = trajectories.iter().max_by_key(|trajectory| trajectory.points.len()) {
        tick_labels(longest, &response, ui);
    }
    if let Some(at) = response.response.interact_pointer_pos().filter(|_| response.response.clicked()) {
        let points = trajectories.iter().flat_map(|trajectory| &trajectory.points);
        let with_distance =
            points.map(|(axis_value, point)| (response.transform.position_from_point(&(*point).into()).distance(at), axis_value));
        let nearest = with_distance.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(distance, _)| *distance <= MAX_DISTANCE);
        requests.extend(nearest.map(|(_, axis_value)| show_at(*axis_value)));
    }
}

/// Returns round marks with room for their numbers, also in a small plot. (A step of the input is 8 points wide.)
fn round_marks(input: GridInput) -> Vec<GridMark> {
    let step_size = format::round_step(6.0 * input.base_step_size);
    let (first, last) = ((input.bounds.0 / step_size).ceil() as i64, (input.bounds.1 / step_size).floor() as i64);
    (first..=last).take(100).map(|k| GridMark { value: k as f64 * step_size, step_size }).collect()
}

/// Draws a trajectory with ticks at its full iterations.
fn trajectory_curve_ui(plot: &mut PlotUi, trajectory: &Trajectory, name: &str, colour: Color32, width: f32, style: LineStyle) {
    let points: Vec<[f64; 2]> = trajectory.points.iter().map(|(_, point)| *point).collect();
    plot::styled_curve(plot, name, &points, colour, width, style);
    let ticks: Vec<[f64; 2]> = ticks(trajectory).map(|(_, point)| *point).collect();
    plot.points(Points::new(name, ticks).color(colour).radius(2.4));
}

/// Returns the points at some of the full iterations, evenly thinned.
fn ticks(trajectory: &Trajectory) -> impl Iterator<Item = &(f64, [f64; 2])> {
    let is_whole = |(axis_value, _): &&(f64, [f64; 2])| (axis_value - axis_value.round()).abs() < 1e-9;
    let stride = trajectory.points.iter().filter(is_whole).count().div_ceil(MAX_TICKS).max(1);
    trajectory.points.iter().filter(is_whole).filter(move |(axis_value, _)| (axis_value.round() as usize).is_multiple_of(stride))
}

/// Writes the iterations at the ticks of a trajectory.
fn tick_labels(trajectory: &Trajectory, response: &PlotResponse<()>, ui: &Ui) {
    let painter = ui.painter().with_clip_rect(response.response.rect);
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (axis_value, point) in ticks(trajectory) {
        let at = response.transform.position_from_point(&PlotPoint::from(*point));
        let words = format::short_number(*axis_value);
        painter.text(at + egui::vec2(0.0, -3.0), Align2::CENTER_BOTTOM, words, font.clone(), ui.visuals().weak_text_color());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_plot_has_numbers_on_its_axis() {
        // 100 points for 5 %.
        let marks = round_marks(GridInput { bounds: (-0.1, 5.1), base_step_size: 8.0 * 5.2 / 100.0 });
        assert_eq!(marks.iter().map(|mark| mark.value).collect::<Vec<_>>(), [0.0, 5.0]);
    }

    #[test]
    fn long_ways_have_few_ticks_at_whole_iterations() {
        let points = (1..=200).map(|step| (f64::from(step) / 4.0, [0.0, 0.0])).collect();
        let trajectory = Trajectory { name: String::new(), colour: Color32::RED, points };
        let places: Vec<f64> = ticks(&trajectory).map(|(axis_value, _)| *axis_value).collect();
        assert_eq!(places, [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0]);
    }
}
