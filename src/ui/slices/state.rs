//! What the slices show of every run's image, and what is dragged in them.

use super::action::{Drag, ViewAction};
use super::tool::Tool;
use super::view::{ProfileLine, ViewState, active_bounds_mm};
use crate::data::{IsocontourRecipe, Notice, Roi, RoiPlane, RoiShape, Volume};
use crate::geometry::Point;
use crate::measure;
use crate::ui::rois::document::dragged;
use crate::ui::rois::state::RoiState;
use crate::ui::widgets::colouring::Colouring;

/// Threshold of an isocontour when it is drawn, per cent of the maximum.
const USUAL_PERCENT: f64 = 50.0;

/// The slices.
#[derive(Default)]
pub struct SliceState {
    /// Position, zoom, tool, …
    pub view: ViewState,
    /// The drag under way.
    pub drag: Option<ActiveDrag>,
    /// The region that is being drawn.
    pub draft: Option<Roi>,
    /// Where the pointer went since the drag under way began.
    pub path: Vec<Point>,
    /// Slice plane that the pointer was in last.
    pub active_plane: RoiPlane,
}

/// A drag in the slices.
#[derive(Clone, Copy, Debug)]
pub struct ActiveDrag {
    /// What is dragged.
    pub drag: Drag,
    /// In which plane.
    pub plane: RoiPlane,
    from: Point,
    last: Point,
}

/// The image that a wish is about.
pub struct ImageView<'a> {
    /// The image on the screen.
    pub volume: Option<&'a Volume>,
    /// Its smallest and largest value.
    pub range: [f32; 2],
    /// How many of its axes an object is fitted along.
    pub num_fitted: usize,
    /// Its palette and window.
    pub colouring: &'a mut Colouring,
}

impl SliceState {
    /// Ends what is under way, for another study.
    pub fn begin_study(&mut self) {
        (self.drag, self.draft) = (None, None);
    }

    /// Does what the user wishes; what could not be done comes back as a notice.
    pub fn apply(&mut self, action: ViewAction, image: ImageView, rois: &mut RoiState) -> Option<Notice> {
        let grid = image.volume.map(|volume| &volume.grid);
        match action {
            ViewAction::BeginDrag { drag, plane, at } => {
                if let Drag::Roi(index, _) = drag {
                    rois.selected = Some(index);
                }
                self.drag = Some(ActiveDrag { drag, plane, from: at, last: at });
                self.path = vec![at];
            }
            ViewAction::MoveDrag { to, delta, scale } => self.move_drag(to, delta, scale, image, rois),
            ViewAction::EndDrag => return self.end_drag(image.volume, rois),
            ViewAction::SelectRoi(index) => rois.selected = index,
            ViewAction::SetCrosshair(point) => {
                if let Some(grid) = grid {
                    self.view.set_crosshair(grid, point);
                }
            }
            ViewAction::StepSlice(axis, slices) => {
                if let Some(grid) = grid {
                    self.view.step_slice(grid, axis, slices);
                }
            }
            ViewAction::Zoom { about, axes, factor } => self.view.zoom_about(about, axes, factor),
            ViewAction::ToggleMaximised(plane) => {
                self.view.maximised = if self.view.maximised.is_none() { Some(plane) } else { None };
            }
            ViewAction::SetPalette(palette) => image.colouring.choose_palette(palette),
            ViewAction::SetInterpolation(interpolation) => self.view.interpolation = interpolation,
            ViewAction::SetWindow(window) => image.colouring.set_window(window),
            ViewAction::SetAutoWindow(auto) => image.colouring.auto_window = auto,
            ViewAction::FullWindow => image.colouring.set_window(image.range),
            ViewAction::FitObject => {
                if let Some(volume) = image.volume
                    && let Some(bounds) = active_bounds_mm(volume)
                {
                    self.view.fit(&volume.grid, bounds, image.num_fitted);
                }
            }
            ViewAction::Reset => {
                if let Some(grid) = grid {
                    self.view.reset_for(grid);
                }
                self.view.maximised = None;
                image.colouring.auto_window = true;
            }
            ViewAction::SetTool(tool) => self.view.tool = tool,
            ViewAction::SetProfile(profile) => self.view.profile = profile,
            ViewAction::SetProfileWidth(width_mm) => self.view.profile_width_mm = width_mm,
            ViewAction::SetContrast(contrast) => self.view.contrast = contrast,
            ViewAction::ShowRois(show) => self.view.show_rois = show,
        }
        None
    }

    fn move_drag(&mut self, to: Point, delta: egui::Vec2, scale: f64, image: ImageView, rois: &mut RoiState) {
        let Some(active) = &mut self.drag else { return };
        let moved: Point = std::array::from_fn(|a| to[a] - active.last[a]);
        active.last = to;
        let active = *active;
        match active.drag {
            Drag::Crosshair => _ = self.apply(ViewAction::SetCrosshair(to), image, rois),
            Drag::Pan => {
                let ([a, b], _) = active.plane.axes();
                self.view.focus_mm[a] -= f64::from(delta.x) / scale;
                self.view.focus_mm[b] -= f64::from(delta.y) / scale;
            }
            Drag::Window => image.colouring.drag_window(delta, image.range),
            Drag::Draw(tool) => {
                self.path.push(to);
                let drawn = tool.drawn(active.plane, &self.path);
                self.draft = drawn.map(|(shape, centre_mm)| rois.document.new_roi(shape, centre_mm));
            }
            Drag::Roi(index, grip) => {
                if let Some(roi) = rois.document.rois.get_mut(index) {
                    *roi = dragged(roi, grip, active.plane, moved, to);
                }
            }
            Drag::Profile => self.view.profile = ProfileLine::Between(active.from, to),
        }
    }

    /// Ends the drag; a region that was drawn is added, or it is said why not.
    fn end_drag(&mut self, volume: Option<&Volume>, rois: &mut RoiState) -> Option<Notice> {
        let drag = self.drag.take().map(|active| active.drag);
        let draft = self.draft.take()?;
        let drawn = match (drag, &draft.shape, volume) {
            (Some(Drag::Draw(Tool::Isocontour)), RoiShape::Sphere { radius_mm }, Some(volume)) => {
                let recipe = IsocontourRecipe { percent: USUAL_PERCENT, background: None, seed_radius_mm: *radius_mm };
                measure::isocontour(volume, draft.centre_mm, recipe)
                    .map(|contour| Roi { shape: RoiShape::Isocontour(contour.into()), ..draft })
            }
            _ => Ok(draft),
        };
        match drawn {
            Ok(roi) => rois.add(roi),
            Err(reason) => return Some(Notice::warning(format!("No isocontour: {reason}"))),
        }
        self.view.tool = Tool::Crosshair;
        self.view.show_rois = true;
        None
    }
}
