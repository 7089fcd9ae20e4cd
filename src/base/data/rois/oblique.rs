//! The lines along which planes of any direction cut regions.
//!
//! A prism and voxels are bounded by flat faces: each is cut along straight pieces, between every other crossing of its sides with
//! the plane, as a polygon's inside is counted. An ellipsoid's cut is an ellipse.

use super::figure::{Body, Figure};
use super::outline::CutLine;
use super::outline::closed;
use super::roi::Roi;
use super::shape::RoiPlane;
use super::voxels::Voxels;
use crate::geometry::{Point, Vector};

/// A plane in any direction.
#[derive(Clone, Copy, Debug)]
pub struct CutPlane {
    /// Origin of the coordinates in the plane, mm.
    pub origin_mm: Point,
    /// Unit vectors of the coordinates, and the normal.
    pub ways: [Point; 3],
    /// Thickness of the slice around it, mm: it contains a parallel flat region within this thickness.
    pub thickness_mm: f64,
}

/// Directions that differ by less than this (sine) are in parallel.
const PARALLEL: f64 = 1e-6;

impl CutPlane {
    /// Returns where a point is, along the ways and above the plane, mm.
    fn place(&self, point: Point) -> [f64; 3] {
        let off = Vector::from(point) - Vector::from(self.origin_mm);
        self.ways.map(|way| off.dot(&Vector::from(way)))
    }

    /// Returns the straight pieces along which it cuts a flat polygon with these corners; none where it is in parallel.
    fn cut_polygon(&self, corners: &[Point]) -> Vec<CutLine> {
        let places: Vec<[f64; 3]> = corners.iter().map(|corner| self.place(*corner)).collect();
        let next = places.iter().cycle().skip(1);
        let mut crossings: Vec<[f64; 2]> = places
            .iter()
            .zip(next)
            .filter(|(from, to)| (from[2] <= 0.0) != (to[2] <= 0.0))
            .map(|(from, to)| {
                let t = from[2] / (from[2] - to[2]);
                [0, 1].map(|k| from[k] + t * (to[k] - from[k]))
            })
            .collect();
        // All crossings lie on one line: sort them along its main direction.
        let width = |k: usize| {
            let ends =
                crossings.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at[k]), high.max(at[k])]);
            ends[1] - ends[0]
        };
        let along = usize::from(width(1) > width(0));
        crossings.sort_by(|p, q| p[along].total_cmp(&q[along]));
        crossings.chunks_exact(2).map(<[_]>::to_vec).collect()
    }
}

impl Roi {
    /// Returns the lines along which it is cut by a plane, in the plane's own places, mm; none where they do not meet.
    pub fn cut_by(&self, plane: &CutPlane) -> Vec<CutLine> {
        match self.body() {
            Body::Prism { figure, plane: of_figure, thickness_mm } => self.prism_cuts(&figure, of_figure, thickness_mm, plane),
            Body::Ellipsoid { half_mm, plane: of_turn } => {
                let centre = plane.place(self.centre_mm);
                let cut = self.ellipsoid_cut(half_mm, of_turn, plane.ways, -centre[2]);
                let moved = |line: CutLine| line.into_iter().map(|[x, y]| [x + centre[0], y + centre[1]]).collect();
                cut.map(|line| closed(moved(line))).into_iter().collect()
            }
            Body::Voxels(voxels) => voxel_cuts(voxels, self.centre_mm, plane),
        }
    }

    fn prism_cuts(&self, figure: &Figure, of_figure: RoiPlane, thickness_mm: Option<f64>, plane: &CutPlane) -> Vec<CutLine> {
        let ([a, b], normal) = of_figure.axes();
        let half = 0.5 * thickness_mm.unwrap_or(0.0);
        let corners = figure.corners(self.turn());
        let at = |[u, v]: [f64; 2], height: f64| {
            let mut point = self.centre_mm;
            (point[a], point[b], point[normal]) = (point[a] + u, point[b] + v, point[normal] + height);
            point
        };
        let face = |height: f64| corners.iter().map(|&corner| at(corner, height)).collect::<Vec<Point>>();
        let away = plane.ways[2];
        if away[a].hypot(away[b]) < PARALLEL {
            let is_in = plane.place(self.centre_mm)[2].abs() <= (half + 0.5 * plane.thickness_mm) * (1.0 + 1e-9);
            let outline = face(0.0).into_iter().map(|corner| plane.place(corner)).map(|[x, y, _]| [x, y]);
            return if is_in { vec![closed(outline.collect())] } else { Vec::new() };
        }
        if half == 0.0 {
            return plane.cut_polygon(&face(0.0));
        }
        let sides = corners.iter().zip(corners.iter().cycle().skip(1));
        let sides = sides.map(|(&from, &to)| vec![at(from, -half), at(to, -half), at(to, half), at(from, half)]);
        [face(-half), face(half)].into_iter().chain(sides).flat_map(|corners| plane.cut_polygon(&corners)).collect()
    }
}

