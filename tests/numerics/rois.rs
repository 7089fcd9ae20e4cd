//! Regions of interest: their voxels and their outlines against closed forms.

use std::f64::consts::PI;
use std::sync::Arc;

use proptest::prelude::*;
use tomoscope::data::{ContourThreshold, Isocontour, IsocontourRecipe, Roi, RoiPlane, RoiShape, Voxels};
use tomoscope::geometry::Grid;

const PLANES: [RoiPlane; 3] = [RoiPlane::Transaxial, RoiPlane::Coronal, RoiPlane::Sagittal];

/// Voxels of different sides, about 1.5 mm.
fn grid() -> Grid {
    Grid::new([52, 48, 40], [1.3, 1.5, 1.8], [-33.0, -35.7, -35.4]).unwrap()
}

/// Σ w, in voxels.
fn weight(roi: &Roi, grid: &Grid) -> f64 {
    roi.mask(grid).voxels.iter().map(|(_, weight)| f64::from(*weight)).sum()
}

fn voxel_mm3(grid: &Grid) -> f64 {
    grid.voxel_mm.iter().product()
}

/// Twice the signed area of a polygon is the sum of its sides' cross products (the shoelace formula).
fn area(corners: &[[f64; 2]]) -> f64 {
    let sides = corners.iter().zip(corners.iter().cycle().skip(1));
    0.5 * sides.map(|(a, b)| a[0] * b[1] - b[0] * a[1]).sum::<f64>().abs()
}

/// Corners of a star that does not cross itself: a polygon with notches.
fn star(radii_mm: &[f64]) -> Arc<[[f64; 2]]> {
    let corner = |(k, radius): (usize, &f64)| {
        let (sin, cos) = (2.0 * PI * k as f64 / radii_mm.len() as f64).sin_cos();
        [radius * cos, radius * sin]
    };
    radii_mm.iter().enumerate().map(corner).collect()
}

fn plane() -> impl Strategy<Value = RoiPlane> {
    prop::sample::select(PLANES.to_vec())
}

