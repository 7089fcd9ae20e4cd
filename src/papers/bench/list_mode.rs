//! Projection onto events and back: the code of michelograms, which takes one line after the other, compared with that of events,
//! on the same lines in one run.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;

use super::{BenchDevice, BenchGpu, timed};
use crate::algebra::{Backend, FieldOfView, Host, Voxels};
use crate::coded::Problem;
#[cfg(feature = "cuda")]
use crate::cuda::{self, CudaBackend};
use crate::data::{Events, TofMeasurement, Volume, tof_mm};
use crate::geometry::Grid;
use crate::operator::{Accumulation, DataSpace, EventLines, EventOrder, EventProjector, LinearOperator, OperatorError, Subset};
use crate::random::stream;
use crate::scanner::{Detectors, PairRays};
use crate::session::thread_pool;
use crate::statistics::median_and_spread;
use crate::task::Task;
use crate::webgpu::{self, WebGpuBackend};

/// Events that are drawn from a stream of random numbers.
const EVENTS_PER_STREAM: usize = 1 << 16;
/// The bins of d are this part of its full width at half maximum.
const BIN_PER_FWHM: f64 = 0.25;

#[derive(Clone, Debug)]
pub struct ListModeBench {
    pub detectors: Arc<Detectors>,
    pub grid: Grid,
    pub fov_radius_mm: f64,
    /// Events to draw: pairs that meet the field of view, all as likely.
    pub num_events: usize,
    /// Resolution of the time of flight, ps.
    pub tof_ps: f64,
    /// Numbers of threads to try on the CPU; none = no CPU.
    pub threads: Vec<usize>,
    pub gpus: Vec<BenchGpu>,
    pub accumulations: Vec<Accumulation>,
    /// Measure for about this long in all, seconds.
    pub budget_secs: f64,
}

impl ListModeBench {
    pub(super) fn tof(&self) -> TofMeasurement {
        TofMeasurement { fwhm_mm: tof_mm(self.tof_ps), window_mm: [-1e3, 1e3], edges_mm: Vec::new(), ..TofMeasurement::default() }
    }
}

/// Measurements of one order of the events.
#[derive(Clone, Debug, Serialize)]
pub struct ListModeRow {
    pub device: BenchDevice,
    /// `per-lor`: the code of michelograms; or `events`.
    pub code: &'static str,
    /// `as-written`, a random order, or `by-line`.
    pub order: &'static str,
    pub tof: bool,
    pub threads: usize,
    pub accumulation: Accumulation,
    /// Seconds to make the operator, which sorts the events; without the copy to a device.
    pub setup_s: f64,
    /// Seconds of a projection of all events: median.
    pub forward_s: f64,
    /// Half of the interquartile range.
    pub forward_spread_s: f64,
    /// Seconds of a backprojection: median.
    pub back_s: f64,
    /// Half of the interquartile range.
    pub back_spread_s: f64,
    /// Events per second, projection and backprojection together.
    pub events_per_s: f64,
    /// Speed relative to the code of michelograms, in the better of its orders without time of flight, on the same number of
    /// threads.
    pub ratio: Option<f64>,
}

/// Measures all rows; `report` is called with each as it is done.
///
/// # Errors
/// A missing device, an operator that fails.
pub fn bench_list_mode(bench: &ListModeBench, report: impl FnMut(&ListModeRow) + Send) -> Result<Vec<ListModeRow>, Problem> {
    let mut table = Table { bench, events: Arc::new(drawn(bench)), rows: Vec::new(), report };
    for &threads in &bench.threads {
        thread_pool(Some(threads))?.install(|| table.on_cpu(threads))?;
    }
    for gpu in &bench.gpus {
        match *gpu {
            BenchGpu::Cuda(number) => table.on_cuda(number)?,
            BenchGpu::WebGpu(number) => table.on_webgpu(number)?,
        }
    }
    Ok(table.rows)
}

