//! Total variation on every device against the host.

use std::sync::Arc;

use tomoscope::algebra::{BackendError, Host, Image};
use tomoscope::coded::Coded as _;
use tomoscope::data::{Radical, Sweep, SweepKind, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{KernelSpectrum, grid_about_zero, padded_size};
use tomoscope::plan::choose_device;
use tomoscope::recon::{
    Algorithm, ReconError, SpectralModel, SpectrumSettings, SweepModel, TotalVariation, TotalVariationKernels, TvImages,
    TvSettings,
};
use tomoscope::task::Task;

use super::device::{Each, Gpu, on_each_gpu};
use super::spectral_tv;
use super::support::relative;
use super::tv::sweep_of_noise;

on_each_gpu! {
    images_equal_those_of_the_host,
    spectral_spatial_images_equal_those_of_the_host;
    webgpu:
        images_of_radicals_equal_those_of_the_host,
        coupled_convolutions_equal_those_of_the_host,
        spectral_convolutions_equal_those_of_the_host,
        a_run_has_at_most_eight_radicals_or_spectra
}

/// A radical with the spectrum of a sweep.
fn radical(sweep: &Sweep, name: &str) -> Radical {
    let SweepKind::ContinuousWave { reference: Some(spectrum), .. } = &sweep.kind else { panic!("no reference") };
    Radical { name: name.to_owned(), spectrum: spectrum.clone() }
}

/// A run, with the host's image and objective.
struct Case {
    sweep: Sweep,
    radicals: Vec<Radical>,
    grid: Grid,
    settings: TvSettings,
    images: TvImages,
    expected: (Vec<f32>, f64),
}

/// Runs of images of a size: without limits, and positive within a mask.
fn cases(size: [usize; 3]) -> [Case; 2] {
    let grid = grid_about_zero(size, [0.4, 0.4, 0.4]).unwrap();
    [false, true].map(|is_limited| {
        let mask = |index: usize| if index % 7 < 5 { 1.0 } else { 0.0 };
        let mask = Volume::from_vec(grid.clone(), (0..grid.num_voxels()).map(mask).collect(), Default::default()).unwrap();
        let mut case = Case {
            sweep: sweep_of_noise(size[2] == 1, 256, 3.7),
            radicals: Vec::new(),
            grid: grid.clone(),
            settings: TvSettings { strength: Some(0.05), is_positive: is_limited, ..TvSettings::default() },
            images: TvImages { init: None, mask: is_limited.then(|| Arc::new(mask)) },
            expected: Default::default(),
        };
        case.expected = image_of(Host, &case).unwrap();
        case
    })
}

/// Runs of a spectrum in each voxel: without limits, and with differences along the spectra within a mask.
fn spectral_cases(size: [usize; 3], num_points: usize, num_samples: usize) -> [Case; 2] {
    let grid = grid_about_zero(size, [0.4, 0.5, 0.4]).unwrap();
    [false, true].map(|is_limited| {
        let mut sweep = spectral_tv::sweep(size[2] == 1, num_points);
        for (index, projection) in sweep.projections.iter_mut().enumerate() {
            let value = |i: usize| ((i + index * num_points) as f32 * 1.7).sin();
            projection.values = (0..num_points).map(value).collect::<Vec<_>>().into();
        }
        let mask = |index: usize| if index % 7 < 5 { 1.0 } else { 0.0 };
        let mask = Volume::from_vec(grid.clone(), (0..grid.num_voxels()).map(mask).collect(), Default::default()).unwrap();
        let spectrum = SpectrumSettings { num_samples, strength: if is_limited { 0.7 } else { 0.0 } };
        let mut case = Case {
            sweep,
            radicals: Vec::new(),
            grid: grid.clone(),
            settings: TvSettings { strength: Some(20.0), spectrum: Some(spectrum), ..TvSettings::default() },
            images: TvImages { init: None, mask: is_limited.then(|| Arc::new(mask)) },
            expected: Default::default(),
        };
        case.expected = image_of(Host, &case).unwrap();
        case
    })
}

// Transforms of 2, 3, 4 and 5; odd sizes; rows that have no partner; more lines than a block has.
const SIZES: [[usize; 3]; 6] = [[7, 6, 1], [45, 31, 1], [200, 401, 1], [5, 6, 7], [27, 30, 13], [16, 50, 65]];

/// The images after some steps with the one that is shown, and the objective of the last report that has one.
fn image_of<B: TotalVariationKernels>(backend: B, case: &Case) -> Result<(Vec<f32>, f64), ReconError> {
    let Case { sweep, radicals, grid, settings, images, .. } = case;
    let mut tv = TotalVariation::new(backend, sweep, radicals, grid, *settings, images.clone())?;
    let mut objective = 0.0;
    for _ in 0..21 {
        let ascent = tv.step(&Task::new())?.ascent.unwrap();
        objective = ascent.objective.map_or(objective, |value| value.total());
    }
    let mut shown = Volume::filled(grid.clone(), 0.0);
    tv.volume_into(&mut shown)?;
    let mut values = tv.images()?.concat();
    values.extend_from_slice(shown.as_slice());
    Ok((values, objective))
}

/// Compares a device with the host, and with itself.
fn compare<B: TotalVariationKernels>(name: &str, case: &Case, open: impl Fn() -> B) {
    let (size, expected) = (case.grid.size, &case.expected);
    let found = image_of(open(), case).unwrap();
    let error = relative(&found.0, &expected.0);
    let has_mask = case.images.mask.is_some();
    println!("{name} {size:?}, mask {has_mask}: {error:.1e}, objective {:.6e} and {:.6e}", found.1, expected.1);
    // (The levels of several radicals of noise are hardly determined.)
    let max = if case.radicals.is_empty() { 1e-5 } else { 5e-5 };
    assert!(error <= max, "{name} {size:?}: {error}");
    assert!((found.1 - expected.1).abs() <= max * expected.1.abs(), "{name} {size:?}: {} {}", found.1, expected.1);
    assert!(found == image_of(open(), case).unwrap(), "{name} {size:?}: not the same bits twice");
}

/// Values of an array on the GPU with short buffers, in one buffer.
const SHORT_LEN: usize = (64 << 10) / 4;

/// Compares the devices of an interface with the host, which those with short buffers refuse if they need more values than one has:
/// how many do.
fn compare_all<B: Gpu>(text: &str, case: &Case, num_values: usize, names: &[&str]) -> usize {
    let mut num_refused = 0;
    for name in names {
        let open = || B::all().into_iter().find(|(other, _)| other == name).unwrap().1;
        if *name == "short buffers" && num_values > SHORT_LEN {
            let refused = image_of(open(), case).unwrap_err().to_string();
            assert!(refused.contains("maxStorageBufferBindingSize is 131072"), "{refused}");
            num_refused += 1;
        } else {
            compare(&format!("{name}{text}"), case, open);
        }
    }
    num_refused
}

fn names<B: Gpu>() -> Vec<&'static str> {
    B::all().into_iter().map(|(name, _)| name).collect()
}

