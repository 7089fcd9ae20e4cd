//! An acquisition of two radicals with different spectra: a disc of each, side by side.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tomoscope::data::{GradientAxis, Projection, Radical, ReferenceSpectrum, Sweep, SweepKind, SweepMetadata, SweepSpace};
use tomoscope::geometry::Grid;
use tomoscope::operator::grid_about_zero;
use tomoscope::recon::SweepModel;

const NUM_POINTS: usize = 64;
const STEP_MT: f64 = 0.05;
const GRADIENT_MT_PER_MM: f64 = 0.1;
const NUM_ANGLES: usize = 16;

/// Names of the radicals.
pub const NAMES: [&str; 2] = ["tam", "tempo"];

/// Amounts of the radicals, a.u. · mm².
pub const AMOUNTS: [f64; 2] = [60.0, 90.0];

/// The grid of their image.
pub fn grid() -> Grid {
    grid_about_zero([16, 16, 1], [1.5; 3]).unwrap()
}

/// One line, and two that are farther apart.
pub fn radicals() -> [Radical; 2] {
    let line = |middle: f64| {
        move |i: usize| -> f64 {
            let x = (i as f64 - 0.5 * NUM_POINTS as f64 - middle) / 2.0;
            -x * (-0.5 * x * x).exp()
        }
    };
    let spectrum = |lines: &[f64]| {
        let values: Vec<f32> = (0..NUM_POINTS).map(|i| lines.iter().map(|middle| line(*middle)(i)).sum::<f64>() as f32).collect();
        ReferenceSpectrum { values: values.into(), step_mt: STEP_MT }
    };
    [(NAMES[0], spectrum(&[0.0])), (NAMES[1], spectrum(&[-9.0, 9.0]))]
        .map(|(name, spectrum)| Radical { name: name.into(), spectrum })
}

/// Their projections by the model. They have no reference spectrum.
pub fn sweep() -> Sweep {
    let direction = |i: usize| {
        let angle = std::f64::consts::PI * i as f64 / NUM_ANGLES as f64;
        [angle.cos(), angle.sin(), 0.0]
    };
    let empty = |i| Projection { direction: direction(i), weight: 1.0, values: Arc::from([]) };
    let mut sweep = Sweep {
        kind: SweepKind::ContinuousWave { step_mt: STEP_MT, gradient_mt_per_mm: GRADIENT_MT_PER_MM, reference: None },
        space: SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]),
        num_points: NUM_POINTS,
        step_mm: STEP_MT / GRADIENT_MT_PER_MM,
        centre: (NUM_POINTS / 2) as f64,
        projections: (0..NUM_ANGLES).map(empty).collect(),
        num_expected: Some(NUM_ANGLES),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
    };
    let grid = grid();
    let disc = |(middle_mm, amount): ([f64; 2], f64)| -> Vec<f64> {
        let [nx, ny, _] = grid.size;
        let inside = |i: usize| {
            let at = grid.mm_from_voxel([(i % nx) as f64, (i / nx) as f64, 0.0]);
            f64::from(u8::from((at[0] - middle_mm[0]).hypot(at[1] - middle_mm[1]) < 3.2))
        };
        let values: Vec<f64> = (0..nx * ny).map(inside).collect();
        let area = 1.5 * 1.5 * values.iter().sum::<f64>();
        values.iter().map(|value| amount / area * value).collect()
    };
    let images: Vec<Vec<f64>> = [([-4.0, 0.0], AMOUNTS[0]), ([4.0, 2.0], AMOUNTS[1])].into_iter().map(disc).collect();
    let values = SweepModel::new(&sweep, &radicals(), &grid, 1e-9).unwrap().project(&images);
    for (projection, values) in sweep.projections.iter_mut().zip(values.chunks_exact(NUM_POINTS)) {
        projection.values = values.iter().map(|value| *value as f32).collect();
    }
    sweep
}

/// Writes a NumPy file of 32-bit floats.
fn put(path: &Path, shape: &str, values: impl IntoIterator<Item = f32>) {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.into_iter().flat_map(f32::to_le_bytes));
    std::fs::write(path, bytes).unwrap();
}

/// Writes projections and spectra as NumPy files; returns the file of the projections and those of the spectra.
pub fn write(folder: &Path) -> (PathBuf, [PathBuf; 2]) {
    let sweep = sweep();
    let file = |suffix: &str| folder.join(format!("tubes-{suffix}.npy"));
    let gauss_per_cm = GRADIENT_MT_PER_MM / 0.01;
    let directions: Vec<_> = sweep.projections.iter().map(|projection| projection.direction).collect();
    // (In continuous-wave data t runs against the gradient.)
    let gradients = (0..2).flat_map(|axis| directions.iter().map(move |n| (-gauss_per_cm * n[axis]) as f32));
    put(&file("fgrad"), &format!("(2, {NUM_ANGLES})"), gradients.collect::<Vec<_>>());
    let gauss = (0..NUM_POINTS).map(|i| (3300.0 + 10.0 * STEP_MT * (i as f64 - 32.0)) as f32);
    put(&file("B"), &format!("({NUM_POINTS},)"), gauss);
    let values = sweep.projections.iter().flat_map(|projection| projection.values.to_vec());
    put(&file("proj"), &format!("({NUM_ANGLES}, {NUM_POINTS})"), values.collect::<Vec<_>>());
    let spectra = radicals().map(|radical| {
        let path = file(&format!("h{}", radical.name));
        put(&path, &format!("({NUM_POINTS},)"), radical.spectrum.values.to_vec());
        path
    });
    (file("proj"), spectra)
}
