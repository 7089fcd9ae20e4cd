//! NEMA NU 4 image quality on images of the small-animal phantom whose truth is known.

use tomoscope::data::Volume;
use tomoscope::geometry::{Grid, Point};
use tomoscope::measure::nema_nu4::{Nu4Analysis, Nu4Error, analyse, find};
use tomoscope::phantom::{Phantom, by_name};

use super::nema::{FWHM_OF_SIGMA, blurred, plus, white};

/// Which point of the phantom is seen at a place.
type Way = Box<dyn Fn(Point) -> Point>;

fn phantom() -> Phantom {
    by_name("nema-nu4", &tomoscope::scanner::find("discovery-ste").unwrap().geometry).unwrap()
}

/// Voxels of 0.5 mm about the phantom.
fn grid() -> Grid {
    Grid::new([76, 74, 112], [0.5; 3], [-18.5, -18.2, -27.6]).unwrap()
}

/// The phantom where `to_phantom` says which of its points is seen at a place; every voxel the mean of 3 × 3 × 3 points.
fn image(to_phantom: impl Fn(Point) -> Point) -> Volume {
    let phantom = phantom();
    let mut volume = Volume::filled(grid(), 0.0);
    let offset = |k: usize| (k as f64 - 1.0) / 3.0;
    for ((z, y, x), value) in volume.values.indexed_iter_mut() {
        let point = |n: usize| {
            let voxel = [x as f64 + offset(n % 3), y as f64 + offset(n / 3 % 3), z as f64 + offset(n / 9)];
            phantom.material_at(to_phantom(grid().mm_from_voxel(voxel))).activity
        };
        *value = ((0..27).map(point).sum::<f64>() / 27.0) as f32;
    }
    volume
}

fn figures(volume: &Volume) -> Nu4Analysis {
    analyse(volume, &find(volume).unwrap()).unwrap()
}

#[test]
fn recovery_of_blurred_rods_is_that_of_the_closed_form() {
    const FWHM_MM: f64 = 1.6;
    let figures = figures(&blurred(&image(|at| at), FWHM_MM));
    assert!((figures.uniform_mean - 1.0).abs() < 1e-3 && figures.uniform_sd.unwrap() < 1e-3, "{figures:?}");
    let [low, high] = figures.uniform_range;
    assert!(low > 0.99 && high < 1.001, "{low}, {high}");
    // On the axis of a long rod: 1 − exp(−R² / 2 σ²). Voxels are means: d² / 12 more.
    let variance = (FWHM_MM / FWHM_OF_SIGMA).powi(2) + 0.5f64.powi(2) / 12.0;
    for (rod, diameter) in figures.rods.iter().zip([1.0f64, 2.0, 3.0, 4.0, 5.0]) {
        let on_axis = |variance: f64| 1.0 - (-(0.5 * diameter).powi(2) / (2.0 * variance)).exp();
        // The nearest pixel lies up to 0.35 mm from the axis, where it is a little less.
        let expected = on_axis(variance);
        assert!(rod.ratio < expected + 0.01 && rod.ratio > 0.88 * expected, "{diameter} mm: {} and {expected}", rod.ratio);
        assert!(rod.relative_sd.unwrap() < 1e-3);
    }
    // Five millimetres of wall and water about a cylinder of 2 mm keep it cold.
    assert!(figures.spill_over.iter().all(|cold| (0.0..1e-3).contains(&cold.ratio)), "{:?}", figures.spill_over);
}

