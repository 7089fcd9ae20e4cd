//! Regions of interest as an editable document with a history. It contains no volumes.

use std::ops::{Deref, DerefMut};

use egui::util::undoer::{Settings, Undoer};

use crate::data::{Roi, RoiPlane, RoiShape, validate_activity_ratio};
use crate::geometry::Point;

use crate::ui::widgets::theme;

/// Editable document of a study, small enough for a comparison and a clone in each frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub rois: Vec<Roi>,
}

/// History of the document. An edit becomes an undo point after a moment without further edits, so that a drag is one step.
pub struct History(Undoer<Document>);

impl Default for History {
    fn default() -> Self {
        Self(Undoer::with_settings(Settings { stable_time: 0.3, ..Settings::default() }))
    }
}

impl Deref for History {
    type Target = Undoer<Document>;

    fn deref(&self) -> &Undoer<Document> {
        &self.0
    }
}

impl DerefMut for History {
    fn deref_mut(&mut self) -> &mut Undoer<Document> {
        &mut self.0
    }
}

impl History {
    /// Clears the history; `document` is its new beginning.
    pub fn restart(&mut self, document: &Document) {
        *self = Self::default();
        self.add_undo(document);
    }
}

/// Dragged part of a ROI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DragHandle {
    Move,
    /// The size: corner or edge by its signs along the horizontal and vertical axis; 0: not along this axis.
    Resize(i8, i8),
    Rotate,
    /// A corner of a polygon.
    Corner(usize),
}

/// Offset of a copy from its original along x and y, mm.
const COPY_ASIDE_MM: f64 = 5.0;

impl Document {
    /// Returns an unused name: "ROI 1", "ROI 2", …
    pub fn free_name(&self) -> String {
        (1..).map(|n| format!("ROI {n}")).find(|name| self.rois.iter().all(|roi| roi.name != *name)).unwrap_or_default()
    }

    /// Returns a ROI with an unused name and colour.
    pub fn new_roi(&self, shape: RoiShape, centre_mm: Point) -> Roi {
        let (name, colour) = (self.free_name(), Some(free_colour(&self.rois)));
        Roi { colour, ..Roi::new(name, shape, centre_mm) }
    }

    /// Returns a copy of a ROI with an unused name and colour, at an offset from the original.
    pub fn copy_of(&self, roi: &Roi) -> Roi {
        let [x, y, z] = roi.centre_mm;
        let fresh = self.new_roi(roi.shape.clone(), [x + COPY_ASIDE_MM, y + COPY_ASIDE_MM, z]);
        Roi { name: fresh.name, colour: fresh.colour, centre_mm: fresh.centre_mm, ..roi.clone() }
    }

    /// Replaces all ROIs. Those without a colour receive an unused one.
    pub fn set_rois(&mut self, rois: Vec<Roi>) {
        self.rois = rois;
        for index in 0..self.rois.len() {
            if self.rois[index].colour.is_none() {
                self.rois[index].colour = Some(free_colour(&self.rois));
            }
        }
    }
}

/// Returns the first colour of the palette with the fewest ROIs.
fn free_colour(rois: &[Roi]) -> [u8; 3] {
    let num_rois = |colour: &&[u8; 3]| rois.iter().filter(|roi| roi.colour.as_ref() == Some(colour)).count();
    theme::ROI_COLOURS.iter().min_by_key(num_rois).copied().unwrap_or_default()
}

/// Returns a typed true activity ratio; `None` for an empty text.
///
/// # Errors
/// The text is no number, or the ratio is invalid.
pub fn typed_ratio(typed: &str) -> Result<Option<f64>, String> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Ok(None);
    }
    let not_a_number = || format!("'{typed}' is not a number; enter the region's activity over the background's, such as 4");
    let ratio: f64 = typed.replacen(',', ".", 1).parse().map_err(|_| not_a_number())?;
    validate_activity_ratio(ratio).map(Some).map_err(|error| error.to_string())
}

/// Minimum side after a drag, mm.
const MIN_SIDE_MM: f64 = 1.0;