fn images_equal_those_of_the_host<B: Gpu>() {
    let names = names::<B>();
    let mut num_refused = 0;
    for mut case in SIZES.into_iter().flat_map(cases).filter(|_| !names.is_empty()) {
        // (A software GPU takes minutes for the large ones, whose kernels are those of the small ones.)
        let (is_large, has_mask) = (case.grid.num_voxels() > 2000, case.images.mask.is_some());
        let is_here = |name: &&&str| Each { webgpu: !is_large || (has_mask && **name != "least"), cuda: true }.of::<B>();
        let here: Vec<&str> = names.iter().filter(is_here).copied().collect();
        num_refused += compare_all::<B>("", &case, padded_size(case.grid.size).iter().product(), &here);
        // (Those of wgpu: below.)
        if (Each { webgpu: false, cuda: true }).of::<B>() {
            case.radicals = [2.1, 3.3, 4.7].map(|salt| radical(&sweep_of_noise(true, 256, salt), "")).into();
            case.expected = image_of(Host, &case).unwrap();
            compare_all::<B>(", three radicals", &case, 0, &names);
        }
    }
    assert_eq!(num_refused, if names.is_empty() { 0 } else { Each { webgpu: 3, cuda: 0 }.of::<B>() });
}

fn spectral_spatial_images_equal_those_of_the_host<B: Gpu>() {
    let names = names::<B>();
    let mut num_refused = 0;
    // Odd sizes, so that a voxel has no partner; samples with the factors 7 and 31; frequencies in several groups, the last one not full.
    let all = [([7, 6, 1], 24), ([5, 6, 7], 25), ([9, 5, 3], 14), ([20, 13, 1], 70), ([45, 31, 1], 62), ([12, 33, 20], 128)];
    for (size, num_samples) in all.into_iter().take(Each { webgpu: 4, cuda: 6 }.of::<B>()).filter(|_| !names.is_empty()) {
        let num_points = if num_samples == 14 { 40 } else { num_samples };
        for case in spectral_cases(size, num_points, num_samples) {
            let num_components = if size[2] == 1 { 2 } else { 3 } + usize::from(case.images.mask.is_some());
            let num_values = num_components * num_samples * case.grid.num_voxels();
            num_refused += compare_all::<B>(&format!(", {num_samples} samples"), &case, num_values, &names);
        }
    }
    assert_eq!(num_refused, if names.is_empty() { 0 } else { Each { webgpu: 3, cuda: 0 }.of::<B>() });
}

