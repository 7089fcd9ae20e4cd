//! What GPUs through wgpu alone have: limits that are lower than those of a device, integers of 64 bits in two words, devices that are
//! lost.

use std::process::Command;

use tomoscope::algebra::{Backend, Data, Image};
use tomoscope::data::Volume;
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, LinearOperator, Measured, OperatorError, Siddon, Subset, ViewProjector, Views};
use tomoscope::task::Task;
use tomoscope::webgpu::{self, DeviceOptions, PerLor, WebGpuArray, WebGpuBackend};

use super::device::{backends, backprojected, projected, read, upload};
use super::support::{forward, geometry, largest_difference, noise, random_volume, tiny};

#[test]
fn bins_that_may_be_rounding_are_summed_again() {
    let geometry = geometry("small");
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    // Cold rows beside a hot one.
    let mut volume = Volume::filled(grid.clone(), 1e-6);
    volume.as_mut_slice()[7 * 47 * 47..8 * 47 * 47].fill(1e6);
    let subset = Subset { index: 0, count: 12 };
    let plain = forward(&Siddon::new(geometry.clone(), grid.clone(), 69.0, [1, 1]), subset, &volume);
    for (name, mut backend) in backends() {
        let fast = webgpu::AxialRuns::new(&mut backend, geometry.clone(), grid.clone(), 69.0, [1, 1]).unwrap();
        let x = upload::<Image, _>(&mut backend, &fast.voxels().coefficients(&volume));
        let len = ViewProjector::<WebGpuBackend>::views(&fast).len(subset);
        let counts = upload::<Data, _>(&mut backend, &vec![1.0; len]);
        let mut out = backend.zeros(len).unwrap();
        let measured = Measured { values: &counts, pieces: &[(0, 0..len)] };
        fast.expect(&mut backend, subset, &x, &measured, &mut out, &Task::new()).unwrap();
        let found = read(&mut backend, &out);
        let worst = found.iter().zip(&plain).filter(|(_, exact)| **exact > 0.0).map(|(bin, exact)| (bin / exact - 1.0).abs());
        let worst = worst.fold(0.0, f32::max);
        println!("{name}: at worst {worst:.1e} of a bin");
        // Without that the coldest bins would be rounding alone.
        assert!(worst < 1e-3 && found.iter().all(|bin| *bin >= 0.0));
        // Only a few have counts: those are summed again, and no other bin changes.
        let mut coldest: Vec<usize> = (0..len).filter(|bin| plain[*bin] > 0.0).collect();
        coldest.sort_by(|a, b| plain[*a].total_cmp(&plain[*b]));
        for num in [1, 2, 3, 5] {
            let mut few = vec![0.0; len];
            coldest[..num].iter().for_each(|bin| few[*bin] = 1.0);
            let few = upload::<Data, _>(&mut backend, &few);
            let measured = Measured { values: &few, pieces: &[(0, 0..len)] };
            fast.expect(&mut backend, subset, &x, &measured, &mut out, &Task::new()).unwrap();
            let found = read(&mut backend, &out);
            let is_right = |bin: &usize| (found[*bin] / plain[*bin] - 1.0).abs() < 1e-3;
            assert!(coldest[..num].iter().all(is_right), "{name}: {num} bins");
            assert!((0..len).filter(|bin| plain[*bin] > 1e3).all(|bin| is_right(&bin)), "{name}: bins beside {num}");
        }
    }
}

/// A x for a volume.
fn bins_of(backend: &mut WebGpuBackend, operator: &impl ViewProjector<WebGpuBackend>, volume: &Volume) -> Vec<f32> {
    let (x, len) = (operator.voxels().coefficients(volume), operator.views().len(Subset::ALL));
    projected(backend, operator, Subset::ALL, &x, len)
}

/// Projects with the fast projector and the plain one on a GPU with some limits; the bins of both.
fn projected_within(number: usize, lower: impl Fn(&mut wgpu::Limits)) -> Result<Vec<f32>, String> {
    let geometry = tiny(2);
    let grid = Grid::centred([9, 9, 3], [8.0, 8.0, 6.0]).unwrap();
    let volume = random_volume(&grid);
    let options = |adapter: &wgpu::Adapter| {
        let mut options = DeviceOptions::all_of(adapter);
        lower(&mut options.limits);
        options
    };
    let sentence = |error: &dyn std::fmt::Display| error.to_string();
    let mut backend = WebGpuBackend::open_with(number, options).map_err(|error| sentence(&error))?;
    let fast = webgpu::AxialRuns::new(&mut backend, geometry.clone(), grid.clone(), 37.5, [1, 1]);
    let fast = fast.map_err(|error| sentence(&error))?;
    let plain = webgpu::PerLor::new(&mut backend, geometry, grid, 37.5, [1, 1]).map_err(|error| sentence(&error))?;
    let mut bins = bins_of(&mut backend, &fast, &volume);
    bins.extend(bins_of(&mut backend, &plain, &volume));
    Ok(bins)
}

