//! What the user wishes about what the slices show.

use egui::Vec2;

use super::comparison::CompareMode;
use super::rotatable_view::RotatableContent;
use super::tool::Tool;
use super::view::{ProfileLine, Thickness};
use super::view_layout::{Cell, Layout};
use crate::data::RoiPlane;
use crate::geometry::Point;
use crate::render::{Interpolation, Palette};
use crate::ui::rois::document::DragHandle;
use crate::ui::widgets::colour_scale::WindowPercentile;
use crate::ui::widgets::picture_area::PictureArea;

/// What the pointer drags in a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drag {
    /// The crosshair.
    Crosshair,
    /// The image.
    Pan,
    /// Window and level.
    Window,
    /// A new ROI.
    Draw(Tool),
    /// A ROI or its size.
    Roi(usize, DragHandle),
    /// The line of the profile.
    Profile,
    /// The line along which the oblique slice cuts this one: it is turned about the crosshair.
    Oblique,
}

/// About what the slices show.
#[derive(Clone, Debug)]
pub enum ViewAction {
    /// A drag began in a plane at a point.
    BeginDrag {
        /// What is dragged.
        drag: Drag,
        /// The slice's plane.
        plane: RoiPlane,
        /// Where it began, mm.
        at: Point,
    },
    /// The pointer moved.
    MoveDrag {
        /// Where it is, mm.
        to: Point,
        /// How far it moved since the last frame, points.
        delta: Vec2,
        /// The same in the slice, mm.
        way: Point,
    },
    /// The button was let go.
    EndDrag,
    /// Selects a ROI, or none.
    SelectRoi(Option<usize>),
    /// A click, which may turn out to be the first of a double click; sets the crosshair, if to a point.
    Click(Option<Point>),
    /// Sets the crosshair.
    SetCrosshair(Point),
    /// Moves by slices along an axis.
    StepSlice(usize, i64),
    /// Zooms about a point.
    Zoom {
        /// How far the point is from the middle of the view, mm; it stays where it is.
        off: Point,
        /// Factor.
        factor: f64,
    },
    /// Moves the image, mm.
    Pan(Point),
    /// Shows only this view, or all again. The crosshair is where it was before the click before.
    ToggleMaximised(Cell),
    /// Where the views are.
    SetLayout(Layout),
    /// How thick the slices are.
    SetThickness(Thickness),
    /// What the view that can be turned shows.
    ShowTurned(RotatableContent),
    /// Turns it further: azimuth and elevation, degrees.
    Rotation([f64; 2]),
    /// Turns it back.
    Straighten,
    /// Lets it turn by itself, or not.
    SetSpin(bool),
    /// Palette.
    SetPalette(Palette),
    /// Interpolation.
    SetInterpolation(Interpolation),
    /// Window as values at the bottom and top of the palette.
    SetWindow([f32; 2]),
    /// Lets the window follow the image, up to this share of its values.
    FollowWindow(WindowPercentile),
    /// Leaves the window as it is, whatever image comes.
    LockWindow,
    /// Widens or moves the window by a drag of the pointer, points.
    DragWindow(Vec2),
    /// Moves the window as it is by this much.
    MoveLevel(f32),
    /// Window from the smallest to the largest value.
    FullWindow,
    /// Zooms to what is active in the image.
    FitObject,
    /// Whole image in view, crosshair in its middle.
    Reset,
    /// What the left button does.
    SetTool(Tool),
    /// Where the profile runs.
    SetProfile(ProfileLine),
    /// How the image of the reference run is shown beside.
    SetBeside(CompareMode),
    /// Where the two images meet that are swiped over each other, as a part of a slice's width.
    SetSwipe(f32),
    /// Over how wide a band the profile is averaged, mm.
    SetProfileWidth(f64),
    /// Shows or hides ROI outlines.
    ShowRois(bool),
    /// Shows or hides the crosshair.
    ShowCrosshair(bool),
    /// Shows the settings that only the reproduction of a paper needs.
    ShowResearch(bool),
    /// Asks where to save a picture of this part of the window.
    AskPicture(PictureArea),
}
