//! Choice of the comparison with the reference image; names of the pictures, and the line of the swipe.

use egui::{Color32, Pos2, Rect, Shape, Stroke, Ui};
use strum::VariantArray as _;

use super::{BLINK_SECS, CompareMode, Picture};
use crate::ui::slices::action::ViewAction;
use crate::ui::slices::slices_view::SlicesView;
use crate::ui::widgets::theme;

/// Half of the width in which the line between two images can be taken, points.
const LINE_REACH: f32 = 7.0;

/// Radius of the grip of this line, points.
const GRIP_RADIUS: f32 = 9.0;

/// Draws the choice of the comparison; `refusal` returns the reason for which a mode is impossible.
pub fn beside_ui(
    chosen: CompareMode,
    reference: &str,
    refusal: impl Fn(CompareMode) -> Option<&'static str>,
    ui: &mut Ui,
    actions: &mut Vec<ViewAction>,
) {
    ui.horizontal(|ui| {
        ui.label(format!("Next to {reference}:"));
        for &how in CompareMode::VARIANTS {
            let name: &str = how.into();
            let button = egui::Button::selectable(chosen == how, name);
            let reason = refusal(how);
            let response = ui.add_enabled(reason.is_none(), button);
            if response.on_hover_text(how.help()).on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
                actions.push(ViewAction::SetBeside(how));
            }
        }
    });
}

/// Draws the names over a picture, and the line of a swipe.
pub fn overlay_ui(view: &SlicesView, (picture, name): (Picture, &str), rect: Rect, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let time = ui.input(|input| input.time);
    let colours = theme::colours(ui.visuals());
    let painter = ui.painter_at(rect);
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (index, label) in labels(view, picture, time).into_iter().enumerate() {
        let (align, x) = if index == 0 {
            (egui::Align2::LEFT_BOTTOM, rect.left() + 6.0)
        } else {
            (egui::Align2::RIGHT_BOTTOM, rect.right() - 6.0)
        };
        let place = egui::pos2(x, rect.bottom() - 18.0);
        let galley = painter.layout_no_wrap(label, font.clone(), colours.overlay);
        let at = align.anchor_size(place, galley.size());
        painter.rect_filled(at.expand(2.0), 2.0, Color32::from_black_alpha(150));
        painter.galley(at.min, galley, colours.overlay);
    }
    let how = view.beside.map_or(CompareMode::Off, |beside| beside.how);
    if how == CompareMode::Blink {
        let left = BLINK_SECS - time % BLINK_SECS;
        ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(left));
    }
    if how == CompareMode::Swipe || view.swipes_layer() {
        line_ui(view.view.swipe, name, rect, ui, actions);
    }
}

/// Returns the names of the images of a picture, from left to right.
fn labels(view: &SlicesView, picture: Picture, time: f64) -> Vec<String> {
    let compared = view.beside.map_or_else(Vec::new, |beside| beside.labels(picture, time));
    let Some(image) = view.layer.filter(|_| view.swipes_layer()) else { return compared };
    let own = compared.into_iter().next().unwrap_or_else(|| "Displayed image".to_owned());
    vec![own, format!("{} {}", image.series.modality.name(), image.title)]
}

/// Draws the line between two images with its grip, and handles a drag of it. White and thick, it differs from the crosshair.
fn line_ui(swipe: f32, name: &str, rect: Rect, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    let x = rect.left() + swipe * rect.width();
    let painter = ui.painter_at(rect);
    painter.vline(x, rect.y_range(), Stroke::new(4.0, Color32::from_black_alpha(170)));
    painter.vline(x, rect.y_range(), Stroke::new(2.0, Color32::WHITE));
    let grip = Pos2::new(x, rect.bottom() - 0.25 * rect.height());
    painter.circle(grip, GRIP_RADIUS, Color32::WHITE, Stroke::new(1.5, Color32::from_black_alpha(170)));
    for side in [-1.0, 1.0] {
        let corner = |across: f32, down: f32| grip + egui::vec2(side * across, down);
        let arrow = vec![corner(7.0, 0.0), corner(2.5, -3.5), corner(2.5, 3.5)];
        painter.add(Shape::convex_polygon(arrow, Color32::from_gray(40), Stroke::NONE));
    }
    let reach = Rect::from_x_y_ranges(x - LINE_REACH..=x + LINE_REACH, rect.y_range());
    let reach = reach.intersect(rect);
    let id = ui.scope_id().with(("swipe", rect.min.x as i32, rect.min.y as i32));
    let response = ui.interact(reach, id, egui::Sense::drag());
    let label = format!("{name}: line between the two images");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, &label));
    if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
        actions.push(ViewAction::SetSwipe((at.x - rect.left()) / rect.width()));
    }
    response.on_hover_cursor(egui::CursorIcon::ResizeHorizontal);
}