/// Cuts of the faces between voxels of a region about a centre and other ones.
fn voxel_cuts(voxels: &Voxels, centre_mm: Point, plane: &CutPlane) -> Vec<CutLine> {
    let grid = voxels.grid();
    let belongs = |at: [i64; 3]| {
        let is_there = (0..3).all(|k| at[k] >= 0 && at[k] < grid.size[k] as i64);
        let [x, y, z] = at.map(|i| i as usize);
        is_there && voxels.is_inside()[(z * grid.size[1] + y) * grid.size[0] + x]
    };
    // Height of the corners of a voxel above the plane through its middle.
    let reach: f64 = (0..3).map(|k| 0.5 * grid.voxel_mm[k] * plane.ways[2][k].abs()).sum();
    let mut cuts = Vec::new();
    let [num_x, num_y, num_z] = grid.size.map(|num| num as i64);
    for at in (0..num_z).flat_map(|z| (0..num_y).flat_map(move |y| (0..num_x).map(move |x| [x, y, z]))) {
        if !belongs(at) {
            continue;
        }
        let middle = (Vector::from(grid.mm_from_voxel(at.map(|i| i as f64))) + Vector::from(centre_mm)).into();
        if plane.place(middle)[2].abs() > reach {
            continue;
        }
        for (k, side) in (0..3).flat_map(|k| [(k, -1), (k, 1)]) {
            let mut neighbour = at;
            neighbour[k] += side;
            if !belongs(neighbour) {
                cuts.extend(plane.cut_polygon(&voxel_face(middle, grid.voxel_mm, k, side as f64)));
            }
        }
    }
    cuts
}

