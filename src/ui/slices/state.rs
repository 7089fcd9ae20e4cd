//! What the slices show of every run's image, and what is dragged in them.

use super::action::{Drag, ViewAction};

use super::rotatable_view::Rotation;
use super::tool::Tool;
use super::view::{ProfileLine, ViewState, active_bounds_mm};
use crate::data::{IsocontourRecipe, Notice, Roi, RoiPlane, RoiShape, Volume};
use crate::geometry::Point;
use crate::measure;
use crate::ui::rois::document::dragged;
use crate::ui::rois::state::RoiState;
use crate::ui::widgets::colour_scale::ColourScale;

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
    /// Whether an image of another study is to come, whose middle the crosshair goes to.
    awaits_study: bool,
    /// Whether the first image is to be looked at as the view is now.
    keeps_view: bool,
    /// Where the crosshair was before the last click.
    before_click: Option<Point>,
    /// When the view that turns by itself did so last, seconds.
    spun_at: Option<f64>,
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
    pub colouring: &'a mut ColourScale,
}

impl SliceState {
    /// What the views show at first.
    pub fn new(view: ViewState) -> Self {
        Self { view, ..Self::default() }
    }

    /// Ends what is under way, for another study, or for the same once more.
    pub fn begin_study(&mut self, is_the_same: bool) {
        (self.drag, self.draft) = (None, None);
        self.awaits_study |= !is_the_same;
    }

    /// Takes the view of a session, as which the next image is looked at.
    pub fn restore(&mut self, view: ViewState) {
        (self.view, self.keeps_view) = (view, true);
    }

    /// Gets ready for the first image of a run on another grid or of another study: all of it is in view, or its object where
    /// that is known before (`truth`). Of another study the crosshair goes to the origin of the coordinates, where phantoms have
    /// what they are about; along axes where the object does not reach it, to the object's middle.
    pub fn await_image(&mut self, image: &Volume, truth: Option<&Volume>, num_fitted: usize) {
        if std::mem::take(&mut self.keeps_view) {
            self.awaits_study = false;
            return self.view.set_crosshair(&image.grid, self.view.crosshair_mm);
        }
        self.view.reset_for(&image.grid);
        let known = truth.and_then(active_bounds_mm);
        if let Some(bounds) = known {
            self.view.fit(&image.grid, bounds, num_fitted);
        }
        if std::mem::take(&mut self.awaits_study)
            && let Some([low, high]) = known.or_else(|| active_bounds_mm(image))
        {
            let within = |a: usize| if (low[a]..=high[a]).contains(&0.0) { 0.0 } else { 0.5 * (low[a] + high[a]) };
            self.view.set_crosshair(&image.grid, std::array::from_fn(within));
        }
    }

    /// Turns the view that turns by itself, once a turn's share of time is over, and asks for a frame when it is again.
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
            ViewAction::MoveDrag { to, delta, way } => self.move_drag(to, delta, way, image, rois),
            ViewAction::EndDrag => return self.end_drag(image.volume, rois),
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
            ViewAction::Pan(way) => self.view.focus_mm = std::array::from_fn(|a| self.view.focus_mm[a] - way[a]),
            ViewAction::ToggleMaximised(cell) => {
                self.view.maximised = if self.view.maximised.is_none() { Some(cell) } else { None };
                self.view.crosshair_mm = self.before_click.take().unwrap_or(self.view.crosshair_mm);
            }
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
            }
            ViewAction::SetPalette(_)
            | ViewAction::SetWindow(_)
            | ViewAction::FollowWindow(_)
            | ViewAction::LockWindow
            | ViewAction::DragWindow(_)
            | ViewAction::MoveLevel(_)
            | ViewAction::FullWindow => colour(action, image),
            action => self.arrange(action),
        }
        None
    }

    /// Does what concerns neither image nor regions: how the views are laid out, and what they show.
    fn arrange(&mut self, action: ViewAction) {
        match action {
            ViewAction::SetLayout(layout) => (self.view.layout, self.view.maximised) = (layout, None),
            ViewAction::SetThickness(thickness) => self.view.thickness = thickness,
            ViewAction::ShowTurned(content) => self.view.turned = content,
            ViewAction::Rotation([azimuth_deg, elevation_deg]) => self.view.turn = self.view.turn.by(azimuth_deg, elevation_deg),
            ViewAction::Straighten => (self.view.turn, self.view.spins) = (Rotation::default(), false),
            ViewAction::SetSpin(spins) => self.view.spins = spins,
            ViewAction::SetInterpolation(interpolation) => self.view.interpolation = interpolation,
            ViewAction::SetTool(tool) => self.view.tool = tool,
            ViewAction::SetProfile(profile) => self.view.profile = profile,
            ViewAction::SetProfileWidth(width_mm) => self.view.profile_width_mm = width_mm,
            ViewAction::SetBeside(beside) => self.view.beside = beside,
            ViewAction::SetSwipe(at) => self.view.swipe = at.clamp(0.0, 1.0),
            ViewAction::ShowRois(show) => self.view.show_rois = show,
            ViewAction::ShowCrosshair(show) => self.view.show_crosshair = show,
            ViewAction::ShowResearch(show) => self.view.shows_research = show,
            _ => {}
        }
    }

    fn move_drag(&mut self, to: Point, delta: egui::Vec2, way: Point, image: ImageView, rois: &mut RoiState) {
        let Some(active) = &mut self.drag else { return };
        let moved: Point = std::array::from_fn(|a| to[a] - active.last[a]);
        let last = std::mem::replace(&mut active.last, to);
        let active = *active;
        match active.drag {
            Drag::Crosshair => _ = self.apply(ViewAction::SetCrosshair(to), image, rois),
            Drag::Pan => _ = self.apply(ViewAction::Pan(way), image, rois),
            Drag::Window => _ = self.apply(ViewAction::DragWindow(delta), image, rois),
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

/// Does what concerns palette and window.
fn colour(action: ViewAction, image: ImageView) {
    match action {
        ViewAction::SetPalette(palette) => image.colouring.choose_palette(palette),
        ViewAction::SetWindow(window) => image.colouring.set_window(window, image.range),
        ViewAction::FollowWindow(top) => image.colouring.follow(top),
        ViewAction::LockWindow => image.colouring.auto_window = false,
        ViewAction::DragWindow(delta) => image.colouring.drag_window(delta, image.range),
        ViewAction::MoveLevel(by) => image.colouring.move_level(by, image.range),
        ViewAction::FullWindow => image.colouring.set_window(image.range, image.range),
        _ => {}
    }
}
