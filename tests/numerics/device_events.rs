//! Projection onto events on every GPU against the definition on the host.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Host, HostArray, Image};
#[cfg(feature = "cuda")]
use tomoscope::cuda::{self, CudaBackend};
use tomoscope::data::{Events, ListMetadata, TofMeasurement, Volume};
use tomoscope::geometry::{Grid, Point};
use tomoscope::operator::{
    Accumulation, DataSpace, EventLines, EventOrder, EventProjector, LinearOperator, Misfit, OperatorError, OperatorLimit, Subset,
};
use tomoscope::plan::{DeviceChoice, SensitivitySettings, list_sensitivity};
use tomoscope::scanner::{Crystal, Detectors, PairRays};
use tomoscope::task::Task;
use tomoscope::webgpu::{self, DeviceOptions, WebGpuBackend};

use super::device::{Each, Gpu, assert_same_bits, backprojected, on_each_gpu, projected};
use super::events::{Tof, crowded_events, detectors, pair_rays, random_events, tof};
use super::support::{dot, noise, random_volume, relative};

on_each_gpu! {
    events_are_those_of_the_host,
    beams_of_events_are_those_of_the_host,
    an_event_of_huge_weight_leaves_those_of_its_beam_their_digits,
    the_sensitivity_of_pairs_one_after_the_other_is_that_of_the_host;
    webgpu: each_of_the_nasty_lines_is_that_of_the_host, what_cannot_be_projected_is_refused
}

pub const FOV_MM: f64 = 69.0;

/// A GPU that projects onto events.
pub trait EventGpu: Gpu {
    type Lines: EventProjector<Self>;

    fn try_lines(&mut self, case: &Case) -> Result<Self::Lines, OperatorError>;

    fn lines(&mut self, case: &Case) -> Self::Lines {
        self.try_lines(case).unwrap()
    }

    /// The devices of all tests, and what else is to be tested.
    fn with_more() -> Vec<(&'static str, Self)> {
        Self::all()
    }
}

impl EventGpu for WebGpuBackend {
    type Lines = webgpu::EventLines;

    fn try_lines(&mut self, case: &Case) -> Result<webgpu::EventLines, OperatorError> {
        let Case { events, detectors, tof, grid, fov_radius_mm, rays, order } = case;
        let (events, grid) = (Arc::clone(events), grid.clone());
        webgpu::EventLines::new(self, events, detectors, tof.as_ref(), grid, *fov_radius_mm, *rays, *order)
    }

    /// Also one whose buffers hold only some of the events and some of the image.
    fn with_more() -> Vec<(&'static str, Self)> {
        let mut devices = Self::all();
        if let Some(number) = devices.first().map(|(_, backend)| backend.info().number) {
            let options = |_: &_| DeviceOptions { segment_bytes: 4 << 10, ..DeviceOptions::least() };
            devices.push(("shortest buffers", WebGpuBackend::open_with(number, options).unwrap()));
        }
        devices
    }
}

#[cfg(feature = "cuda")]
impl EventGpu for CudaBackend {
    type Lines = cuda::EventLines;

    fn try_lines(&mut self, case: &Case) -> Result<cuda::EventLines, OperatorError> {
        let Case { events, detectors, tof, grid, fov_radius_mm, rays, order } = case;
        let (events, grid) = (Arc::clone(events), grid.clone());
        cuda::EventLines::new(self, events, detectors, tof.as_ref(), grid, *fov_radius_mm, *rays, *order)
    }
}

/// Events, of what scanner, and the image that they cross.
pub struct Case {
    pub events: Arc<Events>,
    pub detectors: Detectors,
    pub tof: Option<TofMeasurement>,
    pub grid: Grid,
    pub fov_radius_mm: f64,
    pub rays: PairRays,
    pub order: EventOrder,
}

impl Case {
    pub fn of(grid: &Grid, num_rays: usize, events: &Arc<Events>, order: EventOrder) -> Self {
        Self {
            events: Arc::clone(events),
            detectors: detectors(),
            tof: Some(tof(30.0)),
            grid: grid.clone(),
            fov_radius_mm: FOV_MM,
            rays: pair_rays(num_rays),
            order,
        }
    }