/// Returns the ROI after its handle was dragged by `delta` (mm) to `pointer` in a plane.
pub fn dragged(roi: &Roi, grip: DragHandle, plane: RoiPlane, delta: Point, pointer: Point) -> Roi {
    let ([a, b], _) = plane.axes();
    let mut roi = roi.clone();
    let from_centre = [pointer[a] - roi.centre_mm[a], pointer[b] - roi.centre_mm[b]];
    let in_shape = if roi.shape.plane() == Some(plane) { roi.turned_back(from_centre) } else { from_centre };
    match grip {
        DragHandle::Move => roi.centre_mm = std::array::from_fn(|k| roi.centre_mm[k] + delta[k]),
        // The handle is above the shape.
        DragHandle::Rotate => roi.angle_deg = from_centre[0].atan2(-from_centre[1]).to_degrees().round(),
        DragHandle::Corner(corner) => {
            if let RoiShape::Polygon { points_mm, .. } = &mut roi.shape {
                let moved = |(at, point): (usize, &[f64; 2])| if at == corner { in_shape } else { *point };
                *points_mm = points_mm.iter().enumerate().map(moved).collect();
            }
        }
        DragHandle::Resize(horizontal, vertical) => match &mut roi.shape {
            RoiShape::Circle { radius_mm, plane: of_circle } if *of_circle == plane => {
                *radius_mm = from_centre[0].hypot(from_centre[1]).max(MIN_SIDE_MM);
            }
            // The outline goes through the pointer, also in slices that miss the centre.
            RoiShape::Sphere { radius_mm } => {
                let square: f64 = (0..3).map(|k| (pointer[k] - roi.centre_mm[k]).powi(2)).sum();
                *radius_mm = square.sqrt().max(MIN_SIDE_MM);
            }
            _ => {
                let mut shift = [0.0; 2];
                for (k, sign) in [horizontal, vertical].into_iter().enumerate() {
                    if let Some(side) = side(&mut roi, plane, k).filter(|_| sign != 0) {
                        let sign = f64::from(sign);
                        let fixed = -sign * 0.5 * *side;
                        *side = (sign * (in_shape[k] - fixed)).max(MIN_SIDE_MM);
                        shift[k] = fixed + sign * 0.5 * *side;
                    }
                }
                let shift = if roi.shape.plane() == Some(plane) { roi.turned(shift) } else { shift };
                roi.centre_mm[a] += shift[0];
                roi.centre_mm[b] += shift[1];
            }
        },
    }
    roi
}

/// Returns the full side of a ROI along the horizontal (0) or vertical (1) axis of a slice, mm, if a handle can stretch it:
/// in the plane of its shape along the axes of the shape, in other planes only along axes that the rotation keeps.
pub fn side_mm(roi: &Roi, plane: RoiPlane, k: usize) -> Option<f64> {
    side(&mut roi.clone(), plane, k).copied()
}

