//! The tools of the left button.

use crate::data::{RoiPlane, RoiShape};
use crate::geometry::Point;
use crate::ui::widgets::icons::{self, Icon};

/// Tool of the left button in a slice. The toolbar shows them in this order and by these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum Tool {
    /// Sets the crosshair; selects a ROI by its outline, moves and resizes the selected one.
    #[default]
    Crosshair,
    /// Draws a circle from its centre outwards.
    Circle,
    /// Draws a rectangle from corner to corner.
    Rectangle,
    /// Draws a sphere from its centre outwards.
    Sphere,
    /// Draws an ellipse from corner to corner of the rectangle about it.
    Ellipse,
    /// Draws a polygon corner by corner.
    Polygon,
    /// Draws a polygon along a path around a region.
    Freehand,
    /// Draws a box from corner to corner, as deep as its smaller side.
    Box,
    /// Draws an ellipsoid from corner to corner, as deep as its smaller axis.
    Ellipsoid,
    /// Draws a ball from its centre outwards, for the isocontour about the maximum in it.
    Isocontour,
    /// Draws the line of the profile.
    #[strum(serialize = "Line")]
    Profile,
}

/// Corners of a polygon that is being drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corners {
    pub plane: RoiPlane,
    pub points_mm: Vec<Point>,
}

/// Smallest side of a drawn ROI, mm.
const MIN_SIDE_MM: f64 = 1.0;

/// Distance by which a corner of a path must stand out to be a corner of the polygon, relative to the path's length along its
/// longer axis.
const CORNER_STANDS_OUT: f64 = 0.01;

impl Tool {
    /// Its name in the tool bar.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn icon(self) -> Icon {
        match self {
            Tool::Crosshair => icons::CROSSHAIR,
            Tool::Circle => icons::CIRCLE,
            Tool::Rectangle => icons::RECTANGLE,
            Tool::Sphere => icons::SPHERE,
            Tool::Ellipse => icons::ELLIPSE,
            Tool::Polygon => icons::POLYGON,
            Tool::Freehand => icons::FREEHAND,
            Tool::Box => icons::BOX,
            Tool::Ellipsoid => icons::ELLIPSOID,
            Tool::Isocontour => icons::CONTOUR,
            Tool::Profile => icons::LINE,
        }
    }

    /// True for a tool in the menu of further shapes.
    pub fn is_in_menu(self) -> bool {
        matches!(self, Tool::Ellipse | Tool::Polygon | Tool::Freehand | Tool::Box | Tool::Ellipsoid | Tool::Isocontour)
    }

    pub fn help(self) -> &'static str {
        match self {
            Tool::Crosshair => "Set the crosshair; select a ROI by a click on its outline, then drag it or its handles",
            Tool::Circle => "Draw a circular ROI in one slice, from its centre outwards",
            Tool::Rectangle => "Draw a rectangular ROI in one slice, from corner to corner",
            Tool::Sphere => "Draw a spherical ROI, from its centre outwards",
            Tool::Ellipse => "Draw an elliptical ROI in one slice, from corner to corner of the rectangle about it",
            Tool::Polygon => "Draw a ROI in one slice by a click at each corner; a double click or Enter closes it",
            Tool::Freehand => "Draw a ROI in one slice by dragging once around it; its corners can be dragged afterwards",
            Tool::Box => "Draw a box, from corner to corner; it becomes as deep as its smaller side",
            Tool::Ellipsoid => "Draw an ellipsoid, from corner to corner; it becomes as deep as its smaller axis",
            Tool::Isocontour => {
                "Draw a ball; the ROI becomes the voxels that hang together with the maximum in it and reach half of it"
            }
            Tool::Profile => "Draw the line of a profile",
        }
    }

    /// Returns shape and centre of the ROI that the tool draws in a plane along a path of the pointer, mm. Returns `None` for
    /// other tools and for paths that are too short. For an isocontour the shape is the sphere of its seed.
    pub fn drawn(self, plane: RoiPlane, path: &[Point]) -> Option<(RoiShape, Point)> {
        let ([a, b], normal) = plane.axes();
        let (from, to) = (*path.first()?, *path.last()?);
        let size_mm = [(to[a] - from[a]).abs(), (to[b] - from[b]).abs()];
        let radius_mm = size_mm[0].hypot(size_mm[1]);
        let middle = std::array::from_fn(|k| 0.5 * (from[k] + to[k]));
        let mut size = [0.0; 3];
        (size[a], size[b], size[normal]) = (size_mm[0], size_mm[1], size_mm[0].min(size_mm[1]));
        let (shape, centre) = match self {
            Tool::Crosshair | Tool::Profile => return None,
            Tool::Polygon => return polygon(plane, path, 0.0),
            Tool::Freehand => return polygon(plane, path, CORNER_STANDS_OUT),
            Tool::Circle => (RoiShape::Circle { radius_mm, plane }, from),
            Tool::Sphere | Tool::Isocontour => (RoiShape::Sphere { radius_mm }, from),
            Tool::Rectangle => (RoiShape::Rectangle { size_mm, plane }, middle),
            Tool::Ellipse => (RoiShape::Ellipse { size_mm, plane }, middle),
            Tool::Box => (RoiShape::Box { size_mm: size, plane }, middle),
            Tool::Ellipsoid => (RoiShape::Ellipsoid { size_mm: size, plane }, middle),
        };
        let is_from_centre = centre == from;
        let is_large = if is_from_centre { radius_mm >= MIN_SIDE_MM } else { size_mm.iter().all(|side| *side >= MIN_SIDE_MM) };
        is_large.then_some((shape, centre))
    }
}