/// Returns the corners of the face of a voxel on one side along an axis.
fn voxel_face(middle: Point, voxel_mm: [f64; 3], axis: usize, side: f64) -> [Point; 4] {
    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[u, v]| {
        let mut corner = middle;
        for (k, half) in [(axis, side), (a, u), (b, v)] {
            corner[k] += 0.5 * half * voxel_mm[k];
        }
        corner
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rois::shape::RoiShape;
    use crate::geometry::Grid;

    /// A plane through a point, turned about z and then tilted.
    fn plane(origin_mm: Point, azimuth: f64, tilt: f64) -> CutPlane {
        let ((sin_a, cos_a), (sin_e, cos_e)) = (azimuth.to_radians().sin_cos(), tilt.to_radians().sin_cos());
        let ways = [[cos_a, sin_a, 0.0], [sin_e * sin_a, -sin_e * cos_a, cos_e], [-cos_e * sin_a, cos_e * cos_a, sin_e]];
        CutPlane { origin_mm, ways, thickness_mm: 2.0 }
    }

    /// Lower and upper ends of lines along both ways.
    fn bounds(lines: &[CutLine]) -> [[f64; 2]; 2] {
        let points = || lines.iter().flatten();
        [0, 1].map(|k| points().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at[k]), high.max(at[k])]))
    }

    #[track_caller]
    fn assert_bounds(lines: &[CutLine], expected: [[f64; 2]; 2]) {
        let found = bounds(lines);
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 0.02, "{found:?} for {expected:?}: {lines:?}");
        }
    }

    #[test]
    fn a_ball_is_cut_along_a_circle_whichever_way() {
        let ball = Roi::new("", RoiShape::Sphere { radius_mm: 10.0 }, [3.0, -4.0, 5.0]);
        for (azimuth, tilt) in [(0.0, 0.0), (30.0, 0.0), (123.0, 47.0), (250.0, -80.0), (0.0, 90.0)] {
            let through = plane([0.0; 3], azimuth, tilt);
            // 6 mm beside the centre, whose place in the plane is known.
            let origin_mm = std::array::from_fn(|k| ball.centre_mm[k] + 6.0 * through.ways[2][k] - 2.0 * through.ways[0][k]);
            let cut = ball.cut_by(&CutPlane { origin_mm, ..through });
            assert!(cut.concat().iter().all(|[x, y]| ((x - 2.0).hypot(*y) - 8.0).abs() < 1e-9), "{azimuth} {tilt}");
            assert!(!cut.is_empty());
            let origin_mm = std::array::from_fn(|k| ball.centre_mm[k] + 10.1 * through.ways[2][k]);
            assert!(ball.cut_by(&CutPlane { origin_mm, ..through }).is_empty());
        }
    }

    #[test]
    fn a_cut_along_an_axis_is_that_of_the_slice() {
        let plane_of = RoiPlane::Coronal;
        let slice = plane([0.0, 2.0, 0.0], 0.0, 0.0);
        let shapes = [
            RoiShape::Ellipsoid { size_mm: [10.0, 20.0, 30.0], plane: RoiPlane::Transaxial },
            RoiShape::Box { size_mm: [10.0, 20.0, 30.0], plane: RoiPlane::Transaxial },
            RoiShape::Rectangle { size_mm: [10.0, 20.0], plane: plane_of },
            RoiShape::Circle { radius_mm: 7.0, plane: RoiPlane::Transaxial },
        ];
        for shape in shapes {
            let roi = Roi { angle_deg: 25.0, ..Roi::new("", shape, [1.0, 1.5, -2.0]) };
            assert_bounds(&roi.cut_by(&slice), bounds(&roi.cut(plane_of, 2.0, 2.0)));
        }
    }

    #[test]
    fn a_cylinder_is_cut_along_its_axis_and_askew() {
        let shape = RoiShape::Circle { radius_mm: 10.0, plane: RoiPlane::Transaxial };
        let cylinder = Roi { thickness_mm: Some(40.0), ..Roi::new("", shape, [0.0; 3]) };
        // 6 mm beside its axis: 16 mm wide, all of its height.
        let along = plane([0.0; 3], 33.0, 0.0);
        let neighbour = CutPlane { origin_mm: along.ways[2].map(|v| 6.0 * v), ..along };
        assert_bounds(&cylinder.cut_by(&neighbour), [[-8.0, 8.0], [-20.0, 20.0]]);
        // At 60° from the axis' direction an ellipse that is 10 / cos 30° long, within its height.
        let askew = plane([0.0; 3], 0.0, 60.0);
        assert_bounds(&cylinder.cut_by(&askew), [[-10.0, 10.0], [-20.0 / 3f64.sqrt(), 20.0 / 3f64.sqrt()]]);
        // Without a thickness a line.
        let disc = Roi { thickness_mm: None, ..cylinder };
        assert_bounds(&disc.cut_by(&askew), [[-10.0, 10.0], [0.0, 0.0]]);
        assert_eq!(disc.cut_by(&askew).concat().len(), 2);
    }

    #[test]
    fn a_hollow_polygon_and_voxels_are_cut_at_every_face() {
        // A U, cut across both of its arms.
        let points_mm =
            [[-10.0, -10.0], [-4.0, -10.0], [-4.0, 4.0], [4.0, 4.0], [4.0, -10.0], [10.0, -10.0], [10.0, 10.0], [-10.0, 10.0]];
        let shape = RoiShape::Polygon { points_mm: points_mm.to_vec().into(), plane: RoiPlane::Transaxial };
        let polygon = Roi::new("", shape, [0.0; 3]);
        let mut cut = polygon.cut_by(&plane([0.0; 3], 0.0, 45.0));
        cut.sort_by(|p, q| p[0][0].total_cmp(&q[0][0]));
        let ends: Vec<f64> = cut.concat().iter().map(|at| at[0].round()).collect();
        assert_eq!(ends, [-10.0, -4.0, 4.0, 10.0]);
        // Two voxels beside each other are a box without a wall within.
        let grid = Grid { size: [2, 1, 1], voxel_mm: [4.0; 3], origin_mm: [-2.0, 0.0, 0.0] };
        let voxels = Roi::new("", RoiShape::Voxels(Voxels::new(grid, vec![true; 2]).unwrap().into()), [1.0, 0.0, 0.0]);
        let cut = voxels.cut_by(&plane([0.0; 3], 0.0, 30.0));
        let high = 2.0 / 30f64.to_radians().cos();
        assert_bounds(&cut, [[-3.0, 5.0], [-high, high]]);
        let length: f64 = cut.iter().map(|line| (line[0][0] - line[1][0]).hypot(line[0][1] - line[1][1])).sum();
        assert!((length - 2.0 * (8.0 + 2.0 * high)).abs() < 1e-9, "{length}");
    }
}
