//! The line along which the oblique slice cuts another slice, and the handles on it that turn the oblique slice.

use egui::{Pos2, Vec2};

use super::rotatable_view::RotatableContent;
use super::view::{SliceGeometry, ViewState};

/// Distance of the handles from the crosshair, as a fraction of the view's smaller side.
const HANDLE_PART: f32 = 0.38;

/// The line on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObliqueLine {
    /// Where the crosshair is.
    at: Pos2,
    /// Its direction, of length 1.
    along: Vec2,
}

impl ObliqueLine {
    /// Returns the line of the oblique slice in this slice; `None` if it is hidden, or parallel.
    pub(super) fn of(view: &ViewState, slice: &SliceGeometry) -> Option<Self> {
        if view.turned != RotatableContent::Oblique || !view.shows_turned() {
            return None;
        }
        let away = view.turn.basis()[2];
        let ([a, b], _) = slice.plane.axes();
        // Along the line both planes contain: across the part of the oblique plane's normal that lies in this slice.
        let length = Some(away[a].hypot(away[b])).filter(|length| *length > 1e-6)?;
        let along = egui::vec2((-away[b] / length) as f32, (away[a] / length) as f32);
        Some(Self { at: slice.screen_from_mm(view.crosshair_mm), along })
    }

    /// Returns two points of the line outside the view.
    pub(super) fn ends(&self, slice: &SliceGeometry) -> [Pos2; 2] {
        let reach = (slice.rect.width() + slice.rect.height()) * self.along;
        [self.at - reach, self.at + reach]
    }

    /// Returns the handles of the rotation: on both sides of the crosshair, if they are in the view.
    pub(super) fn handles(&self, slice: &SliceGeometry) -> Vec<Pos2> {
        let direction = HANDLE_PART * slice.rect.size().min_elem() * self.along;
        [self.at - direction, self.at + direction].into_iter().filter(|handle| slice.rect.contains(*handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use egui::Rect;

    use super::*;
    use crate::data::RoiPlane;
    use crate::ui::slices::rotatable_view::Rotation;
    use crate::ui::slices::view_layout::Layout;

    fn slice(plane: RoiPlane) -> SliceGeometry {
        SliceGeometry { plane, rect: Rect::from_min_size(Pos2::ZERO, egui::vec2(200.0, 100.0)), scale: 2.0, middle_mm: [0.0; 3] }
    }

    #[test]
    fn it_lies_where_both_slices_meet_and_follows_its_handle() {
        let mut view = ViewState { turned: RotatableContent::Oblique, layout: Layout::Grid, ..ViewState::default() };
        // Not turned it is the coronal slice.
        assert_eq!(ObliqueLine::of(&view, &slice(RoiPlane::Coronal)), None);
        for plane in [RoiPlane::Transaxial, RoiPlane::Sagittal, RoiPlane::Coronal] {
            view.turn = Rotation::default().by(20.0, 30.0);
            let slice = slice(plane);
            let before = ObliqueLine::of(&view, &slice).unwrap();
            let [_, handle] = before.handles(&slice)[..] else { panic!("two handles") };
            assert!((handle.distance(Pos2::new(100.0, 50.0)) - 38.0).abs() < 1e-3);
            // A quarter of a circle in steps; the line goes through the pointer after each.
            let start = (handle - before.at).angle();
            let on_circle = |angle: f32| before.at + 38.0 * Vec2::angled(start + angle);
            for step in 0..9 {
                let [from, to] = [step, step + 1].map(|step| on_circle(10f32.to_radians() * step as f32));
                view.turn_oblique(plane, [from, to].map(|at| slice.mm_from_screen(at)));
                let line = ObliqueLine::of(&view, &slice).unwrap();
                let off = line.along.rot90().dot(to - line.at).abs();
                assert!(off < 1e-2, "{plane:?}, step {step}: {off} points off");
            }
        }
    }
}