#[test]
fn the_phantom_is_found_whichever_way_it_lies() {
    let turned = |degrees: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        move |[x, y, z]: Point| [x * cos - y * sin, x * sin + y * cos, z]
    };
    let ways: [(&str, Way); 5] = [
        ("as it is", Box::new(|at| at)),
        ("shifted", Box::new(|[x, y, z]| [x - 0.9, y + 0.7, z - 1.3])),
        ("other way up", Box::new(|[x, y, z]| [x, y, -z])),
        ("turned", Box::new(turned(37.0))),
        ("mirrored and turned", Box::new(move |[x, y, z]| turned(-110.0)([-x, y, z]))),
    ];
    for (what, to_phantom) in ways {
        let noise = blurred(&white(&grid(), 0.8, 5), 1.2);
        let volume = plus(&blurred(&image(&to_phantom), 1.4), &noise);
        let placement = find(&volume).unwrap();
        let [rods_end, cold_end] = placement.chamber_z_mm;
        let at = |[x, y]: [f64; 2], z: f64| to_phantom([x, y, z]);
        // Seen from the phantom, whose chamber reaches from −5 to 25 mm.
        assert!((at(placement.axis_mm, rods_end)[2] + 5.0).abs() < 0.4, "{what}: {placement:?}");
        assert!((at(placement.axis_mm, cold_end)[2] - 25.0).abs() < 0.4, "{what}: {placement:?}");
        let [x, y, _] = at(placement.axis_mm, 0.0);
        assert!(x.hypot(y) < 0.3, "{what}: ({x}, {y})");
        for (rod, place) in (0..).zip(placement.rods_mm) {
            let (sin, cos) = f64::to_radians(72.0 * f64::from(rod)).sin_cos();
            let [x, y, _] = at(place, 0.0);
            assert!((x - 7.0 * cos).hypot(y + 7.0 * sin) < 0.6, "{what}: rod {rod} at ({x}, {y})");
        }
        for place in placement.cold_mm {
            let [x, y, _] = at(place, 0.0);
            assert!((x.abs() - 7.5).hypot(y) < 0.4, "{what}: cold at ({x}, {y})");
        }
        let figures = analyse(&volume, &placement).unwrap();
        assert!(figures.rods.windows(2).all(|pair| pair[0].ratio < pair[1].ratio + 0.05), "{what}: {:?}", figures.rods);
    }
}

#[test]
fn axes_of_a_template_that_was_moved_are_measured_where_they_are() {
    let volume = image(|at| at);
    let found = find(&volume).unwrap();
    let mut rois = found.rois();
    assert_eq!(rois.len(), 8);
    let before = analyse(&volume, &found).unwrap();
    let same = analyse(&volume, &found.with_rois(&rois).unwrap()).unwrap();
    assert_eq!((&same.rods, &same.spill_over, same.placement.moved_mm), (&before.rods, &before.spill_over, None));
    // The region of the thickest rod goes outside beyond the thinnest, where nothing is; that of the first cold cylinder to the
    // axis.
    let place = |name: &str| rois.iter().position(|roi| roi.name == name).unwrap();
    let [thin, thick, cold, uniform] = ["rod 1 mm", "rod 5 mm", "cold cylinder 1", "uniform part"].map(place);
    let [thin_mm, axis_mm] = [thin, uniform].map(|index| rois[index].centre_mm);
    rois[thick].centre_mm = std::array::from_fn(|a| axis_mm[a] + 13.0 / 7.0 * (thin_mm[a] - axis_mm[a]));
    rois[cold].centre_mm = [axis_mm[0], axis_mm[1], rois[cold].centre_mm[2]];
    let moved = analyse(&volume, &found.with_rois(&rois).unwrap()).unwrap();
    assert!(moved.rods[4].ratio < 0.05 && before.rods[4].ratio > 0.9, "{:?}", moved.rods);
    assert_eq!(moved.rods[..4], before.rods[..4]);
    assert!(moved.spill_over[0].ratio > 0.8 && moved.spill_over[1] == before.spill_over[1], "{:?}", moved.spill_over);
    rois.remove(thin);
    assert_eq!(found.with_rois(&rois), None);
}

#[test]
fn what_is_not_the_phantom_is_refused() {
    assert_eq!(find(&Volume::filled(grid(), 0.0)), Err(Nu4Error::Empty));
    let error = find(&Volume::filled(grid(), 1.0)).unwrap_err();
    assert!(matches!(error, Nu4Error::NotTheChamber { found_mm } if (found_mm - 56.0).abs() < 0.5), "{error:?}");
    // Cut off in the middle of the rods.
    let whole = image(|at| at);
    let values = whole.values.slice(ndarray::s![32.., .., ..]).to_owned();
    let cut = Grid::new([76, 74, 80], [0.5; 3], [-18.5, -18.2, -11.6]).unwrap();
    let error = find(&Volume { grid: cut, values, unit: whole.unit }).unwrap_err();
    assert!(matches!(error, Nu4Error::CutOff { .. }), "{error}");
}
