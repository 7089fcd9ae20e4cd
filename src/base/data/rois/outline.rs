//! The lines along which slices cut regions.

use super::figure::{Body, Figure, sides};
use super::roi::Roi;
use super::shape::RoiPlane;
use super::voxels::Voxels;
use crate::geometry::{Point, dot};

/// Corners of the polygon that the cut of an ellipsoid is drawn as.
const CORNERS_OF_CUT: usize = 96;

/// A line of straight pieces in a slice, along the plane's horizontal and vertical axis, mm; closed where it ends as it begins.
pub type CutLine = Vec<[f64; 2]>;

impl Roi {
    /// Returns the lines along which it is cut by a slice at `at_mm` on its normal, of this thickness; none where they do not
    /// meet.
    pub fn cut(&self, plane: RoiPlane, at_mm: f64, slice_mm: f64) -> Vec<CutLine> {
        let ([a, b], normal) = plane.axes();
        let offset = at_mm - self.centre_mm[normal];
        let mut lines = match self.body() {
            Body::Prism { figure, plane: of_figure, thickness_mm } if of_figure == plane => {
                let reach = 0.5 * (thickness_mm.unwrap_or(0.0) + slice_mm);
                // A centre on the face between two slices is in one of them, for any rounding.
                if offset.abs() <= reach * (1.0 + 1e-9) { vec![closed(figure.corners(self.turn()))] } else { Vec::new() }
            }
            Body::Prism { figure, plane: of_figure, thickness_mm } => {
                self.side_cuts(&figure, of_figure, thickness_mm, (plane, offset))
            }
            Body::Ellipsoid { half_mm, plane: of_turn } => {
                self.ellipsoid_cut(half_mm, of_turn, [a, b, normal].map(along), offset).map(closed).into_iter().collect()
            }
            Body::Voxels(voxels) => voxel_edges(voxels, plane, offset),
        };
        let centre = [self.centre_mm[a], self.centre_mm[b]];
        for point in lines.iter_mut().flatten() {
            *point = [point[0] + centre[0], point[1] + centre[1]];
        }
        lines
    }

    /// Returns a figure seen from its edge: a line where it is flat, else a rectangle, for each stretch that the slice cuts.
    fn side_cuts(
        &self,
        figure: &Figure,
        of_figure: RoiPlane,
        thickness_mm: Option<f64>,
        (plane, offset): (RoiPlane, f64),
    ) -> Vec<CutLine> {
        let (in_figure, normal_of_figure) = of_figure.axes();
        let ([a, _], normal) = plane.axes();
        // Along one of its axes the figure is cut, along the other lies the stretch.
        let across = usize::from(in_figure[1] == normal);
        let corners = figure.corners(self.turn());
        let mut crossings: Vec<f64> = sides(&corners)
            .filter(|[from, to]| (from[across] <= offset) != (to[across] <= offset))
            .map(|[from, to]| {
                let t = (offset - from[across]) / (to[across] - from[across]);
                from[1 - across] + t * (to[1 - across] - from[1 - across])
            })
            .collect();
        crossings.sort_by(f64::total_cmp);
        let half = 0.5 * thickness_mm.unwrap_or(0.0);
        let at = |along: f64, height: f64| if a == normal_of_figure { [height, along] } else { [along, height] };
        let line = |stretch: &[f64]| {
            let (from, to) = (stretch[0], stretch[1]);
            if half == 0.0 {
                return vec![at(from, 0.0), at(to, 0.0)];
            }
            closed(vec![at(from, -half), at(to, -half), at(to, half), at(from, half)])
        };
        crossings.chunks_exact(2).map(line).collect()
    }

    /// The cut of an ellipsoid xᵀ A x = 1 at a distance d from its centre: with A in blocks of the slice's `ways` (right and down,
    /// and its normal: P, q, r), the ellipse (y + d P⁻¹q)ᵀ P (y + d P⁻¹q) = 1 − d² (r − qᵀP⁻¹q).
    pub(in crate::data) fn ellipsoid_cut(
        &self,
        half_mm: [f64; 3],
        of_turn: RoiPlane,
        ways: [Point; 3],
        d: f64,
    ) -> Option<CutLine> {
        let turn = self.turn();
        let ([ta, tb], tn) = of_turn.axes();
        // A = R diag(1/half²) Rᵀ: its value for two unit vectors is the product of these vectors before the turn.
        let before = |unit: Point| -> Point {
            let [u, v] = turn.inverted([unit[ta], unit[tb]]);
            let mut point = [0.0; 3];
            (point[ta], point[tb], point[tn]) = (u, v, unit[tn]);
            std::array::from_fn(|k| point[k] / half_mm[k])
        };
        let [a, b, n] = ways.map(before);
        let (aa, ab, bb) = (dot(a, a), dot(a, b), dot(b, b));
        let (an, bn) = (dot(a, n), dot(b, n));
        let determinant = aa * bb - ab * ab;
        let shift = [(bb * an - ab * bn) / determinant, (aa * bn - ab * an) / determinant];
        let level = 1.0 - d * d * (dot(n, n) - an * shift[0] - bn * shift[1]);
        let radius = Some(level).filter(|level| *level > 0.0)?.sqrt();
        // P = L Lᵀ, so that Lᵀ y lies on a circle.
        let l00 = aa.sqrt();
        let (l10, l11) = (ab / l00, (determinant / aa).sqrt());
        let corner = |k: usize| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / CORNERS_OF_CUT as f64).sin_cos();
            let (u, v) = (radius * cos, radius * sin);
            let y = v / l11;
            [(u - l10 * y) / l00 - d * shift[0], y - d * shift[1]]
        };
        Some((0..CORNERS_OF_CUT).map(corner).collect())
    }
}

/// Returns the unit vector of an axis.
fn along(axis: usize) -> Point {
    std::array::from_fn(|k| f64::from(u8::from(k == axis)))
}

pub(in crate::data) fn closed(mut corners: CutLine) -> CutLine {
    corners.extend(corners.first().copied());
    corners
}

/// Returns the sides between voxels of a region and other ones, in the slice there.
fn voxel_edges(voxels: &Voxels, plane: RoiPlane, offset: f64) -> Vec<CutLine> {
    let grid = voxels.grid();
    let ([a, b], normal) = plane.axes();
    let slice = ((offset - grid.origin_mm[normal]) / grid.voxel_mm[normal]).round();
    if !(slice >= 0.0 && slice < grid.size[normal] as f64) {
        return Vec::new();
    }
    let belongs = |i: usize, j: usize| {
        let mut voxel = [0; 3];
        (voxel[a], voxel[b], voxel[normal]) = (i, j, slice as usize);
        i < grid.size[a] && j < grid.size[b] && voxels.is_inside()[(voxel[2] * grid.size[1] + voxel[1]) * grid.size[0] + voxel[0]]
    };
    // The face below voxel i along an axis.
    let face = |axis: usize, i: usize| grid.origin_mm[axis] + (i as f64 - 0.5) * grid.voxel_mm[axis];
    let mut edges = Vec::new();
    for j in 0..=grid.size[b] {
        for i in 0..=grid.size[a] {
            let here = belongs(i, j);
            if here != (i > 0 && belongs(i - 1, j)) {
                edges.push(vec![[face(a, i), face(b, j)], [face(a, i), face(b, j + 1)]]);
            }
            if here != (j > 0 && belongs(i, j - 1)) {
                edges.push(vec![[face(a, i), face(b, j)], [face(a, i + 1), face(b, j)]]);
            }
        }
    }
    edges
}
