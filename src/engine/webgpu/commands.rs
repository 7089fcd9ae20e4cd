//! Commands that dispatch kernels and copy buffers.

use std::sync::Arc;

use bytemuck::Pod;

use super::device::opened::{GROUPS_ALONG_X, Gpu};
use super::device::timing::KernelTimer;
use super::error::WebGpuError;
use super::kernel::Kernel;

/// Dispatches of a submission at most.
const MAX_DISPATCHES: usize = 64;

/// Commands on their way to a GPU, done in order.
pub struct Commands {
    gpu: Arc<Gpu>,
    encoder: Option<wgpu::CommandEncoder>,
    num_dispatches: usize,
    /// Memory of the host for copies from the device; none after a failure.
    staging: Option<wgpu::Buffer>,
    /// The last submission without a waiting caller.
    unawaited: Option<wgpu::SubmissionIndex>,
    /// True once all that was sent is done.
    is_done: bool,
    /// Measures kernels, where that was asked for.
    timer: Option<KernelTimer>,
}

impl Commands {
    /// None yet.
    pub fn new(gpu: Arc<Gpu>) -> Self {
        Self { gpu, encoder: None, num_dispatches: 0, staging: None, unawaited: None, is_done: true, timer: None }
    }

    /// Returns the GPU.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Records a kernel in `num_groups` groups. The buffers have the bindings from 1 on.
    pub fn dispatch(&mut self, kernel: &Kernel, num_groups: usize, parameters: &impl Pod, buffers: &[&wgpu::Buffer]) {
        let bound: Vec<(u32, &wgpu::Buffer)> = (1..).zip(buffers.iter().copied()).collect();
        self.dispatch_bound(kernel, num_groups, parameters, &bound);
    }

    /// Records a kernel in `num_groups` groups, with the binding of each buffer.
    pub fn dispatch_bound(
        &mut self,
        kernel: &Kernel,
        num_groups: usize,
        parameters: &impl Pod,
        buffers: &[(u32, &wgpu::Buffer)],
    ) {
        if num_groups == 0 {
            return;
        }
        let device = &self.gpu.device;
        let bytes = bytemuck::bytes_of(parameters);
        let in_buffer = (!self.gpu.has_immediates).then(|| buffer_of(device, kernel.name, bytes));
        let entries: Vec<wgpu::BindGroupEntry<'_>> = in_buffer
            .iter()
            .map(|buffer| (0, buffer))
            .chain(buffers.iter().copied())
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(kernel.name),
            layout: &kernel.layout,
            entries: &entries,
        });
        let along_x = num_groups.min(GROUPS_ALONG_X as usize);
        let encoder =
            self.encoder.get_or_insert_with(|| device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()));
        let timestamp_writes = self.timer.as_mut().and_then(KernelTimer::next);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(kernel.name), timestamp_writes });
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &group, &[]);
        if self.gpu.has_immediates {
            pass.set_immediates(0, bytes);
        }
        pass.dispatch_workgroups(along_x as u32, num_groups.div_ceil(along_x) as u32, 1);
        drop(pass);
        self.num_dispatches += 1;
        if self.num_dispatches == MAX_DISPATCHES {
            let submission = self.submit();
            if let Some(before) = self.unawaited.replace(submission) {
                // Commands on their way take memory. An error shows at the next call.
                let _ = self.gpu.wait(before, "compute");
            }
        }
    }

    /// Returns the recorder of further commands.
    pub fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        let device = &self.gpu.device;
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()))
    }

    /// Writes bytes to a buffer, before all commands that are not yet submitted.
    pub fn write(&mut self, buffer: &wgpu::Buffer, at: u64, bytes: &[u8]) {
        self.is_done = false;
        self.gpu.queue.write_buffer(buffer, at, bytes);
    }

    /// Sends the commands to the GPU.
    pub fn submit(&mut self) -> wgpu::SubmissionIndex {
        (self.num_dispatches, self.is_done) = (0, false);
        self.gpu.queue.submit(self.encoder.take().map(wgpu::CommandEncoder::finish))
    }

    /// Sends the commands and waits until everything is done.
    pub fn finish(&mut self, doing: &'static str) -> Result<(), WebGpuError> {
        if self.encoder.is_none() && self.is_done {
            return self.gpu.check(doing);
        }
        let submission = self.submit();
        self.gpu.wait(submission, doing)?;
        self.is_done = true;
        Ok(())
    }

    /// Begins to measure kernels; false if the GPU has no clock.
    pub fn time_kernels(&mut self) -> Result<bool, WebGpuError> {
        self.timer = KernelTimer::new(&self.gpu)?;
        Ok(self.timer.is_some())
    }

    /// Returns the seconds of all kernels since the last call, without the time between them; `None` if they are not measured, or
    /// were too many.
    pub fn take_kernel_secs(&mut self) -> Result<Option<f64>, WebGpuError> {
        let Some(mut timer) = self.timer.take() else { return Ok(None) };
        timer.resolve(self.encoder());
        let submission = self.submit();
        let secs = timer.take_secs(&self.gpu, submission);
        self.timer = Some(timer);
        secs
    }

    /// Copies bytes of a buffer to the host.
    pub fn read(&mut self, buffer: &wgpu::Buffer, bytes: u64, to: &mut Vec<u8>) -> Result<(), WebGpuError> {
        const DOING: &str = "copy values from the device";
        /// Bytes of a piece.
        const PIECE: u64 = 64 << 20;
        let wanted = bytes.min(PIECE);
        let staging = match self.staging.take() {
            Some(staging) if staging.size() >= wanted => staging,
            _ => {
                let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
                self.gpu.buffer(wanted.next_power_of_two(), usage, DOING)?
            }
        };
        for first in (0..bytes).step_by(PIECE as usize) {
            let num = PIECE.min(bytes - first);
            self.encoder().copy_buffer_to_buffer(buffer, first, &staging, 0, num);
            let submission = self.submit();
            let slice = staging.slice(..num);
            slice.map_async(wgpu::MapMode::Read, |_| {});
            self.gpu.wait(submission, DOING)?;
            let failed = |error: wgpu::MapRangeError| WebGpuError::Driver { doing: DOING, message: error.to_string() };
            to.extend_from_slice(&slice.get_mapped_range().map_err(failed)?);
            staging.unmap();
            self.is_done = true;
        }
        self.staging = Some(staging);
        Ok(())
    }
}

/// Returns a buffer with parameters.
fn buffer_of(device: &wgpu::Device, label: &str, bytes: &[u8]) -> wgpu::Buffer {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.len() as u64,
        usage: wgpu::BufferUsages::UNIFORM,
        mapped_at_creation: true,
    });
    // (A device that is lost maps nothing. The error shows when its work is waited for.)
    if let Ok(mut mapped) = buffer.get_mapped_range_mut(..) {
        mapped.copy_from_slice(bytes);
    }
    buffer.unmap();
    buffer
}