/// Returns the polygon along a path, about its centroid; `None` if the path encloses too small an area. Corners stand out by more
/// than the fraction `min_out` of the path's length along its longer axis.
fn polygon(plane: RoiPlane, path: &[Point], min_out: f64) -> Option<(RoiShape, Point)> {
    let ([a, b], _) = plane.axes();
    let first = *path.first()?;
    let points: Vec<[f64; 2]> = path.iter().map(|point| [point[a] - first[a], point[b] - first[b]]).collect();
    let length = |k: usize| {
        let along = || points.iter().map(|point| point[k]);
        along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)
    };
    let tolerance = min_out * length(0).max(length(1));
    let mut corners = corners(&points, tolerance);
    // Where the path ends as it began, that is one corner.
    if corners.last().is_some_and(|end| end[0].hypot(end[1]) <= tolerance) && corners.len() > 1 {
        corners.pop();
    }
    // Twice the area, and six times its first moments, by the shoelace formula.
    let (mut area, mut moment) = (0.0, [0.0; 2]);
    for (from, to) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        let cross = from[0] * to[1] - to[0] * from[1];
        area += cross;
        for k in 0..2 {
            moment[k] += cross * (from[k] + to[k]);
        }
    }
    if corners.len() < 3 || area.abs() < 2.0 * MIN_SIDE_MM.powi(2) {
        return None;
    }
    let centroid = moment.map(|moment| moment / (3.0 * area));
    let points_mm = corners.iter().map(|corner| [corner[0] - centroid[0], corner[1] - centroid[1]]).collect();
    let mut centre_mm = first;
    centre_mm[a] += centroid[0];
    centre_mm[b] += centroid[1];
    Some((RoiShape::Polygon { points_mm, plane }, centre_mm))
}

