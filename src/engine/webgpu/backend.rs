//! Arrays in the memory of a GPU and the algebra on them (`shaders/compute/arrays.wgsl`, `shaders/compute/reductions.wgsl`).

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::array::{ARRAY, Segment, Segments, WebGpuArray, in_both};
use super::commands::Commands;
use super::device::opened::{DeviceOptions, Gpu};
use super::device::probe::DeviceInfo;
use super::error::WebGpuError;
use super::kernel::{Kernel, THREADS};
use crate::algebra::BackendError;

/// Values of a group in reductions.
pub(super) const GROUP_LEN: usize = 16 * THREADS;

/// Bytes that are copied to the device at once: the copies take memory until they are complete.
const MAX_STAGED_BYTES: usize = 64 << 20;

/// Values of one or two buffers, for the kernels on them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Span {
    pub x_at: u32,
    pub y_at: u32,
    pub len: u32,
    pub value: f32,
}

/// A GPU that is ready to compute. Calls are done in order.
pub struct WebGpuBackend {
    pub(super) commands: Commands,
    pub(super) kernels: Kernels,
    /// Results of the groups of a reduction.
    partial: Segments,
}

/// The kernels that need no projector.
pub(super) struct Kernels {
    pub fill: Kernel,
    pub multiply: Kernel,
    pub add_scaled: Kernel,
    pub from_fixed: Kernel,
    pub gather: Kernel,
    pub em_update: Kernel,
    pub masked: Kernel,
    pub raise: Kernel,
    pub find_largest: Kernel,
    pub drop_rounding: Kernel,
    pub dot_product: Kernel,
    pub largest: Kernel,
    pub poisson_ratio: Kernel,
    pub pair_products: Kernel,
}

impl Kernels {
    fn compile(gpu: &Gpu) -> Result<Self, WebGpuError> {
        let arrays = |entry| gpu.kernel(entry, include_str!("../../../shaders/compute/arrays.wgsl"));
        let columns = |entry| gpu.kernel(entry, include_str!("../../../shaders/compute/columns.wgsl"));
        let reductions = |entry| gpu.kernel(entry, include_str!("../../../shaders/compute/reductions.wgsl"));
        Ok(Self {
            fill: arrays("fill")?,
            multiply: arrays("multiply")?,
            add_scaled: arrays("add_scaled")?,
            from_fixed: arrays("from_fixed")?,
            gather: arrays("gather")?,
            em_update: arrays("em_update")?,
            masked: arrays("masked")?,
            raise: arrays("raise")?,
            find_largest: columns("find_largest")?,
            drop_rounding: columns("drop_rounding")?,
            dot_product: reductions("dot_product")?,
            largest: reductions("largest")?,
            poisson_ratio: reductions("poisson_ratio")?,
            pair_products: gpu.kernel("pair_products", include_str!("../../../shaders/compute/pairs.wgsl"))?,
        })
    }
}

impl WebGpuBackend {
    /// Opens GPU `number` and compiles the kernels.
    ///
    /// # Errors
    /// No such GPU, a software renderer that is not allowed, a refusal of the driver.
    pub fn open(number: usize) -> Result<Self, WebGpuError> {
        Self::open_with(number, DeviceOptions::all_of)
    }

    /// Opens GPU `number` as a smaller one, for tests.
    ///
    /// # Errors
    /// As for [`WebGpuBackend::open`].
    pub fn open_with(number: usize, options: impl FnOnce(&wgpu::Adapter) -> DeviceOptions) -> Result<Self, WebGpuError> {
        Self::on(Gpu::open(number, options)?)
    }

