//! Relaxation rates of voxels on CUDA against those of the processor.

use std::time::Instant;

use tomoscope::cuda::CudaVoxelFits;
use tomoscope::data::RelaxationRate;
use tomoscope::measure::oximetry::{FitsOnThreads, RateFitter, VoxelFit, VoxelFits};
use tomoscope::task::Task;

use super::device::device;
use super::support::noise;

const TIMES_US: [f64; 8] = [0.4, 0.8, 1.5, 2.6, 4.5, 8.0, 14.0, 30.0];

/// Noisy images of voxels with many rates, one after the other; some have no rate, by every cause that images can have.
fn images(rate: RelaxationRate, num_voxels: usize) -> Vec<Vec<f32>> {
    let of_image = |(image, time): (usize, &f64)| {
        let noise = noise(1 + image as u32, num_voxels);
        let value = |voxel: usize| {
            let decay = (-(0.1 + 1.4 * voxel as f64 / num_voxels as f64) * time).exp();
            let signal = match rate {
                RelaxationRate::R1 => 1.0 - 1.8 * decay,
                RelaxationRate::R2 => decay,
            };
            match voxel % 97 {
                0 => f32::NAN,
                1 => 2.0,
                2 => -signal as f32,
                3 => noise[voxel] - 0.5,
                _ => signal as f32 + 0.04 * (noise[voxel] - 0.5),
            }
        };
        (0..num_voxels).map(value).collect()
    };
    TIMES_US.iter().enumerate().map(of_image).collect()
}

/// Fits voxels, of which every seventh is masked.
fn fits(device: &mut dyn VoxelFits, rate: RelaxationRate, images: &[Vec<f32>]) -> Vec<VoxelFit> {
    let fitter = RateFitter::new(rate, &TIMES_US).unwrap();
    let slices: Vec<&[f32]> = images.iter().map(Vec::as_slice).collect();
    let is_masked: Vec<bool> = (0..images[0].len()).map(|voxel| voxel % 7 == 0).collect();
    device.fit(&fitter, &slices, &is_masked, &Task::new()).unwrap()
}

#[test]
fn rates_of_cuda_are_those_of_the_processor() {
    let Some(backend) = device() else { return };
    let mut on_device = CudaVoxelFits::new(backend).unwrap();
    for rate in [RelaxationRate::R1, RelaxationRate::R2] {
        let images = images(rate, 10_000);
        let expected = fits(&mut FitsOnThreads, rate, &images);
        let found = fits(&mut on_device, rate, &images);
        let (mut num_fits, mut num_others, mut worst) = (0, 0, [0.0f64; 3]);
        for (found, expected) in found.iter().zip(&expected) {
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    num_fits += 1;
                    let pairs = [
                        [found.rate_per_us, expected.rate_per_us],
                        [found.residual, expected.residual],
                        [found.information, expected.information],
                    ];
                    for (worst, [found, expected]) in worst.iter_mut().zip(pairs) {
                        *worst = worst.max((found / expected - 1.0).abs());
                    }
                    assert_eq!(found.inversion.is_some(), expected.inversion.is_some());
                    let values = TIMES_US.map(|time| (found.value(time) - expected.value(time)).abs() / expected.amplitude);
                    assert!(values.iter().all(|error| *error <= 1e-5), "{found:?} {expected:?}");
                }
                // At the limit of a search the last bit decides.
                (found, expected) => num_others += usize::from(found != expected),
            }
        }
        println!("{rate:?}: {num_fits} rates, {num_others} other outcomes, largest differences {worst:?}");
        assert!(num_fits > 7000 && num_others <= 3, "{num_others}");
        assert!(worst.iter().all(|worst| *worst <= 1e-5), "{worst:?}");
        assert_eq!(found, fits(&mut on_device, rate, &images), "the same bits twice");
    }
    // With both transfers. The first time has the driver's own preparations.
    let images = images(RelaxationRate::R1, 64 * 64 * 64);
    for _ in 0..5 {
        let start = Instant::now();
        let found = fits(&mut on_device, RelaxationRate::R1, &images);
        println!("64 × 64 × 64 voxels, 8 delays: {:.2} ms", 1e3 * start.elapsed().as_secs_f64());
        assert!(found.iter().filter(|fit| fit.is_ok()).count() > 200_000);
    }
}
