//! State of the slices: settings for the images of all runs, and the drag under way.

use std::sync::Arc;
use std::time::Duration;

use super::action::{Drag, ViewAction};
use super::tool::{Corners, Tool};
use super::view::{ProfileLine, ViewState, active_bounds_mm};
use crate::data::{ContourThreshold, IsocontourRecipe, Roi, RoiPlane, RoiShape, Volume};
use crate::geometry::{Grid, Point};
use crate::task::BackgroundTask;
use crate::ui::rois::document::dragged;
use crate::ui::rois::search::RoiQuery;
use crate::ui::rois::state::RoiState;
use crate::ui::widgets::colour_scale::ColourScale;

/// Default threshold of an isocontour, % of the maximum.
const DEFAULT_PERCENT: f64 = 50.0;

#[derive(Default)]
pub struct SliceState {
    pub view: ViewState,
    pub drag: Option<ActiveDrag>,
    /// ROI that is being drawn.
    pub draft: Option<Roi>,
    /// Path of the pointer since the drag began.
    pub path: Vec<Point>,
    /// Corners of the polygon that is being drawn.
    pub corners: Option<Corners>,
    /// Slice plane in which the pointer was last.
    pub active_plane: RoiPlane,
    /// True until the first image of another study, which sets the crosshair.
    awaits_study: bool,
    /// True if the first image is displayed with the present settings.
    keeps_view: bool,
    region_search: Option<RegionSearch>,
    /// Position of the crosshair before the last click.
    before_click: Option<Point>,
    /// Time of the last step of a continuous rotation, s.
    spun_at: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub struct ActiveDrag {
    pub drag: Drag,
    pub plane: RoiPlane,
    from: Point,
    last: Point,
}

/// Search for the active region of an image, in the background.
struct RegionSearch {
    /// Corners of the region, mm, and true if the view shows this region alone.
    task: BackgroundTask<Option<([Point; 2], bool)>>,
    grid: Grid,
    /// Number of axes along which the region is fitted.
    num_fitted: usize,
    /// True if the crosshair moves into the region.
    sets_crosshair: bool,
}

/// Image of an action.
pub struct ImageView<'a> {
    pub volume: Option<&'a Arc<Volume>>,
    /// Smallest and largest value.
    pub range: [f32; 2],
    /// Number of axes along which the active region is fitted.
    pub num_fitted: usize,
    pub colouring: &'a mut ColourScale,
}

impl SliceState {
    pub fn new(view: ViewState) -> Self {
        Self { view, ..Self::default() }
    }

    /// Ends a drag, for another study or the same one again.
    pub fn begin_study(&mut self, is_the_same: bool) {
        (self.drag, self.draft, self.corners) = (None, None, None);
        self.awaits_study |= !is_the_same;
        self.region_search = None;
    }

    /// Restores the settings of a session. The next image is displayed with them.
    pub fn restore(&mut self, view: ViewState) {
        (self.view, self.keeps_view) = (view, true);
    }

    /// Prepares for the first image on another grid or of another study. The views show the whole image, or the active region of
    /// a known `truth` once it is found; `wake` is called then. For another study the crosshair moves to the origin of the
    /// coordinates, where phantoms have their details; along axes on which the active region does not contain it, to the middle of
    /// the region.
    pub fn await_image(
        &mut self,
        image: &Arc<Volume>,
        truth: Option<&Arc<Volume>>,
        num_fitted: usize,
        wake: impl FnOnce() + Send + 'static,
    ) {
        self.region_search = None;
        if std::mem::take(&mut self.keeps_view) {
            self.awaits_study = false;
            return self.view.set_crosshair(&image.grid, self.view.crosshair_mm);
        }
        self.view.reset_for(&image.grid);
        let sets_crosshair = std::mem::take(&mut self.awaits_study);
        if sets_crosshair || truth.is_some() {
            self.find_region(image, truth, num_fitted, sets_crosshair, wake);
        }
    }

