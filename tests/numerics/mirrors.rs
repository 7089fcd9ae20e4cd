//! LORs that are mirror images of each other, taken together, against each taken by itself.

use std::sync::Arc;

use tomoscope::algebra::{FieldOfView, Host, Simd};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, AxialRuns, MirrorSets, Subset, ViewProjector};
use tomoscope::scanner::ScanGeometry;

use super::support::{backward, dot, forward, geometry, noise, random_volume, relative, tiny, tiny_span_3};

/// What is compared: a scan on a grid, and how many LORs its largest set has.
struct Case {
    geometry: Arc<ScanGeometry>,
    grid: Grid,
    fov_radius_mm: f64,
    rays: [usize; 2],
    subset: Subset,
    most: usize,
}

impl Case {
    fn new(geometry: Arc<ScanGeometry>, grid: Grid, fov_radius_mm: f64, most: usize) -> Self {
        Self { geometry, grid, fov_radius_mm, rays: [1, 1], subset: Subset::ALL, most }
    }

    fn check(&self) {
        let Self { geometry, grid, fov_radius_mm, rays, subset, most } = self;
        let views: Vec<usize> = subset.views(geometry.num_views).collect();
        let sets = MirrorSets::new(geometry, grid, &FieldOfView::new(grid, *fov_radius_mm), &views);
        let name = format!("{} {:?} {rays:?} {subset:?}", geometry.scanner, grid.size);
        assert_eq!(sets.max_len(), *most, "{name}");
        let volume = random_volume(grid);
        for simd in Simd::available() {
            let new = || AxialRuns::new(geometry.clone(), grid.clone(), *fov_radius_mm, *rays).unwrap().with_simd(simd);
            let (mirrored, single) = (new(), new().without_mirrors());
            let projected = forward(&mirrored, *subset, &volume);
            assert_same(&projected, &forward(&single, *subset, &volume), &name);
            let q = noise(11, projected.len());
            let back = |operator: &AxialRuns| backward(operator, *subset, q.clone(), Accumulation::Deterministic, grid);
            let image = back(&mirrored);
            assert_same(image.as_slice(), back(&single).as_slice(), &name);
            let (there, back) = (dot(&projected, &q), dot(seen(&mirrored, grid).as_slice(), image.as_slice()));
            assert!((there - back).abs() <= 1e-5 * there, "{name}: {there} {back}");
        }
    }
}

/// The random volume where the projector sees it.
fn seen(operator: &AxialRuns, grid: &Grid) -> Vec<f32> {
    let voxels = ViewProjector::<Host>::voxels(operator);
    let mut volume = random_volume(grid);
    let coefficients = voxels.coefficients(&volume);
    voxels.write(&coefficients, 1.0, &mut volume);
    volume.as_slice().to_vec()
}

fn assert_same(found: &[f32], expected: &[f32], name: &str) {
    let difference = relative(found, expected);
    let largest = expected.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let worst = found.iter().zip(expected).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs()));
    println!("{name}: {difference:.1e}, at worst {:.1e} of the largest", worst / largest);
    assert!(difference <= 1e-6 && worst <= 1e-5 * largest, "{name}: {difference:.1e}, {worst} of {largest}");
}

/// The same scan, turned so that its views are mirror images of each other or not.
fn turned(geometry: &ScanGeometry, view_offset_deg: f64) -> Arc<ScanGeometry> {
    Arc::new(ScanGeometry { view_offset_deg, ..geometry.clone() })
}

#[test]
fn mirror_images_are_projected_as_each_lor_by_itself() {
    let small = |size: [usize; 3]| Grid::centred(size, [3.0, 3.0, 2.5]).unwrap();
    let symmetric = turned(&tiny_span_3(), 0.0);
    let square = |side: usize| Grid::centred([side, side, 15], [5.0, 5.0, 3.0]).unwrap();
    let cases = [
        // Odd and even: views 0 and π/2 run through the middles of voxels, and in their faces.
        Case::new(geometry("small"), small([47, 47, 15]), 69.0, 8),
        Case::new(geometry("small"), small([48, 48, 15]), 72.0, 8),
        Case { rays: [2, 2], ..Case::new(geometry("small"), small([48, 48, 9]), 60.0, 8) },
        Case { rays: [2, 1], ..Case::new(symmetric.clone(), square(15), 37.5, 8) },
        Case::new(symmetric.clone(), square(16), 100.0, 8),
        // Reflections alone, where x and y are unlike.
        Case::new(symmetric.clone(), Grid::centred([15, 14, 15], [5.0, 5.0, 3.0]).unwrap(), 37.5, 4),
        Case::new(symmetric.clone(), Grid::centred([15, 15, 15], [5.0, 4.5, 3.0]).unwrap(), 37.5, 4),
        // Views a quarter turn apart without their reflections.
        Case { subset: Subset { index: 1, count: 4 }, ..Case::new(symmetric.clone(), square(15), 37.5, 4) },
        Case::new(tiny(4), Grid::centred([16, 16, 7], [5.0, 5.0, 3.0]).unwrap(), 37.5, 4),
        // A scan whose views have no mirror images, on a grid that only half a turn keeps besides.
        Case::new(tiny(4), Grid::centred([16, 14, 7], [5.0, 5.0, 3.0]).unwrap(), 37.5, 2),
        // One plane.
        Case::new(turned(&tiny(1), 0.0), Grid::centred([15, 15, 1], [5.0, 5.0, 6.0]).unwrap(), 37.5, 8),
        // A grid beside the axis.
        Case::new(symmetric, Grid::new([15, 15, 15], [5.0, 5.0, 3.0], [-34.0, -35.0, -21.0]).unwrap(), 37.5, 1),
        Case {
            subset: Subset { index: 3, count: 14 },
            ..Case::new(geometry("discovery-ste"), Grid::centred([40, 40, 47], [17.5, 17.5, 3.27]).unwrap(), 350.0, 4)
        },
    ];
    for case in cases {
        case.check();
    }
}

#[test]
fn deterministic_sums_over_sets_have_the_same_bits_for_any_number_of_threads_and_each_time() {
    let grid = Grid::centred([40, 40, 47], [17.5, 17.5, 3.27]).unwrap();
    let operator = AxialRuns::new(geometry("discovery-ste"), grid.clone(), 350.0, [1, 1]).unwrap();
    let subset = Subset { index: 2, count: 14 };
    let q = noise(3, ViewProjector::<Host>::views(&operator).len(subset));
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| backward(&operator, subset, q.clone(), Accumulation::Deterministic, &grid))
    };
    let one = with_threads(1);
    for threads in [1, 2, 3] {
        let again = with_threads(threads);
        assert!(again.as_slice().iter().zip(one.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads} threads");
    }
}