fn side(roi: &mut Roi, plane: RoiPlane, k: usize) -> Option<&mut f64> {
    let axis = plane.axes().0[k];
    let of_shape = roi.shape.plane()?;
    let is_normal = of_shape.axes().1 == axis;
    let is_straight = is_normal || of_shape == plane || roi.angle_deg == 0.0;
    let is_flat = roi.shape.is_flat();
    match &mut roi.shape {
        RoiShape::Rectangle { size_mm, .. } | RoiShape::Ellipse { size_mm, .. } if of_shape == plane => Some(&mut size_mm[k]),
        RoiShape::Ellipsoid { size_mm, .. } | RoiShape::Box { size_mm, .. } if is_straight => Some(&mut size_mm[axis]),
        _ if is_flat && is_normal => roi.thickness_mm.as_mut(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_resized_at_a_corner_keeps_the_opposite_one() {
        let document = Document::default();
        let shape = RoiShape::Rectangle { size_mm: [10.0, 20.0], plane: RoiPlane::Transaxial };
        let roi = document.new_roi(shape, [5.0, 10.0, 3.0]);
        let roi = dragged(&roi, DragHandle::Resize(1, -1), RoiPlane::Transaxial, [0.0; 3], [14.0, 6.0, 3.0]);
        assert_eq!(roi.shape, RoiShape::Rectangle { size_mm: [14.0, 14.0], plane: RoiPlane::Transaxial });
        assert_eq!(roi.centre_mm, [7.0, 13.0, 3.0]);
    }

    #[test]
    fn a_turned_shape_is_stretched_along_its_own_sides() {
        let document = Document::default();
        let plane = RoiPlane::Transaxial;
        let ellipse = RoiShape::Ellipse { size_mm: [20.0, 10.0], plane };
        let turned = Roi { angle_deg: 90.0, ..document.new_roi(ellipse, [1.0, 2.0, 0.0]) };
        // Its end at the right before the turn is at the lower end now; the upper one stays at y = −8.
        let longer = dragged(&turned, DragHandle::Resize(1, 0), plane, [0.0; 3], [9.0, 22.0, 0.0]);
        let RoiShape::Ellipse { size_mm: [length, width], .. } = longer.shape else { panic!("{longer:?}") };
        assert!((length - 30.0).abs() < 1e-9 && width == 10.0, "{longer:?}");
        assert!((longer.centre_mm[0] - 1.0).abs() < 1e-9 && (longer.centre_mm[1] - 7.0).abs() < 1e-9, "{longer:?}");
        // Turned by its handle: to the lower right of the centre points 135 degrees.
        let pointer = [1.0 + 7.0, 2.0 + 7.0, 0.0];
        assert_eq!(dragged(&turned, DragHandle::Rotate, plane, [0.0; 3], pointer).angle_deg, 135.0);
        // The thickness is stretched in slices of another plane, a corner is dragged in its own.
        let slab = Roi { thickness_mm: Some(4.0), ..turned };
        let thicker = dragged(&slab, DragHandle::Resize(0, 1), RoiPlane::Coronal, [0.0; 3], [1.0, 2.0, 8.0]);
        assert_eq!((thicker.thickness_mm, thicker.centre_mm[2]), (Some(10.0), 3.0));
        let points_mm = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]].into();
        let polygon = Roi { angle_deg: 90.0, ..document.new_roi(RoiShape::Polygon { points_mm, plane }, [0.0; 3]) };
        let RoiShape::Polygon { points_mm, .. } =
            dragged(&polygon, DragHandle::Corner(1), plane, [0.0; 3], [0.0, 15.0, 0.0]).shape
        else {
            panic!("no polygon")
        };
        assert!((points_mm[1][0] - 15.0).abs() < 1e-9 && points_mm[1][1].abs() < 1e-9 && points_mm[2] == [0.0, 10.0]);
    }

    #[test]
    fn a_roi_keeps_its_colour_and_a_new_one_takes_a_free_one() {
        let shape = RoiShape::Sphere { radius_mm: 5.0 };
        let mut document = Document::default();
        let plain = Roi { colour: None, ..document.new_roi(shape.clone(), [0.0; 3]) };
        let chosen = Roi { colour: Some(theme::ROI_COLOURS[1]), ..plain.clone() };
        document.set_rois(vec![plain.clone(), plain.clone(), chosen, plain.clone()]);
        let places = |document: &Document| {
            let place = |roi: &Roi| theme::ROI_COLOURS.iter().position(|colour| Some(*colour) == roi.colour).unwrap();
            document.rois.iter().map(place).collect::<Vec<_>>()
        };
        assert_eq!(places(&document), [0, 2, 1, 3]);
        document.rois.remove(1);
        document.rois.swap(0, 1);
        assert_eq!(places(&document), [1, 0, 3]);
        for place in [2, 4, 5, 6, 7, 0, 1] {
            document.rois.push(document.new_roi(shape.clone(), [0.0; 3]));
            assert_eq!(places(&document).last(), Some(&place));
        }
    }

    #[test]
    fn a_ratio_is_typed_or_not_known() {
        assert_eq!(typed_ratio(" "), Ok(None));
        assert_eq!([typed_ratio("4"), typed_ratio(" 2,5 ")], [Ok(Some(4.0)), Ok(Some(2.5))]);
        let refused =
            [("four", "not a number"), ("0", "positive"), ("-1", "positive"), ("1", "no contrast"), ("nan", "positive")];
        for (typed, why) in refused {
            assert!(typed_ratio(typed).is_err_and(|reason| reason.contains(why)), "{typed}");
        }
    }

    #[test]
    fn an_edit_is_undone_and_done_again() {
        let mut document = Document::default();
        let mut history = History::default();
        history.restart(&document);
        document.rois.push(document.new_roi(RoiShape::Sphere { radius_mm: 9.0 }, [0.0; 3]));
        history.feed_state(0.0, &document);
        history.feed_state(1.0, &document);
        let before = history.undo(&document).unwrap().clone();
        assert!(before.rois.is_empty());
        assert_eq!(history.redo(&before).map(|later| later.rois.len()), Some(1));
    }
}
