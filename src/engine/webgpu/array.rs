//! Arrays on a GPU: one buffer, or several where it would be longer than the device binds.

use std::marker::PhantomData;
use std::ops::Range;

use super::device::opened::{Gpu, LONG_BYTES};
use super::error::WebGpuError;

/// Usage of all arrays.
pub(super) const ARRAY: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// Returns the refusal of an array of several buffers. The limit allows for the longest elements in every buffer.
fn too_long(segment_len: usize, len: usize) -> WebGpuError {
    let [found, needed] = [segment_len, len].map(|len| LONG_BYTES * len as u64);
    WebGpuError::Limit { limit: "maxStorageBufferBindingSize", found, needed }
}

/// Buffers that hold `len` values, each but the last `segment_len`.
pub(super) struct Segments {
    buffers: Vec<wgpu::Buffer>,
    pub len: usize,
    segment_len: usize,
}

/// A buffer of an array, with the places of its values in the array.
#[derive(Clone)]
pub(super) struct Segment<'a> {
    pub buffer: &'a wgpu::Buffer,
    pub places: Range<usize>,
}

impl Segments {
    /// Reserves memory for `len` values of some bytes each, all zero.
    pub fn new(gpu: &Gpu, len: usize, value_bytes: usize, doing: &'static str) -> Result<Self, WebGpuError> {
        let segment_len = gpu.segment_len;
        let lens = (0..len.max(1)).step_by(segment_len).map(|first| segment_len.min(len.max(1) - first));
        let buffers = lens.map(|len| gpu.buffer((len * value_bytes) as u64, ARRAY, doing)).collect::<Result<_, _>>()?;
        Ok(Self { buffers, len, segment_len })
    }

    /// Refuses values that do not fit into one buffer.
    ///
    /// # Errors
    /// They need several.
    pub fn check_whole(gpu: &Gpu, len: usize) -> Result<(), WebGpuError> {
        if len <= gpu.segment_len { Ok(()) } else { Err(too_long(gpu.segment_len, len)) }
    }

    /// Returns the buffers.
    pub fn all(&self) -> impl Iterator<Item = Segment<'_>> + Clone {
        self.buffers.iter().enumerate().map(|(number, buffer)| {
            let first = number * self.segment_len;
            Segment { buffer, places: first..(first + self.segment_len).min(self.len) }
        })
    }

    /// Returns the only buffer.
    ///
    /// # Errors
    /// There are several.
    pub fn whole(&self) -> Result<&wgpu::Buffer, WebGpuError> {
        match &*self.buffers {
            [buffer] => Ok(buffer),
            _ => Err(too_long(self.segment_len, self.len)),
        }
    }

    /// Returns the buffer that holds a value; beyond the last value the last buffer.
    pub fn buffer_of(&self, place: usize) -> &wgpu::Buffer {
        &self.buffers[(place / self.segment_len).min(self.buffers.len() - 1)]
    }

    /// Returns the buffers that hold values of a range, with their parts of it.
    pub fn of(&self, range: Range<usize>) -> impl Iterator<Item = (Segment<'_>, Range<usize>)> {
        self.all().filter_map(move |segment| {
            let part = segment.places.start.max(range.start)..segment.places.end.min(range.end);
            (!part.is_empty()).then_some((segment, part))
        })
    }
}

/// f32 values in the memory of a GPU.
pub struct WebGpuArray<K>(pub(super) Segments, PhantomData<fn() -> K>);

impl<K> From<Segments> for WebGpuArray<K> {
    fn from(values: Segments) -> Self {
        Self(values, PhantomData)
    }
}

impl<K> WebGpuArray<K> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    pub(super) fn expect_range(&self, range: &Range<usize>) -> Result<(), WebGpuError> {
        if range.end <= self.len() { Ok(()) } else { Err(WebGpuError::Length { expected: range.end, found: self.len() }) }
    }

    pub(super) fn expect_len(&self, expected: usize) -> Result<(), WebGpuError> {
        let found = self.len();
        if found == expected { Ok(()) } else { Err(WebGpuError::Length { expected, found }) }
    }
}

/// Parts of an operation on x\[at..\] and y\[range\], each within one buffer of both.
pub(super) fn in_both<'a>(x: &'a Segments, at: usize, y: &'a Segments, range: Range<usize>) -> Vec<Both<'a>> {
    let mut parts = Vec::new();
    for (of_y, part) in y.of(range.clone()) {
        let in_x = at + part.start - range.start..at + part.end - range.start;
        for (of_x, in_x) in x.of(in_x) {
            let y_at = in_x.start - at + range.start - of_y.places.start;
            parts.push(Both { x: of_x.buffer, x_at: in_x.start - of_x.places.start, y: of_y.buffer, y_at, len: in_x.len() });
        }
    }
    parts
}

/// Values of two buffers: from `x_at` and from `y_at` on.
pub(super) struct Both<'a> {
    pub x: &'a wgpu::Buffer,
    pub x_at: usize,
    pub y: &'a wgpu::Buffer,
    pub y_at: usize,
    pub len: usize,
}