    /// The definition.
    pub fn on_host(&self) -> EventLines {
        let Self { events, detectors, tof, grid, fov_radius_mm, rays, order } = self;
        let lines =
            EventLines::new(Arc::clone(events), detectors, tof.as_ref(), grid.clone(), *fov_radius_mm, *rays, *order).unwrap();
        lines.plain()
    }
}

/// Aᵀ q as a volume.
pub fn backprojected_volume<B: EventGpu>(
    device: &mut B,
    operator: &B::Lines,
    subset: Subset,
    q: &[f32],
    accumulation: Accumulation,
) -> Volume {
    let image = backprojected(device, operator, subset, q, accumulation, operator.voxels().len());
    let mut volume = Volume::filled(operator.voxels().grid().clone(), 0.0);
    operator.voxels().write(&image, 1.0, &mut volume);
    volume
}

/// A x in the order of the events' values, and Aᵀ q as coefficients, on the host.
pub fn on_host(operator: &EventLines, subset: Subset, volume: &Volume, q: &[f32]) -> [Vec<f32>; 2] {
    let x: HostArray<Image> = operator.voxels().coefficients(volume).into();
    let mut there: HostArray<Data> = Host.zeros(q.len()).unwrap();
    operator.apply(&mut Host, subset, &x, &mut there, &Task::new()).unwrap();
    let mut back: HostArray<Image> = Host.zeros(operator.voxels().len()).unwrap();
    let q = q.to_vec().into();
    operator.adjoint(&mut Host, subset, &q, Accumulation::Deterministic, &mut back, &Task::new()).unwrap();
    [there.into_values(), back.into_values()]
}

/// Compares both directions with the definition, and with each other; deterministic sums have the same bits everywhere.
fn compare<B: EventGpu>(devices: &mut [(&str, B)], case: &Case, part: Subset, name: &str) {
    let host = (!devices.is_empty()).then(|| case.on_host());
    let Some(host) = host else { return };
    let volume = random_volume(&case.grid);
    let mut seen = Volume::filled(case.grid.clone(), 0.0);
    host.voxels().write(&host.voxels().coefficients(&volume), 1.0, &mut seen);
    for subset in [Subset::ALL, part] {
        let q = noise(8, host.space().len(subset));
        let [expected, spread] = on_host(&host, subset, &volume, &q);
        let mut bits: Option<Vec<f32>> = None;
        for (on, device) in &mut *devices {
            let operator = device.lines(case);
            let x = operator.voxels().coefficients(&volume);
            let there = projected(device, &operator, subset, &x, operator.space().len(subset));
            let forward = relative(&there, &expected);
            let lossless: &[_] = &[Accumulation::Atomic, Accumulation::Deterministic];
            for &accumulation in (Each { webgpu: operator.accumulations(), cuda: lossless }).of::<B>() {
                let mut back = || backprojected_volume(device, &operator, subset, &q, accumulation);
                let found = back();
                if accumulation == Accumulation::NonAtomic {
                    assert!(found.as_slice().iter().all(|value| value.is_finite()));
                    continue;
                }
                let error = relative(found.as_slice(), &spread);
                let mismatch = (dot(&there, &q) / dot(seen.as_slice(), found.as_slice()) - 1.0).abs();
                println!(
                    "{name}, {:?}, {on}, {accumulation}: forward {forward:.1e}, back {error:.1e}, adjoint {mismatch:.1e}",
                    case.order
                );
                assert!(forward <= 1e-5 && error <= 1e-5 && mismatch <= 1e-5);
                if accumulation == Accumulation::Deterministic {
                    assert_same_bits(back().as_slice(), found.as_slice());
                    assert_same_bits(found.as_slice(), bits.get_or_insert_with(|| found.as_slice().to_vec()));
                }
            }
        }
    }
}

const ORDERS: [EventOrder; 2] = [EventOrder::ByLine, EventOrder::AsWritten];

/// Odd numbers of voxels, and even ones, where lines lie in faces: of a size that a software GPU can bear.
fn small_grids() -> [Grid; 2] {
    [Grid::centred([19, 19, 15], [7.3, 7.3, 2.5]).unwrap(), Grid::centred([20, 16, 8], [7.0, 8.5, 5.0]).unwrap()]
}

