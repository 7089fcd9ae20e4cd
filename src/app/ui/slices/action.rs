//! Actions of the slices.

use egui::Vec2;

use super::comparison::CompareMode;
use super::tool::Tool;
use super::view::{ProfileLine, ViewState};
use super::view_layout::Cell;
use crate::data::RoiPlane;
use crate::geometry::Point;
use crate::render::Palette;
use crate::ui::rois::document::DragHandle;
use crate::ui::widgets::colour_scale::WindowPercentile;
use crate::ui::widgets::picture_area::PictureArea;

/// Object of a drag in a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drag {
    Crosshair,
    /// Image.
    Pan,
    Window,
    Draw(Tool),
    /// Position, size or angle of a ROI.
    Roi(usize, DragHandle),
    Profile,
    /// Line of the oblique slice, which rotates about the crosshair.
    Oblique,
}

#[derive(Clone, Debug)]
pub enum ViewAction {
    BeginDrag {
        drag: Drag,
        plane: RoiPlane,
        /// Start point, mm.
        at: Point,
    },
    /// Moves the pointer of a drag.
    MoveDrag {
        /// Present point, mm.
        to: Point,
        /// Distance since the last frame, points.
        delta: Vec2,
        /// Distance since the last frame in the slice, mm.
        delta_mm: Point,
    },
    EndDrag,
    /// Adds a corner to the polygon that is being drawn.
    AddCorner {
        plane: RoiPlane,
        /// The corner, mm.
        at: Point,
    },
    ClosePolygon,
    /// Selects a ROI, or none.
    SelectRoi(Option<usize>),
    /// Sets the crosshair by a click, if there is a point. The click may be the first of a double click.
    Click(Option<Point>),
    SetCrosshair(Point),
    /// Moves by a number of slices along an axis.
    StepSlice(usize, i64),
    /// Zooms about a fixed point.
    Zoom {
        /// Position of the point relative to the middle of the view, mm.
        off: Point,
        factor: f64,
    },
    /// Moves the image, mm.
    Pan(Point),
    /// Shows only this view, or all views again. The crosshair returns to its position before the click before.
    ToggleMaximised(Cell),
    /// Settings of the views after an edit.
    Edit(Box<ViewState>),
    /// Rotates the rotatable view by azimuth and elevation, degrees.
    Rotate([f64; 2]),
    SetPalette(Palette),
    /// Sets the values at the bottom and top of the palette.
    SetWindow([f32; 2]),
    /// Adapts the window to each image, up to this percentile.
    FollowWindow(WindowPercentile),
    /// Keeps the window for all images.
    LockWindow,
    /// Changes window and level by a drag, points.
    DragWindow(Vec2),
    /// Moves the level by this value.
    MoveLevel(f32),
    /// Sets the window to the range of the image.
    FullWindow,
    /// Zooms to the active region of the image.
    FitObject,
    /// Shows the whole image, with the crosshair in its middle.
    Reset,
    /// Sets the tool of the left button.
    SetTool(Tool),
    SetProfile(ProfileLine),
    /// Sets the comparison with the reference image.
    SetBeside(CompareMode),
    /// Sets the boundary between the images of the swipe comparison, as a fraction of a slice's width.
    SetSwipe(f32),
    /// Sets the width over which the profile is averaged, mm.
    SetProfileWidth(f64),
    /// Asks for the path of a screenshot of this area.
    AskPicture(PictureArea),
}