/// Images with transforms of 2, 3, 4 and 5 along each axis, and how many radicals they have.
const OF_RADICALS: [([usize; 3], usize); 4] = [([7, 6, 1], 3), ([45, 31, 1], 2), ([5, 6, 7], 8), ([8, 5, 5], 2)];

fn radicals(num: usize) -> Vec<Radical> {
    let salts = [2.1, 3.3, 4.7, 5.3, 6.1, 7.9, 8.7, 9.1];
    salts[..num].iter().map(|salt| radical(&sweep_of_noise(true, 256, *salt), "")).collect()
}

/// True where the complex values of an image's transforms fit in a buffer of a device.
fn fits(name: &str, size: [usize; 3], num_radicals: usize) -> bool {
    name != "short buffers" || 8 * num_radicals * padded_size(size).iter().product::<usize>() <= 128 << 10
}

fn images_of_radicals_equal_those_of_the_host<B: Gpu>() {
    let names = names::<B>();
    for (size, num_radicals) in OF_RADICALS {
        let here: Vec<&str> = names.iter().copied().filter(|name| fits(name, size, num_radicals)).collect();
        for mut case in cases(size).into_iter().filter(|_| !names.is_empty()) {
            case.radicals = radicals(num_radicals);
            case.expected = image_of(Host, &case).unwrap();
            compare_all::<B>(&format!(", {num_radicals} radicals"), &case, 0, &here);
        }
    }
}

/// A*A of images of noise.
fn convolved<B: TotalVariationKernels>(
    mut backend: B,
    couple: impl FnOnce(&mut B) -> Result<B::Coupling, BackendError>,
    len: usize,
) -> Vec<f32> {
    let noise: Vec<f32> = (0..len).map(|i| ((i as f32 + 1.0) * 1.7).sin()).collect();
    let mut coupling = couple(&mut backend).unwrap();
    let (images, mut result) = (backend.upload::<Image>(Arc::new(noise)).unwrap(), backend.zeros::<Image>(len).unwrap());
    backend.convolve(&mut coupling, &images, &mut result).unwrap();
    backend.read(&result, <[f32]>::to_vec).unwrap()
}