/// The same of the usual size.
pub fn large_grids() -> [Grid; 2] {
    [Grid::centred([47, 47, 15], [3.0, 3.0, 2.5]).unwrap(), Grid::centred([48, 40, 16], [3.0, 3.5, 2.5]).unwrap()]
}

fn grids<B: Gpu>() -> [Grid; 2] {
    Each { webgpu: small_grids(), cuda: large_grids() }.of::<B>()
}

fn events_are_those_of_the_host<B: EventGpu>() {
    let mut devices = B::with_more();
    let [odd, even] = &grids::<B>();
    let cases = Each { webgpu: vec![(odd, 1), (even, 4)], cuda: vec![(odd, 1), (even, 5), (even, 1)] }.of::<B>();
    for (grid, num_rays) in cases {
        for known in [Tof::No, Tof::Numbers, Tof::Bins] {
            let events = Arc::new(random_events(Each { webgpu: 2000, cuda: 20_000 }.of::<B>(), known));
            for order in ORDERS {
                let name = format!("{:?}, {num_rays} rays, {known:?}", grid.size);
                compare(&mut devices, &Case::of(grid, num_rays, &events, order), Subset { index: 2, count: 7 }, &name);
            }
        }
    }
}

fn beams_of_events_are_those_of_the_host<B: EventGpu>() {
    let mut devices = B::with_more();
    let events = Arc::new(crowded_events(Each { webgpu: 4000, cuda: 40_000 }.of::<B>()));
    let [odd, even] = &grids::<B>();
    // Along faces of voxels in all directions, and rows of voxels that events rise through faster than they cross columns.
    let (size, voxel_mm) = Each { webgpu: ([9, 8, 70], [15.0, 17.0, 0.6]), cuda: ([21, 20, 160], [7.0, 7.0, 0.25]) }.of::<B>();
    let flat = &Grid::centred(size, voxel_mm).unwrap();
    let all = vec![(odd, 1), (odd, 5), (even, 1), (even, 5), (flat, 1), (flat, 5)];
    for (grid, num_rays) in (Each { webgpu: vec![(odd, 4), (even, 1), (flat, 1)], cuda: all }).of::<B>() {
        let name = format!("beams, {:?}, {num_rays} rays", grid.size);
        let part = Each { webgpu: Subset { index: 1, count: 2 }, cuda: Subset { index: 2, count: 7 } }.of::<B>();
        compare(&mut devices, &Case::of(grid, num_rays, &events, EventOrder::ByLine), part, &name);
    }
}

fn an_event_of_huge_weight_leaves_those_of_its_beam_their_digits<B: EventGpu>() {
    let events = Arc::new(crowded_events(Each { webgpu: 4000, cuda: 40_000 }.of::<B>()));
    let case = Case { tof: None, ..Case::of(&grids::<B>()[0], 1, &events, EventOrder::default()) };
    // Some outweigh all others: compared is where none of these passes.
    let huge: Vec<f32> = (0..events.len()).map(|i| if i % 997 == 0 { 1e7 } else { 0.0 }).collect();
    let q: Vec<f32> = noise(8, huge.len()).iter().zip(&huge).map(|(q, huge)| q + huge).collect();
    let host = case.on_host();
    let [expected, outliers] = [&q, &huge].map(|q| on_host(&host, Subset::ALL, &random_volume(&case.grid), q)[1].clone());
    let free: Vec<usize> = (0..expected.len()).filter(|voxel| outliers[*voxel] == 0.0 && expected[*voxel] > 0.0).collect();
    assert!(free.len() > 100);
    let most = Each {
        webgpu: vec![(Accumulation::Deterministic, 1e-5)],
        cuda: vec![(Accumulation::Atomic, 1e-3), (Accumulation::Deterministic, 1e-3)],
    };
    let most = most.of::<B>();
    for (on, mut device) in B::with_more() {
        let operator = device.lines(&case);
        for (accumulation, most) in &most {
            let found = backprojected_volume(&mut device, &operator, Subset::ALL, &q, *accumulation);
            let of = |image: &[f32]| free.iter().map(|voxel| image[*voxel]).collect::<Vec<f32>>();
            let error = relative(&of(found.as_slice()), &of(&expected));
            println!("{on}, {accumulation}: {} voxels without outliers, {error:.1e}", free.len());
            assert!(error <= *most, "{accumulation}: {error}");
        }
    }
}

