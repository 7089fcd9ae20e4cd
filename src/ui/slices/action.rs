//! What the user wishes about what the slices show.

use egui::Vec2;

use super::tool::Tool;
use super::view::{ContrastCurves, ProfileLine};
use crate::data::RoiPlane;
use crate::geometry::Point;
use crate::render::{Interpolation, Palette};
use crate::ui::rois::document::Grip;

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
    Roi(usize, Grip),
    /// The line of the profile.
    Profile,
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
        /// Points per mm.
        scale: f64,
    },
    /// The button was let go.
    EndDrag,
    /// Selects a ROI, or none.
    SelectRoi(Option<usize>),
    /// Sets the crosshair.
    SetCrosshair(Point),
    /// Moves by slices along an axis.
    StepSlice(usize, i64),
    /// Zooms about a point.
    Zoom {
        /// Stays where it is, mm.
        about: Point,
        /// The plane's axes.
        axes: [usize; 2],
        /// Factor.
        factor: f64,
    },
    /// Shows only this slice, or all again.
    ToggleMaximised(RoiPlane),
    /// Palette.
    SetPalette(Palette),
    /// Interpolation.
    SetInterpolation(Interpolation),
    /// Window as values at the bottom and top of the palette.
    SetWindow([f32; 2]),
    /// Lets the window follow the image, or not.
    SetAutoWindow(bool),
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
    /// Over how wide a band the profile is averaged, mm.
    SetProfileWidth(f64),
    /// Which contrast is drawn.
    SetContrast(ContrastCurves),
    /// Shows or hides ROI outlines.
    ShowRois(bool),
}
