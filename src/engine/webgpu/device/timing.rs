//! Durations of kernels by the clock of the GPU.

use bytemuck::pod_collect_to_vec;

use super::opened::Gpu;
use crate::webgpu::error::WebGpuError;

const DOING: &str = "measure how long kernels take";

/// Kernels that are timed between two calls at most: a query set has room for the begin and the end of as many.
const MAX_TIMED: u32 = wgpu::QUERY_SET_MAX_QUERIES / 2;

/// Begin and end of each kernel since the last reading.
pub struct KernelTimer {
    times: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    on_host: wgpu::Buffer,
    num: u32,
    /// Kernels for which there was no room.
    num_missed: u32,
}

impl KernelTimer {
    /// Makes a timer; `None` if the GPU has no clock.
    pub fn new(gpu: &Gpu) -> Result<Option<Self>, WebGpuError> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let bytes = u64::from(2 * MAX_TIMED * wgpu::QUERY_SIZE);
        let times = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some(DOING),
            ty: wgpu::QueryType::Timestamp,
            count: 2 * MAX_TIMED,
        });
        let resolved = gpu.buffer(bytes, wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC, DOING)?;
        let on_host = gpu.buffer(bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST, DOING)?;
        Ok(Some(Self { times, resolved, on_host, num: 0, num_missed: 0 }))
    }

    /// Returns where the next kernel writes its times.
    pub fn next(&mut self) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        if self.num == MAX_TIMED {
            self.num_missed += 1;
            return None;
        }
        let first = 2 * self.num;
        self.num += 1;
        Some(wgpu::ComputePassTimestampWrites {
            query_set: &self.times,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Records the copy of all times.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        if self.num > 0 {
            encoder.resolve_query_set(&self.times, 0..2 * self.num, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.on_host, 0, self.bytes());
        }
    }

    /// Returns the seconds of all kernels since the last call, once `submission`, which copies their times, is done; `None` if there
    /// was no room for all of them.
    pub fn take_secs(&mut self, gpu: &Gpu, submission: wgpu::SubmissionIndex) -> Result<Option<f64>, WebGpuError> {
        let bytes = self.bytes();
        let num_missed = std::mem::take(&mut self.num_missed);
        if std::mem::take(&mut self.num) == 0 {
            gpu.wait(submission, DOING)?;
            return Ok(Some(0.0));
        }
        let slice = self.on_host.slice(..bytes);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        gpu.wait(submission, DOING)?;
        let failed = |error: wgpu::MapRangeError| WebGpuError::Driver { doing: DOING, message: error.to_string() };
        let times: Vec<u64> = pod_collect_to_vec(&slice.get_mapped_range().map_err(failed)?);
        self.on_host.unmap();
        let ticks: u64 = times.as_chunks::<2>().0.iter().map(|[begin, end]| end.saturating_sub(*begin)).sum();
        Ok((num_missed == 0).then(|| ticks as f64 * 1e-9 * f64::from(gpu.queue.get_timestamp_period())))
    }

    fn bytes(&self) -> u64 {
        u64::from(2 * self.num * wgpu::QUERY_SIZE)
    }
}