/// Draws random events, each at a position on the part of its line in the field of view.
pub(super) fn drawn(bench: &ListModeBench) -> Events {
    let (detectors, num_crystals) = (&bench.detectors, bench.detectors.crystals().len() as f64);
    let fov = FieldOfView::new(&bench.grid, bench.fov_radius_mm);
    let [bottom, top] = bench.grid.extent_mm(2);
    let bin_mm = BIN_PER_FWHM * tof_mm(bench.tof_ps);
    let draw = |index: usize| {
        let mut random = stream(2015, index as u64);
        let mut uniform = || f64::from(random.next_u32()) / 4_294_967_296.0;
        let wanted = EVENTS_PER_STREAM.min(bench.num_events - index * EVENTS_PER_STREAM);
        let mut events = Events::default();
        let mut num_tried = 0;
        // (If hardly a pair meets the field of view, there are fewer.)
        while events.len() < wanted && num_tried < 1000 * EVENTS_PER_STREAM {
            num_tried += 1;
            let pair = [0, 1].map(|_| (uniform() * num_crystals) as u32);
            let line = detectors.line(pair);
            let [start, end] = [line.start, line.end].map(|point| [point[0], point[1]]);
            let Some((enter, leave)) = fov.clip(start, end) else { continue };
            let at = enter + uniform() * (leave - enter);
            let z = line.start[2] + at * (line.end[2] - line.start[2]);
            if !(bottom..top).contains(&z) {
                continue;
            }
            let bin = ((at - 0.5) * line.length_mm() / bin_mm).floor();
            events.pairs.push(pair);
            events.tof_mm.push([bin * bin_mm, (bin + 1.0) * bin_mm].map(|d| d as f32));
        }
        events
    };
    let streams: Vec<Events> = (0..bench.num_events.div_ceil(EVENTS_PER_STREAM)).into_par_iter().map(draw).collect();
    let mut all = Events::default();
    streams.iter().for_each(|events| all.extend(events));
    all
}

/// Measured code with its order of the events.
#[derive(Clone, Copy)]
struct Subject {
    device: BenchDevice,
    code: &'static str,
    order: EventOrder,
    tof: bool,
    threads: usize,
    setup_s: f64,
}

/// All orders of the events, without and with time of flight.
const WAYS: [(EventOrder, bool); 4] =
    [(EventOrder::AsWritten, false), (EventOrder::ByLine, false), (EventOrder::AsWritten, true), (EventOrder::ByLine, true)];

struct Table<'a, F> {
    bench: &'a ListModeBench,
    events: Arc<Events>,
    rows: Vec<ListModeRow>,
    report: F,
}