    /// Begins to find the active region of `truth`, or of an image.
    fn find_region(
        &mut self,
        image: &Arc<Volume>,
        truth: Option<&Arc<Volume>>,
        num_fitted: usize,
        sets_crosshair: bool,
        wake: impl FnOnce() + Send + 'static,
    ) {
        let (grid, image, truth) = (image.grid.clone(), Arc::clone(image), truth.cloned());
        let find = move |_: &_| {
            let known = truth.and_then(|truth| Some((active_bounds_mm(&truth)?, true)));
            known.or_else(|| Some((active_bounds_mm(&image)?, !sets_crosshair)))
        };
        let task = BackgroundTask::start("active region", wake, find);
        self.region_search = Some(RegionSearch { task, grid, num_fitted, sets_crosshair });
    }

    /// Shows an active region that was found. Waits for it no longer than `patience`.
    pub fn receive_region(&mut self, patience: Duration) {
        let Some(outcome) = self.region_search.as_ref().and_then(|search| search.task.poll_for(patience)) else { return };
        let (Some(search), Ok(Some(([low, high], is_fitted)))) = (self.region_search.take(), outcome) else { return };
        if is_fitted {
            self.view.fit(&search.grid, [low, high], search.num_fitted);
        }
        if search.sets_crosshair {
            let within = |a: usize| if (low[a]..=high[a]).contains(&0.0) { 0.0 } else { 0.5 * (low[a] + high[a]) };
            self.view.set_crosshair(&search.grid, std::array::from_fn(within));
        }
    }

    /// Continues the continuous rotation when a step is due, and requests a frame for the next step.
    pub fn spin(&mut self, ctx: &egui::Context, interval_secs: f64) {
        /// Degrees in a second.
        const SPEED: f64 = 30.0;
        if !self.view.spins || !self.view.shows_turned() {
            self.spun_at = None;
            return;
        }
        let now = ctx.input(|input| input.time);
        let passed = now - *self.spun_at.get_or_insert(now);
        if passed >= interval_secs {
            self.view.turn = self.view.turn.by(SPEED * passed.min(0.5), 0.0);
            self.spun_at = Some(now);
        }
        ctx.request_repaint_after_secs(interval_secs as f32);
    }

    pub fn apply(&mut self, action: ViewAction, image: ImageView, rois: &mut RoiState, ctx: &egui::Context) {
        let grid = image.volume.map(|volume| &volume.grid);
        match action {
            ViewAction::BeginDrag { drag, plane, at } => {
                if let Drag::Roi(index, _) = drag {
                    rois.selected = Some(index);
                }
                self.drag = Some(ActiveDrag { drag, plane, from: at, last: at });
                self.path = vec![at];
            }
            ViewAction::MoveDrag { to, delta, delta_mm } => self.move_drag(to, delta, delta_mm, image, rois, ctx),
            ViewAction::EndDrag => self.end_drag(image.volume, rois, ctx),
            ViewAction::AddCorner { plane, at } => self.add_corner(plane, at),
            ViewAction::ClosePolygon => self.close_polygon(rois),
            ViewAction::SelectRoi(index) => rois.selected = index,
            ViewAction::Click(point) => {
                self.before_click = Some(self.view.crosshair_mm);
                if let Some((grid, point)) = grid.zip(point) {
                    self.view.set_crosshair(grid, point);
                }
            }
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
            ViewAction::Zoom { off, factor } => self.view.zoom_about(off, factor),
            ViewAction::Pan(delta_mm) => self.view.focus_mm = std::array::from_fn(|a| self.view.focus_mm[a] - delta_mm[a]),
            ViewAction::ToggleMaximised(cell) => {
                self.view.maximised = if self.view.maximised.is_none() { Some(cell) } else { None };
                self.view.crosshair_mm = self.before_click.take().unwrap_or(self.view.crosshair_mm);
            }
            ViewAction::FitObject => {
                let wake = ctx.clone();
                if let Some(volume) = image.volume {
                    self.find_region(volume, None, image.num_fitted, false, move || wake.request_repaint());
                }
            }
            ViewAction::Reset => {
                if let Some(grid) = grid {
                    self.view.reset_for(grid);
                }
                self.view.maximised = None;
            }
            ViewAction::Edit(view) => self.view = *view,
            ViewAction::Rotate([azimuth_deg, elevation_deg]) => self.view.turn = self.view.turn.by(azimuth_deg, elevation_deg),
            ViewAction::SetTool(tool) => (self.view.tool, self.corners) = (tool, None),
            ViewAction::SetProfile(profile) => self.view.profile = profile,
            ViewAction::SetProfileWidth(width_mm) => self.view.profile_width_mm = width_mm,
            ViewAction::SetBeside(beside) => self.view.beside = beside,
            ViewAction::SetSwipe(at) => self.view.swipe = at.clamp(0.0, 1.0),
            ViewAction::SetPalette(palette) => image.colouring.choose_palette(palette),
            ViewAction::SetWindow(window) => image.colouring.set_window(window, image.range),
            ViewAction::FollowWindow(top) => image.colouring.follow(top),
            ViewAction::LockWindow => image.colouring.auto_window = false,
            ViewAction::DragWindow(delta) => image.colouring.drag_window(delta, image.range),
            ViewAction::MoveLevel(by) => image.colouring.move_level(by, image.range),
            ViewAction::FullWindow => image.colouring.set_window(image.range, image.range),
            // The window asks.
            ViewAction::AskPicture(_) => {}
        }
    }