/// Returns the points of a path that stand out from the straight lines between the remaining points (Douglas and Peucker 1973).
fn corners(path: &[[f64; 2]], tolerance: f64) -> Vec<[f64; 2]> {
    let (Some(&from), Some(&to)) = (path.first(), path.last()) else { return Vec::new() };
    let along = [to[0] - from[0], to[1] - from[1]];
    let length = along[0].hypot(along[1]);
    let distance = |point: &[f64; 2]| {
        let [u, v] = [point[0] - from[0], point[1] - from[1]];
        // The first stretch of a closed path has no direction.
        if length > tolerance { (along[0] * v - along[1] * u).abs() / length } else { u.hypot(v) }
    };
    let far = path.iter().map(distance).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    match far.filter(|(_, distance)| *distance > tolerance) {
        Some((at, _)) => {
            let mut kept = corners(&path[..=at], tolerance);
            kept.extend(corners(&path[at..], tolerance).into_iter().skip(1));
            kept
        }
        None if length > tolerance => vec![from, to],
        None => vec![from],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_is_drawn_from_corner_to_corner() {
        let drawn = |tool: Tool| tool.drawn(RoiPlane::Transaxial, &[[0.0, 0.0, 3.0], [10.0, 20.0, 3.0]]);
        let plane = RoiPlane::Transaxial;
        let centre = [5.0, 10.0, 3.0];
        assert_eq!(drawn(Tool::Rectangle), Some((RoiShape::Rectangle { size_mm: [10.0, 20.0], plane }, centre)));
        assert_eq!(drawn(Tool::Box), Some((RoiShape::Box { size_mm: [10.0, 20.0, 10.0], plane }, centre)));
        assert_eq!(Tool::Ellipse.drawn(plane, &[[0.0; 3], [0.5, 20.0, 0.0]]), None);
    }

    #[test]
    fn a_circle_is_drawn_from_its_centre() {
        let drawn = |to| Tool::Circle.drawn(RoiPlane::Coronal, &[[1.0, 2.0, 3.0], to]);
        let shape = RoiShape::Circle { radius_mm: 5.0, plane: RoiPlane::Coronal };
        assert_eq!(drawn([4.0, 2.0, 7.0]), Some((shape, [1.0, 2.0, 3.0])));
        assert_eq!(drawn([1.1, 2.0, 3.0]), None);
    }

    #[test]
    fn a_path_around_a_triangle_becomes_its_three_corners_about_their_middle() {
        let ends = [[10.0, 4.0], [40.0, 4.0], [10.0, 34.0], [10.0, 4.0]];
        let mut path = Vec::new();
        for pair in ends.windows(2) {
            for k in 0..20 {
                let t = f64::from(k) / 20.0;
                path.push([pair[0][0] + t * (pair[1][0] - pair[0][0]), pair[0][1] + t * (pair[1][1] - pair[0][1]), 7.0]);
            }
        }
        let (shape, centre) = Tool::Freehand.drawn(RoiPlane::Transaxial, &path).unwrap();
        let RoiShape::Polygon { points_mm, .. } = shape else { panic!("{shape:?}") };
        // The path ends a little before it began, on the last side.
        assert!(
            points_mm.len() <= 4 && (centre[0] - 20.0).abs() < 0.3 && (centre[1] - 14.0).abs() < 0.5,
            "{centre:?} {points_mm:?}"
        );
        assert_eq!(centre[2], 7.0);
        for expected in &ends[..3] {
            let near = |p: &[f64; 2]| (p[0] + centre[0] - expected[0]).hypot(p[1] + centre[1] - expected[1]) < 1e-9;
            assert!(points_mm.iter().any(near), "{expected:?} of {points_mm:?}");
        }
        assert_eq!(Tool::Freehand.drawn(RoiPlane::Transaxial, &path[..10]), None, "a line encloses nothing");
    }

    #[test]
    fn a_clicked_polygon_keeps_every_corner() {
        // One corner stands out by less than a hundredth; the second click of a double click repeats the last corner.
        let clicked = [[0.0, 0.0], [500.0, 1.0], [1000.0, 0.0], [1000.0, 900.0], [0.0, 900.0], [0.0, 900.0]];
        let path: Vec<Point> = clicked.iter().map(|[x, y]| [*x, *y, -2.0]).collect();
        let (shape, centre) = Tool::Polygon.drawn(RoiPlane::Transaxial, &path).unwrap();
        let RoiShape::Polygon { points_mm, .. } = shape else { panic!("{shape:?}") };
        let back: Vec<[f64; 2]> = points_mm.iter().map(|[x, y]| [x + centre[0], y + centre[1]]).collect();
        assert_eq!(back.len(), 5);
        for (back, clicked) in back.iter().zip(clicked) {
            assert!((back[0] - clicked[0]).hypot(back[1] - clicked[1]) < 1e-9, "{back:?}, not {clicked:?}");
        }
        assert_eq!(Tool::Polygon.drawn(RoiPlane::Transaxial, &path[..2]), None);
    }
}
