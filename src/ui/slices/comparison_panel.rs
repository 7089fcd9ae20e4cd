//! Choice of the comparison with the reference image, and the drawing over the compared pictures.

use egui::{Rect, Ui};
use strum::VariantArray as _;

use super::action::ViewAction;
use super::comparison::{BLINK_SECS, Beside, CompareMode, Picture};
use super::slices_view::SlicesView;
use crate::ui::widgets::theme;

/// Half of the width in which the line between two images can be taken, points.
const LINE_REACH: f32 = 5.0;

/// Draws the choice of the comparison; `why_not` is the reason that there is none.
pub fn beside_ui(chosen: CompareMode, reference: &str, why_not: Option<&str>, ui: &mut Ui, actions: &mut Vec<ViewAction>) {
    ui.horizontal(|ui| {
        ui.label(format!("Beside {reference}:"));
        for &how in CompareMode::VARIANTS {
            let name: &str = how.into();
            let button = egui::Button::selectable(chosen == how, name);
            let response = ui.add_enabled(why_not.is_none() || how == CompareMode::Off, button);
            if response.on_hover_text(how.help()).on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                actions.push(ViewAction::SetBeside(how));
            }
        }
    });
}

/// Draws the names over a picture, and the line between two images.
pub fn overlay_ui(
    view: &SlicesView,
    beside: &Beside,
    (picture, name): (Picture, &str),
    rect: Rect,
    ui: &mut Ui,
    actions: &mut Vec<ViewAction>,
) {
    let time = ui.input(|input| input.time);
    let colours = theme::colours(ui.visuals());
    let painter = ui.painter_at(rect);
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (index, label) in beside.labels(picture, time).into_iter().enumerate() {
        let (align, x) = if index == 0 {
            (egui::Align2::LEFT_BOTTOM, rect.left() + 6.0)
        } else {
            (egui::Align2::RIGHT_BOTTOM, rect.right() - 6.0)
        };
        let place = egui::pos2(x, rect.bottom() - 18.0);
        let galley = painter.layout_no_wrap(label, font.clone(), colours.overlay);
        let at = align.anchor_size(place, galley.size());
        painter.rect_filled(at.expand(2.0), 2.0, egui::Color32::from_black_alpha(150));
        painter.galley(at.min, galley, colours.overlay);
    }
    match beside.how {
        CompareMode::Blink => {
            let left = BLINK_SECS - time % BLINK_SECS;
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(left));
        }
        CompareMode::Swipe => {
            let x = rect.left() + view.view.swipe * rect.width();
            painter.vline(x, rect.y_range(), egui::Stroke::new(3.0, egui::Color32::from_black_alpha(150)));
            painter.vline(x, rect.y_range(), egui::Stroke::new(1.0, colours.shown_mark));
            let line = Rect::from_x_y_ranges(x - LINE_REACH..=x + LINE_REACH, rect.y_range()).intersect(rect);
            let response =
                ui.interact(line, ui.scope_id().with(("swipe", rect.min.x as i32, rect.min.y as i32)), egui::Sense::drag());
            let words = format!("{name}: line between the two images");
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, &words));
            if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged()) {
                actions.push(ViewAction::SetSwipe((at.x - rect.left()) / rect.width()));
            }
            response.on_hover_cursor(egui::CursorIcon::ResizeHorizontal);
        }
        _ => {}
    }
}
