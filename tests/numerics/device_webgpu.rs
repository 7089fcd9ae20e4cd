//! GPUs through wgpu: the definition on the host is the truth, on a whole GPU and on one that has the least that WebGPU
//! guarantees, whose arrays lie in many short buffers.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tomoscope::algebra::{Backend, Data, Image, Kind};
use tomoscope::data::Volume;
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, LinearOperator, Measured, OperatorError, Siddon, Subset, ViewProjector, Views};
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;
use tomoscope::webgpu::{self, DeviceOptions, WebGpuArray, WebGpuBackend};

use super::support::{backward, dot, forward, geometry, noise, random_volume, relative, tiny, tiny_span_3};

/// Waits until no other test uses a GPU through wgpu, and keeps the others waiting to the end of this test's thread. A software GPU
/// takes all cores, and two at a time take ten times as long.
pub fn wait_for_gpu() {
    static GPU: Mutex<()> = Mutex::new(());
    thread_local! {
        static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }
    HELD.with_borrow_mut(|held| _ = held.get_or_insert_with(|| GPU.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// Whole GPU, one with the least that WebGPU guarantees, and the same with short buffers; none, said, where there is none.
pub fn backends() -> Vec<(&'static str, WebGpuBackend)> {
    wait_for_gpu();
    let usable = webgpu::devices().into_iter().find(|info| info.why_not().is_none());
    let Some(info) = usable else {
        assert!(std::env::var_os("TOMOSCOPE_REQUIRE_WEBGPU").is_none(), "there is no GPU through wgpu");
        println!("skipped: no GPU through wgpu ({} allows software)", webgpu::ALLOW_SOFTWARE);
        return Vec::new();
    };
    let open = |options: fn(&wgpu::Adapter) -> DeviceOptions| WebGpuBackend::open_with(info.number, options).unwrap();
    vec![
        ("whole", WebGpuBackend::open(info.number).unwrap()),
        ("least", open(|_| DeviceOptions::least())),
        ("short buffers", open(|_| DeviceOptions { segment_bytes: 64 << 10, ..DeviceOptions::least() })),
    ]
}

pub fn upload<K: Kind>(backend: &mut WebGpuBackend, values: &[f32]) -> WebGpuArray<K> {
    backend.upload(Arc::new(values.to_vec())).unwrap()
}

pub fn read<K: Kind>(backend: &mut WebGpuBackend, array: &WebGpuArray<K>) -> Vec<f32> {
    backend.read(array, <[f32]>::to_vec).unwrap()
}

/// A x for a volume.
fn projected(
    backend: &mut WebGpuBackend,
    operator: &impl ViewProjector<WebGpuBackend>,
    subset: Subset,
    volume: &Volume,
) -> Vec<f32> {
    let x = upload(backend, &operator.voxels().coefficients(volume));
    let mut out = backend.zeros(operator.views().len(subset)).unwrap();
    operator.apply(backend, subset, &x, &mut out, &Task::new()).unwrap();
    read(backend, &out)
}

/// Aᵀ q as a volume.
fn backprojected(
    backend: &mut WebGpuBackend,
    operator: &impl ViewProjector<WebGpuBackend>,
    subset: Subset,
    q: &[f32],
    accumulation: Accumulation,
) -> Volume {
    let q = upload(backend, q);
    let mut image = backend.zeros(operator.voxels().len()).unwrap();
    operator.adjoint(backend, subset, &q, accumulation, &mut image, &Task::new()).unwrap();
    let mut volume = Volume::filled(operator.voxels().grid().clone(), 0.0);
    operator.voxels().write(&read(backend, &image), 1.0, &mut volume);
    volume
}

/// Compares both directions with the plain projector on the host.
fn compare(geometry: &Arc<ScanGeometry>, grid: &Grid, fov_radius_mm: f64, rays: [usize; 2], subset: Subset) {
    let plain = Siddon::new(geometry.clone(), grid.clone(), fov_radius_mm, rays);
    let volume = random_volume(grid);
    let expected = forward(&plain, subset, &volume);
    let q = noise(11, expected.len());
    let spread = backward(&plain, subset, q.clone(), Accumulation::Deterministic, grid);
    let mut bits: Option<Vec<f32>> = None;
    for (name, mut backend) in backends() {
        let fast = webgpu::AxialRuns::new(&mut backend, geometry.clone(), grid.clone(), fov_radius_mm, rays).unwrap();
        let there = projected(&mut backend, &fast, subset, &volume);
        for &accumulation in fast.accumulations() {
            let back = backprojected(&mut backend, &fast, subset, &q, accumulation);
            if accumulation == Accumulation::NonAtomic {
                assert!(back.as_slice().iter().all(|value| value.is_finite()));
                continue;
            }
            let difference = [relative(&there, &expected), relative(back.as_slice(), spread.as_slice())];
            let mismatch = (dot(&there, &q) / dot(volume.as_slice(), back.as_slice()) - 1.0).abs();
            println!(
                "{} {:?} {name} {accumulation}: {:.1e} and {:.1e}, adjoint {mismatch:.1e}",
                geometry.scanner, grid.size, difference[0], difference[1]
            );
            assert!(difference.iter().all(|part| *part <= 1e-5) && mismatch <= 1e-5);
            if accumulation == Accumulation::Deterministic {
                // Integers add up to the same sum by one instruction and by two. (Where the bins of a LOR lie in two buffers, what it
                // adds is rounded twice.)
                let again = backprojected(&mut backend, &fast, subset, &q, accumulation);
                assert_eq!(back.as_slice(), again.as_slice());
                let first = bits.get_or_insert_with(|| back.as_slice().to_vec());
                if name == "short buffers" {
                    assert!(relative(back.as_slice(), first) < 1e-6);
                } else {
                    assert_eq!(first, back.as_slice());
                }
            }
        }
    }
}

#[test]
fn the_projector_is_the_plain_one_on_the_host() {
    let small = geometry("small");
    compare(&small, &Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap(), 69.0, [1, 1], Subset { index: 1, count: 12 });
    compare(&small, &Grid::centred([48, 48, 16], [3.0, 3.0, 2.5]).unwrap(), 72.0, [1, 2], Subset { index: 0, count: 12 });
    // Longer than the scanner, finer than its planes, off the axis, a single plane.
    compare(&small, &Grid::centred([20, 20, 31], [7.0, 7.0, 1.25]).unwrap(), 69.0, [2, 1], Subset { index: 3, count: 24 });
    compare(
        &small,
        &Grid::new([47, 47, 9], [3.0, 3.0, 2.5], [-60.0, -75.0, -3.1]).unwrap(),
        69.0,
        [1, 1],
        Subset { index: 0, count: 24 },
    );
    compare(&tiny_span_3(), &Grid::centred([16, 16, 29], [5.0, 5.0, 1.5]).unwrap(), 37.5, [1, 2], Subset { index: 0, count: 2 });
    compare(&tiny(1), &Grid::centred([15, 15, 1], [5.0, 5.0, 6.0]).unwrap(), 37.5, [1, 1], Subset::ALL);
    // More places than threads of a group.
    compare(&tiny(4), &Grid::centred([9, 9, 150], [8.0, 8.0, 1.5]).unwrap(), 37.5, [1, 1], Subset { index: 1, count: 4 });
}

#[test]
#[ignore = "takes minutes on a software renderer"]
fn the_largest_scan_agrees_with_the_host() {
    let grid = Grid::centred([64, 64, 47], [10.9375, 10.9375, 3.27]).unwrap();
    compare(&geometry("discovery-ste"), &grid, 350.0, [1, 1], Subset { index: 0, count: 140 });
}

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
        let x = upload::<Image>(&mut backend, &fast.voxels().coefficients(&volume));
        let len = ViewProjector::<WebGpuBackend>::views(&fast).len(subset);
        let counts = upload::<Data>(&mut backend, &vec![1.0; len]);
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
            let few = upload::<Data>(&mut backend, &few);
            let measured = Measured { values: &few, pieces: &[(0, 0..len)] };
            fast.expect(&mut backend, subset, &x, &measured, &mut out, &Task::new()).unwrap();
            let found = read(&mut backend, &out);
            let is_right = |bin: &usize| (found[*bin] / plain[*bin] - 1.0).abs() < 1e-3;
            assert!(coldest[..num].iter().all(is_right), "{name}: {num} bins");
            assert!((0..len).filter(|bin| plain[*bin] > 1e3).all(|bin| is_right(&bin)), "{name}: bins beside {num}");
        }
    }
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
    let mut bins = projected(&mut backend, &fast, Subset::ALL, &volume);
    bins.extend(projected(&mut backend, &plain, Subset::ALL, &volume));
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