    fn on(gpu: Arc<Gpu>) -> Result<Self, WebGpuError> {
        let kernels = Kernels::compile(&gpu)?;
        let partial = Segments::new(&gpu, 1, 4, "reserve memory for sums")?;
        Ok(Self { commands: Commands::new(gpu), kernels, partial })
    }

    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        self.commands.gpu()
    }

    /// Returns the description of the GPU.
    pub fn info(&self) -> &DeviceInfo {
        &self.gpu().info
    }

    /// Takes the GPU away in the middle of its work, as the loss of a driver does, for tests.
    pub fn destroy_device(&self) {
        self.gpu().device.destroy();
    }

    /// Returns memory for values of some bytes each, all zero.
    pub(super) fn memory(&self, len: usize, value_bytes: usize) -> Result<Segments, WebGpuError> {
        Segments::new(self.gpu(), len, value_bytes, "reserve memory")
    }

    /// Returns a copy of values on the device.
    pub(super) fn copied<T: Pod>(&mut self, values: &[T]) -> Result<Segments, WebGpuError> {
        let segments = self.memory(values.len(), size_of::<T>())?;
        for Segment { buffer, places } in segments.all() {
            let piece_len = MAX_STAGED_BYTES / size_of::<T>().max(1);
            for first in places.clone().step_by(piece_len) {
                let end = (first + piece_len).min(places.end).min(values.len());
                if first == end {
                    continue;
                }
                let at = ((first - places.start) * size_of::<T>()) as u64;
                self.commands.write(buffer, at, bytemuck::cast_slice(&values[first..end]));
                if values.len() > piece_len {
                    // Frees the memory of the copy.
                    self.commands.finish("copy values to the device")?;
                }
            }
        }
        self.gpu().check("copy values to the device")?;
        Ok(segments)
    }

    /// Returns a table on the device, in one buffer.
    pub(super) fn table<T: Pod>(&mut self, values: &[T]) -> Result<wgpu::Buffer, WebGpuError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let (found, needed) = (self.gpu().limits.max_storage_buffer_binding_size, bytes.len() as u64);
        if needed > found {
            return Err(WebGpuError::Limit { limit: "maxStorageBufferBindingSize", found, needed });
        }
        let buffer = self.gpu().buffer(needed, ARRAY, "reserve memory for a table")?;
        for (number, piece) in bytes.chunks(MAX_STAGED_BYTES).enumerate() {
            self.commands.write(&buffer, (number * MAX_STAGED_BYTES) as u64, piece);
        }
        Ok(buffer)
    }

    /// Copies the first values of a table from the device.
    pub(super) fn read_table<T: Pod>(&mut self, table: &wgpu::Buffer, len: usize) -> Result<Vec<T>, WebGpuError> {
        let mut bytes = Vec::with_capacity(len * size_of::<T>());
        self.commands.read(table, (len * size_of::<T>()) as u64, &mut bytes)?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// Copies values from the device.
    pub(super) fn read_values<T: Pod>(&mut self, segments: &Segments, range: Range<usize>) -> Result<Vec<T>, WebGpuError> {
        let mut bytes = Vec::with_capacity(range.len() * size_of::<T>());
        for (segment, part) in segments.of(range) {
            // (All ranges begin with a buffer.)
            self.commands.read(segment.buffer, (part.len() * size_of::<T>()) as u64, &mut bytes)?;
        }
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// Dispatches a kernel with one thread for each of some values.
    pub(super) fn dispatch_each(&mut self, kernel: &Kernel, span: Span, buffers: &[&wgpu::Buffer]) {
        self.commands.dispatch(kernel, (span.len as usize).div_ceil(THREADS), &span, buffers);
    }

    /// Sets an array to one value.
    pub(super) fn set(&mut self, values: &Segments, value: f32) {
        let fill = self.kernels.fill.clone();
        for Segment { buffer, places } in values.all() {
            self.dispatch_each(&fill, Span { len: places.len() as u32, value, ..Span::default() }, &[buffer]);
        }
    }

    /// Sets all bytes to zero.
    pub(super) fn clear(&mut self, values: &Segments) {
        values.all().for_each(|segment| self.commands.encoder().clear_buffer(segment.buffer, 0, None));
    }

    /// Returns the bits of what N values of each group are after a reduction of `len` values; `dispatch` puts the groups of a
    /// part of them into a buffer.
    pub(super) fn reduce<const N: usize>(
        &mut self,
        lens: &[usize],
        mut dispatch: impl FnMut(&mut Commands, usize, usize, &wgpu::Buffer),
    ) -> Result<Vec<[f32; N]>, WebGpuError> {
        let mut all = Vec::new();
        for (part, &len) in lens.iter().enumerate() {
            let num_groups = len.div_ceil(GROUP_LEN);
            if self.partial.len < N * num_groups {
                self.partial = self.memory(N * num_groups, 4)?;
            }
            let Some(partial) = self.partial.all().next() else { continue };
            dispatch(&mut self.commands, part, num_groups, partial.buffer);
            let mut bytes = Vec::with_capacity(4 * N * num_groups);
            self.commands.read(partial.buffer, (4 * N * num_groups) as u64, &mut bytes)?;
            let values: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
            all.extend_from_slice(values.as_chunks::<N>().0);
        }
        Ok(all)
    }

    /// Returns the largest value of an array, or the largest magnitude; −∞ or 0 of none.
    pub(super) fn largest(&mut self, x: &Segments, len: usize, is_magnitude: bool) -> Result<f32, WebGpuError> {
        let parts: Vec<(wgpu::Buffer, usize)> =
            x.of(0..len).map(|(segment, part)| (segment.buffer.clone(), part.len())).collect();
        let lens: Vec<usize> = parts.iter().map(|(_, len)| *len).collect();
        let kernel = self.kernels.largest.clone();
        let value = if is_magnitude { 1.0 } else { 0.0 };
        let found = self.reduce::<1>(&lens, |commands, part, num_groups, partial| {
            let (buffer, len) = &parts[part];
            commands.dispatch(&kernel, num_groups, &Span { len: *len as u32, value, ..Span::default() }, &[partial, buffer]);
        })?;
        // The order of the bits is that of the values (`ordered` in reductions.wgsl).
        let most = found.into_iter().map(|[bits]| bits.to_bits()).max().unwrap_or(0);
        let bits = if most >= 1 << 31 { most ^ 1 << 31 } else { !most };
        let none = if is_magnitude { 0.0 } else { f32::NEG_INFINITY };
        Ok(if len == 0 { none } else { f32::from_bits(bits) })
    }

    /// Gathers values of an image: `to`\[i\] = `scale` x\[places\[i\]\]; a place beyond the image leaves a value as it is.
    pub(super) fn gather(&mut self, scale: f32, x: &Segments, places: &Segments, to: &Segments) {
        let kernel = self.kernels.gather.clone();
        for (places, to) in places.all().zip(to.all()) {
            for from in x.all() {
                let (first, len) = (from.places.start as u32, from.places.len() as u32);
                let span = Span { x_at: len, y_at: first, len: to.places.len() as u32, value: scale };
                self.dispatch_each(&kernel, span, &[to.buffer, from.buffer, places.buffer]);
            }
        }
    }

    /// Does something with each pair of buffers of x\[at..\] and y\[range\].
    pub(super) fn with_both<K>(
        &mut self,
        kernel: &Kernel,
        (x, at): (&WebGpuArray<K>, usize),
        (y, range): (&WebGpuArray<K>, Range<usize>),
        value: f32,
    ) -> Result<(), BackendError> {
        y.expect_range(&range)?;
        x.expect_range(&(at..at + range.len()))?;
        for both in in_both(&x.0, at, &y.0, range) {
            let span = Span { x_at: both.x_at as u32, y_at: both.y_at as u32, len: both.len as u32, value };
            self.dispatch_each(kernel, span, &[both.x, both.y]);
        }
        Ok(())
    }
}