fn the_sensitivity_of_pairs_one_after_the_other_is_that_of_the_host<B: EventGpu>() {
    let Some(gpu) = B::all().first().map(|(_, device)| device.choice()) else { return };
    // Several rays side by side, or a window that ends in the image: all planes at once would not do.
    let near = TofMeasurement { fwhm_mm: 20.0, window_mm: [-20.0, 20.0], ..TofMeasurement::default() };
    let [odd, even] = &grids::<B>();
    let (grid, num_rays) = Each { webgpu: (even, 2), cuda: (odd, 3) }.of::<B>();
    for (tof, rays) in [(None, pair_rays(num_rays)), (Some(near), PairRays::ONE)] {
        let facts = ListMetadata { tof, ..ListMetadata::new("test", Arc::new(detectors())) };
        let [host, device] = [DeviceChoice::Cpu, gpu].map(|device| {
            let settings = SensitivitySettings { grid: grid.clone(), fov_radius_mm: 60.0, rays, device };
            list_sensitivity(&facts, &settings, &Task::new()).unwrap()
        });
        assert!(!host.is_of_planes && !device.is_of_planes && host.num_pairs == device.num_pairs);
        let error = relative(device.volume.as_slice(), host.volume.as_slice());
        println!("sensitivity of {} pairs: {error:.1e}", host.num_pairs);
        assert!(host.volume.sum() > 0.0 && error <= 1e-6);
    }
}

fn what_cannot_be_projected_is_refused<B: EventGpu>() {
    let Some((_, mut device)) = B::all().into_iter().next() else { return };
    let mut new = |tof: TofMeasurement, voxel_mm: f64| {
        let (events, grid) = (random_events(100, Tof::Numbers).into(), Grid::centred([8, 8, 8], [voxel_mm; 3]).unwrap());
        device.try_lines(&Case { tof: Some(tof), ..Case::of(&grid, 1, &events, EventOrder::AsWritten) }).err()
    };
    assert!(new(tof(30.0), 5.0).is_none());
    assert_eq!(new(tof(30.0), 1e-5), Some(Misfit::FarImage.into()));
    assert_eq!(new(tof(-1.0), 5.0), Some(OperatorLimit::TofResolution(-1.0).into()));
}