/// Places near the middle, so that shapes of up to 20 mm lie inside.
fn centre() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(-8.0..8.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flat_shapes_have_their_area(centre_mm in centre(), plane in plane(), angle_deg in -180.0..180.0, size_mm in prop::array::uniform2(12.0..38.0f64), radii in prop::collection::vec(8.0..20.0, 3..9)) {
        let grid = grid();
        let ([a, b], _) = plane.axes();
        let points_mm = star(&radii);
        let polygon = area(&points_mm);
        let shapes = [
            (RoiShape::Circle { radius_mm: 0.5 * size_mm[0], plane }, 0.25 * PI * size_mm[0].powi(2)),
            (RoiShape::Ellipse { size_mm, plane }, 0.25 * PI * size_mm[0] * size_mm[1]),
            (RoiShape::Rectangle { size_mm, plane }, size_mm[0] * size_mm[1]),
            (RoiShape::Polygon { points_mm, plane }, polygon),
        ];
        for (shape, expected) in shapes {
            let roi = Roi { angle_deg, ..Roi::new("r", shape, centre_mm) };
            let found = weight(&roi, &grid) * grid.voxel_mm[a] * grid.voxel_mm[b];
            // Upright edges may all miss or all take a sixteenth of a voxel on either side.
            prop_assert!((found / expected - 1.0).abs() < 0.025, "{:?}: {found} is not {expected}", roi.shape);
            // Through several slices and parts of slices it has the volume of a prism, exactly as many times its area.
            let thick = Roi { thickness_mm: Some(7.7), ..roi.clone() };
            let normal = plane.axes().1;
            let prism = weight(&thick, &grid) * grid.voxel_mm[normal];
            prop_assert!((prism / (weight(&roi, &grid) * 7.7) - 1.0).abs() < 1e-5, "{:?}", roi.shape);
        }
    }

    #[test]
    fn solid_shapes_have_their_volume(centre_mm in centre(), plane in plane(), angle_deg in -180.0..180.0, size_mm in prop::array::uniform3(12.0..34.0f64)) {
        let grid = grid();
        let [x, y, z] = size_mm;
        let shapes = [
            (RoiShape::Sphere { radius_mm: 0.5 * x }, PI / 6.0 * x.powi(3)),
            (RoiShape::Ellipsoid { size_mm, plane }, PI / 6.0 * x * y * z),
            (RoiShape::Box { size_mm, plane }, x * y * z),
        ];
        for (shape, expected) in shapes {
            let roi = Roi { angle_deg, ..Roi::new("r", shape, centre_mm) };
            let found = weight(&roi, &grid) * voxel_mm3(&grid);
            prop_assert!((found / expected - 1.0).abs() < 0.03, "{:?}: {found} is not {expected}", roi.shape);
        }
    }

    #[test]
    fn every_slice_cuts_out_the_area_that_its_voxels_have(centre_mm in centre(), of_shape in plane(), plane in plane(), angle_deg in -180.0..180.0, size_mm in prop::array::uniform3(14.0..34.0f64), radii in prop::collection::vec(10.0..20.0, 4..8), slice in -6i32..=6) {
        // Small voxels, so that a slice is a cut.
        let grid = Grid::centred([100; 3], [0.6; 3]).unwrap();
        let shapes = [
            RoiShape::Ellipsoid { size_mm, plane: of_shape },
            RoiShape::Box { size_mm, plane: of_shape },
            RoiShape::Polygon { points_mm: star(&radii), plane: of_shape },
        ];
        let normal = plane.axes().1;
        let index = 50 + slice;
        let at_mm = grid.origin_mm[normal] + f64::from(index) * 0.6;
        for shape in shapes {
            let thickness_mm = shape.is_flat().then_some(13.0);
            let roi = Roi { angle_deg, thickness_mm, ..Roi::new("r", shape, centre_mm) };
            let in_slice = |voxel: u32| [voxel % 100, voxel / 100 % 100, voxel / 10_000][normal] == index as u32;
            let voxels: f64 = roi.mask(&grid).voxels.iter().filter(|(v, _)| in_slice(*v)).map(|(_, w)| f64::from(*w)).sum();
            let cut: f64 = roi.cut(plane, at_mm, 0.6).iter().map(|line| area(line)).sum();
            // A slice at an end of the shape is only partly in it.
            if (voxels * 0.36 - cut).abs() > 0.03 * cut + 3.0 {
                let beside = [-0.6, 0.6].map(|by| roi.cut(plane, at_mm + by, 0.0).iter().map(|line| area(line)).sum::<f64>());
                prop_assert!((beside[0] - beside[1]).abs() > 0.1 * cut, "{:?} {plane:?}: voxels {}, cut {cut}, {beside:?}", roi.shape, voxels * 0.36);
            }
        }
    }

    #[test]
    fn a_shape_that_is_turned_by_a_right_angle_is_the_one_with_its_sides_exchanged(plane in plane(), size_mm in prop::array::uniform3(5.0..30.0f64), centre_mm in centre()) {
        let grid = Grid::centred([60; 3], [1.2; 3]).unwrap();
        let ([a, b], _) = plane.axes();
        let mut exchanged = size_mm;
        exchanged.swap(a, b);
        let solids: [fn([f64; 3], RoiPlane) -> RoiShape; 2] =
            [|size_mm, plane| RoiShape::Ellipsoid { size_mm, plane }, |size_mm, plane| RoiShape::Box { size_mm, plane }];
        for solid in solids {
            let turned = Roi { angle_deg: 90.0, ..Roi::new("r", solid(size_mm, plane), centre_mm) };
            let upright = Roi::new("r", solid(exchanged, plane), centre_mm);
            let (turned, upright) = (weight(&turned, &grid), weight(&upright, &grid));
            prop_assert!((turned - upright).abs() < 1e-3 * upright, "{turned} is not {upright}");
        }
    }

    #[test]
    fn left_and_right_are_exchanged_and_back(plane in plane(), angle_deg in -90.0..90.0, radii in prop::collection::vec(6.0..18.0, 3..7), centre_mm in centre()) {
        let grid = Grid::centred([50; 3], [1.4; 3]).unwrap();
        let roi = Roi { angle_deg, thickness_mm: Some(9.0), ..Roi::new("r", RoiShape::Polygon { points_mm: star(&radii), plane }, centre_mm) };
        let mirrored = roi.mirrored_x();
        prop_assert_eq!(&mirrored.mirrored_x(), &roi);
        let mut expected: Vec<(u32, f32)> =
            roi.mask(&grid).voxels.iter().map(|(index, weight)| (index - index % 50 + 49 - index % 50, *weight)).collect();
        expected.sort_by_key(|(index, _)| *index);
        let found = mirrored.mask(&grid);
        let difference: f32 = expected.iter().map(|(index, weight)| {
            let there = found.voxels.binary_search_by_key(index, |(index, _)| *index).map_or(0.0, |at| found.voxels[at].1);
            (there - weight).abs()
        }).sum();
        // Rounding may put a sampled point on the other side of an edge.
        prop_assert!(difference < 0.2 && found.voxels.len().abs_diff(expected.len()) < 8, "{difference}");
    }
}