impl<F: FnMut(&ListModeRow) + Send> Table<'_, F> {
    fn on_cpu(&mut self, threads: usize) -> Result<(), Problem> {
        let bench = self.bench;
        let tof_facts = bench.tof();
        let events = Arc::clone(&self.events);
        let new = |order: EventOrder, tof: bool| {
            let tof = tof.then_some(&tof_facts);
            let start = Instant::now();
            let operator = EventLines::new(
                Arc::clone(&events),
                &bench.detectors,
                tof,
                bench.grid.clone(),
                bench.fov_radius_mm,
                PairRays::ONE,
                order,
            )?;
            operator.space().order(1);
            Ok::<_, OperatorError>((operator, start.elapsed().as_secs_f64()))
        };
        let plain = [(EventOrder::AsWritten, false), (EventOrder::ByLine, false)].map(|way| (way, "per-lor"));
        for ((order, tof), code) in plain.into_iter().chain(WAYS.map(|way| (way, "events"))) {
            let (operator, setup_s) = new(order, tof)?;
            let operator = if code == "per-lor" { operator.plain() } else { operator };
            let what = Subject { device: BenchDevice::Cpu, code, order, tof, threads, setup_s };
            self.measure(&mut Host, &operator, operator.voxels(), operator.space(), what)?;
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn on_cuda(&mut self, number: usize) -> Result<(), Problem> {
        let bench = self.bench;
        let mut device = CudaBackend::open(number).map_err(Problem::from)?;
        let tof_facts = bench.tof();
        for (order, tof) in WAYS {
            let facts = tof.then_some(&tof_facts);
            let (events, start) = (Arc::clone(&self.events), Instant::now());
            let operator = cuda::EventLines::new(
                &mut device,
                events,
                &bench.detectors,
                facts,
                bench.grid.clone(),
                bench.fov_radius_mm,
                PairRays::ONE,
                order,
            )?;
            operator.space().order(1);
            let setup_s = start.elapsed().as_secs_f64();
            let what = Subject { device: BenchDevice::Cuda, code: "events", order, tof, threads: 0, setup_s };
            self.measure(&mut device, &operator, operator.voxels(), operator.space(), what)?;
        }
        Ok(())
    }

    #[cfg(not(feature = "cuda"))]
    fn on_cuda(&mut self, _: usize) -> Result<(), Problem> {
        Err(super::without_cuda())
    }

    fn on_webgpu(&mut self, number: usize) -> Result<(), Problem> {
        let bench = self.bench;
        let mut device = WebGpuBackend::open(number).map_err(Problem::from)?;
        let tof_facts = bench.tof();
        for (order, tof) in WAYS {
            let facts = tof.then_some(&tof_facts);
            let (events, start) = (Arc::clone(&self.events), Instant::now());
            let (grid, radius_mm) = (bench.grid.clone(), bench.fov_radius_mm);
            let backend = &mut device;
            let operator =
                webgpu::EventLines::new(backend, events, &bench.detectors, facts, grid, radius_mm, PairRays::ONE, order)?;
            operator.space().order(1);
            let setup_s = start.elapsed().as_secs_f64();
            let what = Subject { device: BenchDevice::Gpu, code: "events", order, tof, threads: 0, setup_s };
            self.measure(&mut device, &operator, operator.voxels(), operator.space(), what)?;
        }
        Ok(())
    }

    fn measure<B: Backend>(
        &mut self,
        backend: &mut B,
        operator: &impl LinearOperator<B>,
        voxels: &Voxels,
        space: &impl DataSpace,
        what: Subject,
    ) -> Result<(), OperatorError> {
        let bench = self.bench;
        let num_rows = bench.threads.len() * (2 + WAYS.len()) + bench.gpus.len() * WAYS.len();
        let row_secs = bench.budget_secs / (num_rows * (1 + bench.accumulations.len())).max(1) as f64;
        let (task, subset) = (Task::new(), Subset::ALL);
        let ones = voxels.coefficients(&Volume::filled(bench.grid.clone(), 1.0));
        let x = backend.upload(Arc::new(ones))?;
        let mut data = backend.zeros(space.len(subset))?;
        let mut image = backend.zeros(voxels.len())?;
        let secs = timed(backend, row_secs, |backend| operator.apply(backend, subset, &x, &mut data, &task))?;
        let (forward_s, forward_spread_s) = median_and_spread(secs).unwrap_or_default();
        for &accumulation in &bench.accumulations {
            let adjoint = |backend: &mut B| operator.adjoint(backend, subset, &data, accumulation, &mut image, &task);
            let (back_s, back_spread_s) = median_and_spread(timed(backend, row_secs, adjoint)?).unwrap_or_default();
            let Subject { device, code, order, tof, threads, setup_s } = what;
            let mut row = ListModeRow {
                device,
                code,
                order: if order == EventOrder::ByLine { "by-line" } else { "as-written" },
                tof,
                threads,
                accumulation,
                setup_s,
                forward_s,
                forward_spread_s,
                back_s,
                back_spread_s,
                events_per_s: self.events.len() as f64 / (forward_s + back_s),
                ratio: None,
            };
            let baselines = self.rows.iter().filter(|other| {
                other.code == "per-lor" && (other.threads, other.accumulation, other.device) == (threads, accumulation, device)
            });
            row.ratio = baselines.map(|other| other.events_per_s).reduce(f64::max).map(|baseline| row.events_per_s / baseline);
            (self.report)(&row);
            self.rows.push(row);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn every_code_is_measured_on_the_same_events() {
        let geometry = &find("small").unwrap().geometry;
        let bench = ListModeBench {
            detectors: Arc::new(Detectors::of_cylinder(geometry).unwrap()),
            grid: geometry.default_grid().unwrap(),
            fov_radius_mm: geometry.fov_radius_mm,
            num_events: 70_000,
            tof_ps: 200.0,
            threads: vec![2],
            gpus: Vec::new(),
            accumulations: vec![Accumulation::Deterministic],
            budget_secs: 0.0,
        };
        let events = drawn(&bench);
        assert_eq!((events.len(), events.tof_mm.len()), (70_000, 70_000));
        let mut num_reported = 0;
        let rows = bench_list_mode(&bench, |_| num_reported += 1).unwrap();
        assert_eq!((rows.len(), num_reported), (6, 6));
        assert!(rows.iter().all(|row| row.events_per_s > 0.0));
        assert!(rows[0].ratio.is_none() && rows[2..].iter().all(|row| row.ratio.is_some()));
    }
}