/// Lines that rounding could send astray, mm: in voxels of 2 × 2.5 × 3 mm, of which an even number, an even and an odd number lie
/// about the origin.
fn nasty_lines() -> Vec<(&'static str, Point, Point)> {
    // Parts of a voxel along y, from and to.
    let beside = |from: f64, to: f64| ([-200.0, 2.5 * from, 0.4], [200.0, 2.5 * to, 0.4]);
    let line = |name, (start, end)| (name, start, end);
    vec![
        ("in a row along x", [-200.0, 1.0, 0.5], [200.0, 1.0, 0.5]),
        ("in a row along y, backwards", [3.3, 170.0, 0.5], [3.3, -190.0, 0.5]),
        ("in a face", [-200.0, 0.0, 0.5], [200.0, 0.0, 0.5]),
        ("in an edge", [-200.0, 5.0, 4.5], [200.0, 5.0, 4.5]),
        ("in the lower face of the image", [-200.0, -22.5, 0.5], [200.0, -22.5, 0.5]),
        ("in the upper face of the image", [200.0, 1.0, 13.5], [-200.0, 1.0, 13.5]),
        ("in a vertical face, rising", [0.0, -150.0, -20.0], [0.0, 150.0, 31.0]),
        line("almost in a face", beside(0.9e-6, 0.9e-6)),
        line("just beside a face", beside(1.1e-6, 1.1e-6)),
        line("just below another", beside(1.0 - 1.1e-6, 1.0 - 1.1e-6)),
        line("through a face by less than the tolerance", beside(-0.49e-6, 0.49e-6)),
        line("through a face by more", beside(-0.51e-6, 0.51e-6)),
        line("through it off the middle", beside(-0.495e-6, 0.605e-6)),
        line("by ten times more", beside(-5.2e-6, 5e-6)),
        line("by a ten-thousandth", beside(3.0 - 4.9e-5, 3.0 + 5.1e-5)),
        line("by a thousandth, backwards", beside(3.0 + 4.9e-4, 3.0 - 5.1e-4)),
        line("by a hundredth", beside(-4.0 - 5.0e-3, -4.0 + 5.1e-3)),
        ("along an axis of the scanner", [3.0, 2.0, -50.0], [3.0, 2.0, 60.0]),
        ("steep", [2.9, 1.0, -100.0], [3.1, 1.3, 110.0]),
        ("through corners of columns", [-200.0, -250.0, 0.2], [200.0, 250.0, 0.2]),
        ("through corners of voxels", [-160.0, -200.0, -238.5], [160.0, 200.0, 241.5]),
        ("through corners, backwards", [160.0, -200.0, 241.5], [-160.0, 200.0, -238.5]),
        ("through corners in the plane of a face", [-200.0, 250.0, 4.5], [200.0, -250.0, 4.5]),
        ("beside the circle", [-200.0, 19.0, 1.0], [200.0, 22.0, 1.0]),
        ("at the circle", [-200.0, 20.599, 1.0], [200.0, 20.599, 1.0]),
        ("outside of it", [-200.0, 20.7, 1.0], [200.0, 20.7, 1.0]),
        ("at a corner of the image", [-200.0, 202.49, 1.0], [210.0, -167.49, 1.0]),
        ("beside the image", [-200.0, 80.0, 1.0], [200.0, 30.0, 1.0]),
        ("from the image to the outside", [-5.3, 2.2, 1.0], [170.0, -30.0, -20.0]),
        ("in the image", [-5.3, 2.2, 1.0], [7.7, -3.0, -2.0]),
        ("in the image from face to face", [-4.0, 2.5, 1.5], [8.0, 2.5, -1.5]),
        ("in one voxel", [1.1, 1.0, 0.1], [1.2, 1.7, 0.3]),
        ("from afar", [-1500.0, 333.0, -80.0], [480.0, -120.0, 60.0]),
        ("a point", [3.0, 1.0, 1.0], [3.0, 1.0, 1.0]),
    ]
}

fn each_of_the_nasty_lines_is_that_of_the_host<B: EventGpu>() {
    let lines = nasty_lines();
    let crystal =
        |centre_mm: Point| Crystal { centre_mm, axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], size_mm: [0.0; 3] };
    let crystals = lines.iter().flat_map(|(_, start, end)| [crystal(*start), crystal(*end)]).collect();
    let events = Events { pairs: (0..lines.len() as u32).map(|line| [2 * line, 2 * line + 1]).collect(), ..Events::default() };
    let grid = Grid::centred([20, 18, 9], [2.0, 2.5, 3.0]).unwrap();
    let mut case = Case {
        detectors: Detectors::new("lines", crystals).unwrap(),
        tof: None,
        ..Case::of(&grid, 1, &Arc::new(events), EventOrder::AsWritten)
    };
    for fov_radius_mm in [19.0, 1000.0] {
        case.fov_radius_mm = fov_radius_mm;
        let host = case.on_host();
        for (on, mut device) in B::with_more() {
            let operator = device.lines(&case);
            let (mut worst, mut num_seen) = ((0.0, ""), 0);
            for (number, (name, start, end)) in lines.iter().enumerate() {
                let length_mm = (0..3).map(|a| (end[a] - start[a]).powi(2)).sum::<f64>().sqrt();
                let mut q = vec![0.0; lines.len()];
                q[number] = 1.0;
                let [_, expected] = on_host(&host, Subset::ALL, &random_volume(&grid), &q);
                let found = backprojected_volume(&mut device, &operator, Subset::ALL, &q, Accumulation::Deterministic);
                num_seen += usize::from(expected.iter().any(|length| *length > 0.0));
                for (voxel, (found, expected)) in found.as_slice().iter().zip(&expected).enumerate() {
                    let error = f64::from((found - expected).abs());
                    assert!(error <= 1e-5 * length_mm, "{on}, {name}: {found} mm in voxel {voxel}, not {expected} mm");
                    worst = if error / length_mm.max(1e-9) > worst.0 { (error / length_mm, *name) } else { worst };
                }
            }
            println!("{on}: {num_seen} lines, at worst {:.1e} of a line's length ({})", worst.0, worst.1);
            assert!(num_seen >= 25);
        }
    }
}