#[test]
fn each_limit_is_respected_or_refused_with_a_sentence() {
    let Some((_, whole)) = backends().into_iter().next() else { return };
    let number = whole.info().number;
    let all = projected_within(number, |_| ()).unwrap();
    type Lower = fn(&mut wgpu::Limits);
    // Each alone as WebGPU guarantees it.
    let guaranteed: [(&str, Lower); 7] = [
        ("binding", |limits| limits.max_storage_buffer_binding_size = 128 << 20),
        ("buffer", |limits| limits.max_buffer_size = 256 << 20),
        ("buffers", |limits| limits.max_storage_buffers_per_shader_stage = 8),
        ("shared memory", |limits| limits.max_compute_workgroup_storage_size = 16 << 10),
        ("threads", |limits| limits.max_compute_invocations_per_workgroup = 256),
        ("groups", |limits| limits.max_compute_workgroups_per_dimension = 65_535),
        ("immediates", |limits| limits.max_immediate_size = 0),
    ];
    for (name, lower) in guaranteed {
        assert_eq!(projected_within(number, lower).as_ref(), Ok(&all), "{name}");
    }
    // Less than that: a refusal that names the limit or the kernel.
    let too_small: [(&str, Lower); 4] = [
        ("maxStorageBufferBindingSize", |limits| limits.max_storage_buffer_binding_size = 1 << 10),
        ("refuses the kernel", |limits| limits.max_storage_buffers_per_shader_stage = 3),
        ("shared memory", |limits| limits.max_compute_workgroup_storage_size = 256),
        ("refuses the kernel", |limits| limits.max_compute_invocations_per_workgroup = 64),
    ];
    for (expected, lower) in too_small {
        let message = projected_within(number, lower).unwrap_err();
        println!("{message}");
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn a_gpu_that_is_lost_in_the_middle_ends_with_a_sentence() {
    let geometry = tiny(2);
    let grid = Grid::centred([9, 9, 3], [8.0, 8.0, 6.0]).unwrap();
    // A separate device, unused by other tests.
    for (_, backend) in backends().into_iter().take(1) {
        let options = DeviceOptions { segment_bytes: 56 << 10, ..DeviceOptions::least() };
        let mut backend = WebGpuBackend::open_with(backend.info().number, |_| options).unwrap();
        let fast = webgpu::AxialRuns::new(&mut backend, geometry.clone(), grid.clone(), 37.5, [1, 1]).unwrap();
        let x = upload(&mut backend, &fast.voxels().coefficients(&random_volume(&grid)));
        let views: &Views = ViewProjector::<WebGpuBackend>::views(&fast);
        let mut out = backend.zeros(views.len(Subset::ALL)).unwrap();
        fast.apply(&mut backend, Subset::ALL, &x, &mut out, &Task::new()).unwrap();
        backend.destroy_device();
        let lost = fast.apply(&mut backend, Subset::ALL, &x, &mut out, &Task::new());
        let Err(OperatorError::Backend(error)) = lost else { panic!("{lost:?}") };
        assert!(error.to_string().contains("was lost"), "{error}");
        assert!(backend.read(&out, <[f32]>::to_vec).is_err());
        assert!(backend.zeros::<Image>(10).is_err());
    }
}

/// A small scan on a device.
fn small(device: &mut WebGpuBackend) -> PerLor {
    let grid = Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap();
    PerLor::new(device, geometry("small"), grid, 69.0, [1, 1]).unwrap()
}

const PART: Subset = Subset { index: 0, count: 24 };

/// Aᵀ q by integers.
fn spread(device: &mut WebGpuBackend, operator: &PerLor, q: &[f32]) -> Vec<f32> {
    backprojected(device, operator, PART, q, Accumulation::Deterministic, ViewProjector::voxels(operator).len())
}

/// Scaling by a power of two scales the image: integers near the bound, far below 1, of both signs.
#[test]
fn fixed_point_holds_values_of_any_magnitude() {
    let mut of_all: Option<Vec<f32>> = None;
    for (name, mut device) in backends() {
        let operator = small(&mut device);
        let len = ViewProjector::views(&operator).len(PART);
        let q: Vec<f32> = noise(3, len).iter().map(|v| v - 0.5).collect();
        let expected = spread(&mut device, &operator, &q);
        assert!(expected.iter().any(|v| *v < 0.0) && expected.iter().any(|v| *v > 0.0));
        assert!(*of_all.get_or_insert_with(|| expected.clone()) == expected, "{name}: the same bits on every device");
        for exponent in [-90, -40, 1, 90] {
            let scale = 2f32.powi(exponent);
            let scaled: Vec<f32> = q.iter().map(|v| v * scale).collect();
            let found = spread(&mut device, &operator, &scaled);
            let expected: Vec<f32> = expected.iter().map(|v| v * scale).collect();
            let error = largest_difference(&found, &expected);
            println!("{name}, 2^{exponent}: {error:.1e}");
            assert!(error <= 1e-7);
        }
        // All of one sign: the most exposed voxel comes as near to the bound as the margin lets it.
        let ones = spread(&mut device, &operator, &vec![1.0; len]);
        for value in [f32::MAX / 1e4, -f32::MAX / 1e4, 1e-30] {
            let found = spread(&mut device, &operator, &vec![value; len]);
            let expected: Vec<f32> = ones.iter().map(|one| one * value).collect();
            assert!(largest_difference(&found, &expected) <= 2e-7, "{name}, {value}");
        }
        let none = spread(&mut device, &operator, &vec![0.0; len]);
        assert!(none.iter().all(|v| *v == 0.0));
    }
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    for (name, mut device) in backends() {
        let operator = small(&mut device);
        let len = ViewProjector::views(&operator).len(PART);
        let mut image: WebGpuArray<Image> = device.zeros(ViewProjector::voxels(&operator).len()).unwrap();
        for value in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut q = vec![1.0; len];
            q[len - 3] = value;
            let q: WebGpuArray<Data> = upload(&mut device, &q);
            let outcome = operator.adjoint(&mut device, PART, &q, Accumulation::Deterministic, &mut image, &Task::new());
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("no numbers"), "{name}, {value}: {message}");
        }
        let q: WebGpuArray<Data> = upload(&mut device, &vec![-7.0; len]);
        operator.adjoint(&mut device, PART, &q, Accumulation::Deterministic, &mut image, &Task::new()).unwrap();
        assert!(read(&mut device, &image).iter().all(|v| *v <= 0.0));
    }
}

