//! What the user edits and can undo: the regions of interest. Volumes are never in it.

use crate::data::{Roi, RoiPlane, RoiRole, RoiShape, checked_activity_ratio};
use crate::geometry::Point;

use crate::ui::widgets::theme;

/// The user's work on a study, small enough to be compared and cloned in each frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Regions of interest.
    pub rois: Vec<Roi>,
}

/// Undo points of the document. An edit becomes one when it has rested for a moment, so that a drag is one step.
pub struct History {
    undoer: egui::util::undoer::Undoer<Document>,
}

impl Default for History {
    fn default() -> Self {
        let settings = egui::util::undoer::Settings { stable_time: 0.3, ..Default::default() };
        Self { undoer: egui::util::undoer::Undoer::with_settings(settings) }
    }
}

impl History {
    /// Forgets everything; `document` is the new beginning.
    pub fn restart(&mut self, document: &Document) {
        *self = Self::default();
        self.undoer.add_undo(document);
    }

    /// Looks at the document; to be called once a frame.
    pub fn feed(&mut self, time_secs: f64, document: &Document) {
        self.undoer.feed_state(time_secs, document);
    }

    /// Whether an edit waits to become an undo point (the window then wants another frame).
    pub fn is_in_flux(&self) -> bool {
        self.undoer.is_in_flux()
    }

    /// Whether there is something to undo.
    pub fn can_undo(&self, document: &Document) -> bool {
        self.undoer.has_undo(document)
    }

    /// Whether there is something to do again.
    pub fn can_redo(&self, document: &Document) -> bool {
        self.undoer.has_redo(document)
    }

    /// Goes back one edit.
    pub fn undo(&mut self, document: &mut Document) {
        if let Some(earlier) = self.undoer.undo(document) {
            *document = earlier.clone();
        }
    }

    /// Goes forward one edit.
    pub fn redo(&mut self, document: &mut Document) {
        if let Some(later) = self.undoer.redo(document) {
            *document = later.clone();
        }
    }
}

/// Which part of a ROI is dragged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    /// The whole.
    Move,
    /// The size: the corner or edge towards (sign along the plane's horizontal, vertical axis); 0 = not that axis.
    Resize(i8, i8),
}

impl Document {
    /// A name that no ROI has: "ROI 1", "ROI 2", …
    pub fn free_name(&self) -> String {
        (1..).map(|n| format!("ROI {n}")).find(|name| self.rois.iter().all(|roi| roi.name != *name)).unwrap_or_default()
    }

    /// A ROI with a name and a colour of its own.
    pub fn new_roi(&self, shape: RoiShape, centre_mm: Point) -> Roi {
        let (name, colour) = (self.free_name(), Some(free_colour(&self.rois)));
        Roi { name, shape, centre_mm, role: RoiRole::None, activity_ratio: None, colour }
    }

    /// Takes other ROIs. Those without a colour are given one, which they keep.
    pub fn set_rois(&mut self, rois: Vec<Roi>) {
        self.rois = rois;
        for index in 0..self.rois.len() {
            if self.rois[index].colour.is_none() {
                self.rois[index].colour = Some(free_colour(&self.rois));
            }
        }
    }
}

/// The first colour of the palette that no ROI has; where all are taken, of those that fewest have.
fn free_colour(rois: &[Roi]) -> [u8; 3] {
    let num_rois = |colour: &&[u8; 3]| rois.iter().filter(|roi| roi.colour.as_ref() == Some(colour)).count();
    theme::ROI_COLOURS.iter().min_by_key(num_rois).copied().unwrap_or_default()
}

/// A true ratio of activities as it was typed; nothing typed is none.
///
/// # Errors
/// It is not a number, or cannot be such a ratio.
pub fn typed_ratio(typed: &str) -> Result<Option<f64>, String> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Ok(None);
    }
    let not_a_number = || format!("'{typed}' is not a number; enter the region's activity over the background's, such as 4");
    let ratio: f64 = typed.replacen(',', ".", 1).parse().map_err(|_| not_a_number())?;
    checked_activity_ratio(ratio).map(Some).map_err(|error| error.to_string())
}

/// The ROI after its grip was dragged by `delta` (mm) to `pointer` in a plane.
pub fn dragged(roi: &Roi, grip: Grip, plane: RoiPlane, delta: Point, pointer: Point) -> Roi {
    let ([a, b], _) = plane.axes();
    let mut roi = roi.clone();
    match grip {
        Grip::Move => roi.centre_mm = std::array::from_fn(|k| roi.centre_mm[k] + delta[k]),
        Grip::Resize(horizontal, vertical) => match &mut roi.shape {
            RoiShape::Circle { radius_mm, .. } => {
                *radius_mm = (pointer[a] - roi.centre_mm[a]).hypot(pointer[b] - roi.centre_mm[b]).max(1.0);
            }
            // The outline in this slice goes through the pointer, also where the slice is not the middle one.
            RoiShape::Sphere { radius_mm } => {
                let square: f64 = (0..3).map(|k| (pointer[k] - roi.centre_mm[k]).powi(2)).sum();
                *radius_mm = square.sqrt().max(1.0);
            }
            RoiShape::Rectangle { size_mm, .. } => {
                for (side, (sign, axis)) in [(horizontal, a), (vertical, b)].into_iter().enumerate() {
                    if sign == 0 {
                        continue;
                    }
                    let sign = f64::from(sign);
                    let fixed = roi.centre_mm[axis] - sign * 0.5 * size_mm[side];
                    size_mm[side] = (sign * (pointer[axis] - fixed)).max(1.0);
                    roi.centre_mm[axis] = fixed + sign * 0.5 * size_mm[side];
                }
            }
        },
    }
    roi
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_resized_at_a_corner_keeps_the_opposite_one() {
        let document = Document::default();
        let shape = RoiShape::Rectangle { size_mm: [10.0, 20.0], plane: RoiPlane::Transaxial };
        let roi = document.new_roi(shape, [5.0, 10.0, 3.0]);
        let roi = dragged(&roi, Grip::Resize(1, -1), RoiPlane::Transaxial, [0.0; 3], [14.0, 6.0, 3.0]);
        assert_eq!(roi.shape, RoiShape::Rectangle { size_mm: [14.0, 14.0], plane: RoiPlane::Transaxial });
        assert_eq!(roi.centre_mm, [7.0, 13.0, 3.0]);
    }

    #[test]
    fn a_roi_keeps_its_colour_and_a_new_one_takes_a_free_one() {
        let shape = RoiShape::Sphere { radius_mm: 5.0 };
        let mut document = Document::default();
        let plain = Roi { colour: None, ..document.new_roi(shape, [0.0; 3]) };
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
            document.rois.push(document.new_roi(shape, [0.0; 3]));
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
        history.feed(0.0, &document);
        history.feed(1.0, &document);
        history.undo(&mut document);
        assert!(document.rois.is_empty());
        history.redo(&mut document);
        assert_eq!(document.rois.len(), 1);
    }
}