/// A ball of voxels on a grid of 2 mm.
fn contour() -> Isocontour {
    let grid = Grid::new([11, 11, 11], [2.0; 3], [-10.0; 3]).unwrap();
    let is_inside = (0..11usize.pow(3)).map(|k| {
        let offset = [k % 11, k / 11 % 11, k / 121].map(|i| i as f64 - 5.0);
        offset.iter().map(|v| v * v).sum::<f64>() <= 20.0
    });
    let recipe = IsocontourRecipe { threshold: ContourThreshold::percent(50.0), seed_radius_mm: 5.0 };
    Isocontour { recipe, threshold: 1.0, voxels: Voxels::new(grid.clone(), is_inside.collect()).unwrap() }
}

#[test]
fn an_isocontour_keeps_its_volume_on_every_grid_and_wherever_it_is_moved() {
    let contour = contour();
    let expected = 8.0 * contour.voxels.is_inside().iter().filter(|is_inside| **is_inside).count() as f64;
    let shape = RoiShape::Isocontour(Arc::new(contour));
    for grid in [Grid::centred([31; 3], [2.0; 3]).unwrap(), Grid::centred([41, 37, 33], [1.3, 1.7, 1.9]).unwrap()] {
        for centre_mm in [[0.0; 3], [3.3, -4.1, 0.7]] {
            let found = weight(&Roi::new("r", shape.clone(), centre_mm), &grid) * voxel_mm3(&grid);
            assert!((found / expected - 1.0).abs() < 1e-4, "{found} is not {expected}");
        }
    }
    // On its own grid every voxel is wholly inside or not at all, and so is the mirrored one, which is a ball too.
    let own = Grid::centred([31; 3], [2.0; 3]).unwrap();
    let roi = Roi::new("r", shape, [2.0, 0.0, -4.0]);
    assert!(roi.mask(&own).voxels.iter().all(|(_, weight)| *weight == 1.0));
    let moved = Roi { centre_mm: [-2.0, 0.0, -4.0], ..roi.clone() };
    assert_eq!(roi.mirrored_x().mask(&own), moved.mask(&own));
    // Its outline in the middle slice has the perimeter of a disc of pixels: 4 sides of 9 pixels.
    let cut = roi.cut(RoiPlane::Transaxial, -4.0, 2.0);
    let length: f64 = cut.iter().map(|line| (line[1][0] - line[0][0]).hypot(line[1][1] - line[0][1])).sum();
    assert_eq!(length, 4.0 * 9.0 * 2.0);
}

#[test]
fn what_lies_outside_the_grid_covers_nothing() {
    let grid = grid();
    let size_mm = [10.0; 3];
    let plane = RoiPlane::Transaxial;
    let shapes = [
        RoiShape::Ellipse { size_mm: [10.0; 2], plane },
        RoiShape::Polygon { points_mm: star(&[5.0; 5]), plane },
        RoiShape::Ellipsoid { size_mm, plane },
        RoiShape::Box { size_mm, plane },
        RoiShape::Isocontour(Arc::new(contour())),
    ];
    for shape in shapes {
        for centre_mm in [[90.0, 0.0, 0.0], [0.0, 0.0, -90.0], [f64::NAN, 0.0, 0.0], [1e300, 0.0, 0.0]] {
            assert_eq!(weight(&Roi::new("r", shape.clone(), centre_mm), &grid), 0.0, "{shape:?} {centre_mm:?}");
        }
        // At the edge of the grid less of it is left.
        let [at_edge, inside] =
            [[32.0, 0.0, 0.0], [0.0; 3]].map(|centre_mm| weight(&Roi::new("r", shape.clone(), centre_mm), &grid));
        assert!(at_edge > 0.0 && at_edge < 0.8 * inside, "{shape:?}");
    }
}

#[test]
fn scaled_shapes_have_scaled_volumes() {
    let (small, large) = (Grid::centred([40; 3], [1.0; 3]).unwrap(), Grid::centred([40; 3], [2.5; 3]).unwrap());
    let plane = RoiPlane::Coronal;
    let shapes = [
        RoiShape::Ellipse { size_mm: [10.0, 14.0], plane },
        RoiShape::Polygon { points_mm: star(&[5.0, 9.0, 6.0, 8.0]), plane },
        RoiShape::Ellipsoid { size_mm: [9.0, 7.0, 12.0], plane },
        RoiShape::Box { size_mm: [9.0, 7.0, 12.0], plane },
        RoiShape::Isocontour(Arc::new(contour())),
    ];
    for shape in shapes {
        let roi = Roi { angle_deg: 20.0, ..Roi::new("r", shape, [1.0, 2.0, -3.0]) };
        let (before, after) = (weight(&roi, &small), weight(&roi.scaled(2.5), &large));
        assert!((before - after).abs() < 1e-3 * before, "{:?}: {before} {after}", roi.shape);
    }
}