fn coupled_convolutions_equal_those_of_the_host<B: Gpu>() {
    for (size, num_radicals) in OF_RADICALS {
        let grid = grid_about_zero(size, [0.4, 0.4, 0.4]).unwrap();
        let radicals = radicals(num_radicals);
        let model = SweepModel::new(&sweep_of_noise(size[2] == 1, 256, 3.7), &radicals, &grid, 1e-9).unwrap();
        let spectrum = KernelSpectrum::new(size, num_radicals, |m, j| model.kernel(m, j));
        let len = num_radicals * grid.num_voxels();
        let expected = convolved(Host, |backend| backend.coupling(spectrum.clone()), len);
        for (name, backend) in B::all().into_iter().filter(|(name, _)| fits(name, size, num_radicals)) {
            let found = convolved(backend, |backend| backend.coupling(spectrum.clone()), len);
            let of_image = |values: &[f32], image: usize| values[image * grid.num_voxels()..][..grid.num_voxels()].to_vec();
            for image in 0..num_radicals {
                let error = relative(&of_image(&found, image), &of_image(&expected, image));
                println!("{name} {size:?}, image {image} of {num_radicals}: {error:.1e}");
                assert!(error <= 1e-5, "{name} {size:?}, image {image}: {error}");
            }
        }
    }
}

fn spectral_convolutions_equal_those_of_the_host<B: Gpu>() {
    // Odd sizes, so that a voxel has no partner; samples with the factors 7, 31 and 37; frequencies in several groups of a short buffer, the
    // last one not full.
    for (size, num_points, num_samples) in
        [([7, 6, 1], 24, 8), ([5, 3, 7], 25, 25), ([12, 11, 1], 70, 70), ([8, 5, 5], 62, 62), ([45, 31, 1], 40, 37)]
    {
        let grid = grid_about_zero(size, [0.4, 0.5, 0.4]).unwrap();
        let model = SpectralModel::new(&spectral_tv::sweep(size[2] == 1, num_points), num_samples, &grid, 1e-9).unwrap();
        let kernels = model.kernels();
        let len = num_samples * grid.num_voxels();
        let expected = convolved(Host, |backend| backend.spectral_coupling(&kernels), len);
        for (name, backend) in B::all() {
            if name == "short buffers" && len > SHORT_LEN {
                continue;
            }
            let error = relative(&convolved(backend, |backend| backend.spectral_coupling(&kernels), len), &expected);
            println!("{name} {size:?}, {num_samples} samples: {error:.1e}");
            assert!(error <= 1e-5, "{name} {size:?}, {num_samples} samples: {error}");
        }
    }
}

fn a_run_has_at_most_eight_radicals_or_spectra<B: Gpu>() {
    let Some(choice) = B::all().first().map(|(_, device)| device.choice()) else { return };
    let Case { sweep, grid, settings, images, .. } = &cases([7, 6, 1])[0];
    let run = |num_radicals: usize| {
        let (mut platform, _) = choose_device(choice).unwrap();
        let radicals: Vec<Radical> = (0..num_radicals).map(|_| radical(sweep, "a")).collect();
        platform.total_variation(sweep, &radicals, &[], grid, *settings, images.clone())
    };
    assert!(run(0).unwrap().step(&Task::new()).unwrap().ascent.is_some());
    assert!(run(8).is_ok());
    // Two buffers of complex values of all images are in the forecast.
    let of_transforms = 3 * 16 * padded_size([27, 30, 13]).iter().product::<usize>() as u64;
    assert!(choose_device(choice).unwrap().0.convolution_bytes([27, 30, 13], 3) > of_transforms);
    assert_eq!(run(9).err().unwrap().code(), "setup.device");
    // A spectrum in each voxel; its convolution has at least the kernels and twice the spectra.
    let Case { sweep, grid, settings, images, .. } = &spectral_cases([7, 6, 1], 24, 8)[0];
    let (mut platform, _) = choose_device(choice).unwrap();
    let least = 4 * (4 * padded_size(grid.size).iter().product::<usize>() + 4 * 8 * grid.num_voxels());
    assert!(platform.spectral_convolution_bytes(grid.size, 8) > least as u64);
    let mut algorithm = platform.total_variation(sweep, &[], &[], grid, *settings, images.clone()).unwrap();
    assert!(algorithm.step(&Task::new()).unwrap().ascent.is_some());
}
