//! Attenuation factors of sinograms: against the closed form of a cylinder.

use std::sync::Arc;

use tomoscope::data::{AttenuationMap, Unit, Volume};
use tomoscope::geometry::{Grid, Line};
use tomoscope::plan::{Rays, attenuation_factors};
use tomoscope::scanner::find;
use tomoscope::task::Task;

/// Linear attenuation coefficient of water at 511 keV, 1/mm.
const WATER_PER_MM: f64 = 0.0096;

/// Radius of the cylinder and position of its axis, mm.
const RADIUS_MM: f64 = 45.0;
const AXIS_MM: [f64; 2] = [6.3, -4.1];

/// Side of the voxels across the axis, mm.
const SIDE_MM: f64 = 0.125;

/// Returns a map of the cylinder: the part of each voxel inside, from 16 × 16 points where the rim crosses it.
fn cylinder() -> AttenuationMap {
    const POINTS: usize = 16;
    let num = (2.0 * (RADIUS_MM + 10.0) / SIDE_MM).ceil() as usize;
    // Along the axis nothing changes.
    let grid = Grid::centred([num, num, 4], [SIDE_MM, SIDE_MM, 15.0]).unwrap();
    let offset = |k: usize| (k as f64 + 0.5) / POINTS as f64 - 0.5;
    let distance = |x: f64, y: f64| {
        let [x_mm, y_mm, _] = grid.mm_from_voxel([x, y, 0.0]);
        (x_mm - AXIS_MM[0]).hypot(y_mm - AXIS_MM[1])
    };
    let part = |x: f64, y: f64| match distance(x, y) - RADIUS_MM {
        beyond if beyond < -SIDE_MM => 1.0,
        beyond if beyond > SIDE_MM => 0.0,
        _ => {
            let is_inside = |k: &usize| distance(x + offset(k % POINTS), y + offset(k / POINTS)) < RADIUS_MM;
            (0..POINTS * POINTS).filter(is_inside).count() as f64 / (POINTS * POINTS) as f64
        }
    };
    let slice: Vec<f32> =
        (0..num * num).map(|index| (WATER_PER_MM * part((index % num) as f64, (index / num) as f64)) as f32).collect();
    let per_mm = Volume::from_vec(grid.clone(), slice.repeat(4), Unit::Unknown).unwrap();
    AttenuationMap { file: "mu.nii".into(), per_mm, ct: None }
}

/// Returns the distance of a line from the axis of the cylinder, mm, and its length for each mm across the axis.
fn place(line: &Line) -> [f64; 2] {
    let along: [f64; 3] = std::array::from_fn(|a| line.end[a] - line.start[a]);
    let across = along[0].hypot(along[1]);
    let from = [line.start[0] - AXIS_MM[0], line.start[1] - AXIS_MM[1]];
    [(from[0] * along[1] - from[1] * along[0]).abs() / across, line.length_mm() / across]
}

/// Returns exp(−µ × chord) of a line at this distance from the axis.
fn factor(distance_mm: f64, slope: f64) -> f64 {
    let chord = 2.0 * (RADIUS_MM.powi(2) - distance_mm.max(0.0).powi(2)).max(0.0).sqrt();
    (-WATER_PER_MM * chord * slope).exp()
}

#[test]
fn factors_of_a_cylinder_of_water_are_the_exponentials_of_its_chords() {
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let rays = Rays::Fixed { tangential: 1, axial: 1 };
    let factors = attenuation_factors(&geometry, &[Arc::new(cylinder())], rays, &Task::new()).unwrap();
    let planes = geometry.planes();
    let (mut largest, mut num_inner, mut squares) = (0.0f64, 0, 0.0);
    for (bin, found) in factors.counts.iter().enumerate() {
        let (view, tangential, plane) = factors.bin_of_index(bin);
        let [distance, slope] = place(&geometry.lor(geometry.transaxial_lor(view, tangential, 0, 1), planes[plane]));
        let (found, expected) = (f64::from(*found), factor(distance, slope));
        squares += (found - expected).powi(2);
        // A crossed voxel has the mean of µ up to its diagonal from the line: the chord of a line that much nearer or farther, and
        // the rim to a part of a voxel.
        let reach = std::f64::consts::SQRT_2 * SIDE_MM;
        let [nearer, farther] = [distance - reach, distance + reach].map(|distance| factor(distance, slope));
        assert!((nearer - 2e-4..=farther + 2e-4).contains(&found), "{distance} mm from the axis: {found}, not {expected}");
        // Towards the rim the chord changes without bounds over a voxel: by 0.8 mm at 0.95 of the radius, 3 mm in the last one.
        if distance < 0.95 * RADIUS_MM {
            (largest, num_inner) = (largest.max((found - expected).abs()), num_inner + 1);
        }
    }
    let rms = (squares / factors.counts.len() as f64).sqrt();
    println!("largest deviation {largest:.2e} of {num_inner} bins, rms {rms:.2e} of all {}", factors.counts.len());
    assert!(num_inner > 69_000 && largest < 1e-3 && rms < 5e-4, "{largest} of {num_inner}, {rms}");
}