    fn move_drag(
        &mut self,
        to: Point,
        delta: egui::Vec2,
        delta_mm: Point,
        image: ImageView,
        rois: &mut RoiState,
        ctx: &egui::Context,
    ) {
        let Some(active) = &mut self.drag else { return };
        let moved: Point = std::array::from_fn(|a| to[a] - active.last[a]);
        let last = std::mem::replace(&mut active.last, to);
        let active = *active;
        match active.drag {
            Drag::Crosshair => self.apply(ViewAction::SetCrosshair(to), image, rois, ctx),
            Drag::Pan => self.apply(ViewAction::Pan(delta_mm), image, rois, ctx),
            Drag::Window => self.apply(ViewAction::DragWindow(delta), image, rois, ctx),
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
            Drag::Oblique => self.view.turn_oblique(active.plane, [last, to]),
        }
    }

    /// Ends the drag and adds a drawn region; an isocontour is searched for first.
    fn end_drag(&mut self, image: Option<&Arc<Volume>>, rois: &mut RoiState, ctx: &egui::Context) {
        let drag = self.drag.take().map(|active| active.drag);
        let Some(draft) = self.draft.take() else { return };
        match (drag, &draft.shape, image) {
            (Some(Drag::Draw(Tool::Isocontour)), RoiShape::Sphere { radius_mm }, Some(image)) => {
                let threshold = ContourThreshold::percent(DEFAULT_PERCENT);
                let recipe = IsocontourRecipe { threshold, seed_radius_mm: *radius_mm };
                rois.search.start(RoiQuery::NewContour(Box::new(draft), recipe), image, ctx);
            }
            _ => {
                rois.add(draft);
                self.end_drawing();
            }
        }
    }

    fn add_corner(&mut self, plane: RoiPlane, at: Point) {
        let corners = self.corners.get_or_insert_with(|| Corners { plane, points_mm: Vec::new() });
        if corners.plane == plane {
            corners.points_mm.push(at);
        }
    }

    /// Adds the polygon as a region, once it encloses an area.
    fn close_polygon(&mut self, rois: &mut RoiState) {
        let drawn = self.corners.as_ref().and_then(|corners| Tool::Polygon.drawn(corners.plane, &corners.points_mm));
        if let Some((shape, centre_mm)) = drawn {
            rois.add(rois.document.new_roi(shape, centre_mm));
            self.corners = None;
            self.end_drawing();
        }
    }

    /// Shows a drawn region and returns to the crosshair.
    pub fn end_drawing(&mut self) {
        self.view.tool = Tool::Crosshair;
        self.view.show_rois = true;
    }
}
