//! Shapes of regions of interest, and how they are mirrored and scaled.

use std::sync::Arc;

use super::isocontour::Isocontour;
use super::voxels::Voxels;

/// The plane that a flat ROI lies in, and in which others are turned.
///
/// The window has these names, files the same in lower case.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum RoiPlane {
    /// Normal to z.
    #[default]
    Transaxial,
    /// Normal to y.
    Coronal,
    /// Normal to x.
    Sagittal,
}

impl RoiPlane {
    /// Returns its name for people.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the in-plane axes (horizontal, vertical) and the normal axis; 0 = x, 1 = y, 2 = z.
    pub fn axes(self) -> ([usize; 2], usize) {
        match self {
            RoiPlane::Transaxial => ([0, 1], 2),
            RoiPlane::Coronal => ([0, 2], 1),
            RoiPlane::Sagittal => ([1, 2], 0),
        }
    }
}

/// Shape and size of a ROI about its centre, before it is turned in its plane. Edge voxels count by the fraction inside.
///
/// Flat shapes lie in the slice nearest to the centre unless they have a thickness.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RoiShape {
    /// A disc.
    Circle {
        /// Radius, mm.
        radius_mm: f64,
        /// The plane it lies in.
        plane: RoiPlane,
    },
    /// A ball.
    Sphere {
        /// Radius, mm.
        radius_mm: f64,
    },
    /// A rectangle.
    Rectangle {
        /// Full sides along the plane's horizontal and vertical axis, mm.
        size_mm: [f64; 2],
        /// The plane it lies in.
        plane: RoiPlane,
    },
    /// An ellipse.
    Ellipse {
        /// Full axes along the plane's horizontal and vertical axis, mm.
        size_mm: [f64; 2],
        /// The plane it lies in.
        plane: RoiPlane,
    },
    /// A polygon. If its sides cross each other, points inside an even number of times are outside.
    Polygon {
        /// Corners relative to the centre, along the plane's horizontal and vertical axis, mm.
        points_mm: Arc<[[f64; 2]]>,
        /// The plane it lies in.
        plane: RoiPlane,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Full axes along x, y, z, mm.
        size_mm: [f64; 3],
        /// The plane in which it is turned.
        plane: RoiPlane,
    },
    /// A box.
    Box {
        /// Full sides along x, y, z, mm.
        size_mm: [f64; 3],
        /// The plane in which it is turned.
        plane: RoiPlane,
    },
    /// The voxels that an isocontour enclosed when it was found.
    Isocontour(Arc<Isocontour>),
    /// Voxels of a file, such as a segment of a DICOM segmentation.
    Voxels(Arc<Voxels>),
}

impl RoiShape {
    /// Returns its name in files.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Returns the plane that it lies in or is turned in; `None` of shapes that are not turned.
    pub fn plane(&self) -> Option<RoiPlane> {
        match *self {
            RoiShape::Circle { plane, .. }
            | RoiShape::Rectangle { plane, .. }
            | RoiShape::Ellipse { plane, .. }
            | RoiShape::Polygon { plane, .. }
            | RoiShape::Ellipsoid { plane, .. }
            | RoiShape::Box { plane, .. } => Some(plane),
            RoiShape::Sphere { .. } | RoiShape::Isocontour(_) | RoiShape::Voxels(_) => None,
        }
    }

    /// Returns true for a figure in a plane, which may have a thickness.
    pub fn is_flat(&self) -> bool {
        use RoiShape::{Circle, Ellipse, Polygon, Rectangle};
        matches!(self, Circle { .. } | Rectangle { .. } | Ellipse { .. } | Polygon { .. })
    }

    /// Returns true if a rotation changes it.
    pub fn can_turn(&self) -> bool {
        self.plane().is_some() && !matches!(self, RoiShape::Circle { .. })
    }

    /// Returns it scaled by `factor`.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        match &mut scaled {
            RoiShape::Circle { radius_mm, .. } | RoiShape::Sphere { radius_mm } => *radius_mm *= factor,
            RoiShape::Rectangle { size_mm, .. } | RoiShape::Ellipse { size_mm, .. } => {
                *size_mm = size_mm.map(|side| side * factor)
            }
            RoiShape::Ellipsoid { size_mm, .. } | RoiShape::Box { size_mm, .. } => *size_mm = size_mm.map(|side| side * factor),
            RoiShape::Polygon { points_mm, .. } => *points_mm = points_mm.iter().map(|point| point.map(|v| v * factor)).collect(),
            RoiShape::Isocontour(contour) => *contour = Arc::new(contour.scaled(factor)),
            RoiShape::Voxels(voxels) => *voxels = Arc::new(voxels.scaled(factor)),
        }
        scaled
    }

    /// Returns its image in the plane x = 0 through its centre.
    pub(in crate::data) fn mirrored_x(&self) -> Self {
        match self {
            RoiShape::Polygon { points_mm, plane } => {
                let axis = plane.axes().0.iter().position(|axis| *axis == 0);
                let mirrored = |point: &[f64; 2]| std::array::from_fn(|a| if Some(a) == axis { -point[a] } else { point[a] });
                RoiShape::Polygon { points_mm: points_mm.iter().map(mirrored).collect(), plane: *plane }
            }
            RoiShape::Isocontour(contour) => RoiShape::Isocontour(Arc::new(contour.mirrored_x())),
            RoiShape::Voxels(voxels) => RoiShape::Voxels(Arc::new(voxels.mirrored_x())),
            symmetric => symmetric.clone(),
        }
    }
}