#[test]
fn a_stopped_task_or_a_lost_device_ends_a_projection() {
    if backends().is_empty() {
        return;
    }
    // A GPU of this test alone.
    let options = DeviceOptions { segment_bytes: 48 << 10, ..DeviceOptions::least() };
    let mut device = WebGpuBackend::open_with(0, |_| options).unwrap();
    let operator = small(&mut device);
    let x = device.zeros(ViewProjector::voxels(&operator).len()).unwrap();
    let mut data = device.zeros(ViewProjector::views(&operator).len(PART)).unwrap();
    let task = Task::new();
    task.stop();
    let outcome = operator.apply(&mut device, PART, &x, &mut data, &task);
    assert!(matches!(outcome, Err(OperatorError::Stopped(_))), "{outcome:?}");
    operator.apply(&mut device, PART, &x, &mut data, &Task::new()).unwrap();
    device.destroy_device();
    let outcome = operator.apply(&mut device, PART, &x, &mut data, &Task::new());
    let message = outcome.and_then(|()| Ok(device.finish()?)).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
}

/// Every call on a device, for one that is gone.
fn use_all(device: &mut WebGpuBackend) -> Vec<(&'static str, String)> {
    let mut failures = Vec::new();
    let mut note = |call, outcome: Result<(), String>| failures.extend(outcome.err().map(|message| (call, message)));
    note("zeros", device.zeros::<Data>(1000).map(drop).map_err(|error| error.to_string()));
    note("upload", device.upload::<Data>(vec![1.0; 1000].into()).map(drop).map_err(|error| error.to_string()));
    note("finish", device.finish().map_err(|error| error.to_string()));
    failures
}

#[test]
fn a_device_that_is_lost_is_an_error_and_the_next_one_works() {
    const ALONE: &str = "TOMOSCOPE_TEST_LOSES_THE_GPU";
    if backends().is_empty() {
        return;
    }
    // All users of a process share a device that was opened by number: only this test's own process loses it.
    if std::env::var_os(ALONE).is_none() {
        let name = "device_webgpu::a_device_that_is_lost_is_an_error_and_the_next_one_works";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        println!("{}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let mut device = WebGpuBackend::open(0).unwrap();
    let mut x: WebGpuArray<Image> = upload(&mut device, &noise(1, 100_000));
    let y = upload(&mut device, &noise(2, 100_000));
    let mut display = device.display([100, 100, 10], &|voxel| voxel).unwrap().unwrap();
    device.add_scaled(&mut x, 0, 2.0, &y, 0..100_000).unwrap();
    let pending = device.begin_copy(&x, 1.0, &mut display).unwrap();
    device.destroy_device();
    // A copy that was under way arrives or fails; it neither hangs nor panics.
    println!("a copy under way: {:?}", pending.fill(&mut vec![0.0; 100_000]).map_err(|error| error.to_string()));
    let _ = device.fill(&mut x, 1.0);
    let _ = device.multiply(&mut x, 0, &y, 0..100_000);
    let message = device.dot(&x, 0, &y, 0..100_000).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
    let message = device.read(&x, <[f32]>::to_vec).unwrap_err().to_string();
    assert!(message.contains("lost"), "{message}");
    for (call, message) in use_all(&mut device) {
        assert!(message.contains("lost"), "{call}: {message}");
    }
    assert!(device.finish().is_err());
    drop((x, y, display, device));

    let mut again = WebGpuBackend::open(0).unwrap();
    let x: WebGpuArray<Image> = upload(&mut again, &[2.0; 1000]);
    assert_eq!(again.dot(&x, 0, &x, 0..1000).unwrap(), 4000.0);
}
