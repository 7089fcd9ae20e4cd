//! Beams on any GPU (`shaders/compute/events/beams.wgsl`).

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::adding::AddingKernel;
use super::array::Segments;
use super::backend::WebGpuBackend;
use super::commands::Commands;
use super::error::WebGpuError;
use super::kernel::Kernel;
use super::projecting::Target;
use crate::operator::{EventBeams, EventRays, Subset};

/// Events of a beam at most: two for each thread of a group.
const MAX_EVENTS: usize = 64;

/// `Parameters` of beams.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Parameters {
    first_beam: u32,
    num_beams: u32,
    subset_first: u32,
    pairs_first: u32,
    pairs_len: u32,
    values_first: u32,
    values_len: u32,
    image_first: u32,
    image_len: u32,
    scale: f32,
}

/// The beams of events in the order for a number of subsets.
pub(super) struct Beams {
    beams: EventBeams,
    table: Segments,
}

/// Returns the kernel of beams for images of `num_rows` voxels along z; `None` where a group's memory has no room for two columns.
pub(super) fn kernel(backend: &WebGpuBackend, source: String, num_rows: usize) -> Option<AddingKernel> {
    let bytes = 4 * (2 * num_rows + 1);
    let has_room = bytes <= backend.gpu().limits.max_compute_workgroup_storage_size as usize;
    has_room.then(|| AddingKernel::new("backproject_beams", source))
}

impl Beams {
    /// Returns the beams of `pairs`, which are in the order of `num_subsets` subsets; `None` if they are too small.
    pub fn new(
        backend: &mut WebGpuBackend,
        rays: &EventRays,
        num_rows: usize,
        pairs: &[[u32; 2]],
        num_subsets: usize,
    ) -> Result<Option<Self>, WebGpuError> {
        let beams = EventBeams::new(rays, pairs, num_subsets, MAX_EVENTS);
        if !EventBeams::are_large([pairs.len() as f64, beams.rows.len() as f64], num_rows) {
            return Ok(None);
        }
        Ok(Some(Self { table: backend.copied(&beams.rows)?, beams }))
    }

    /// Dispatches the kernel for the beams that begin among some events of a subset, whose first is number `first` of `pairs`:
    /// for each buffer of the events, of their values and of the image. A beam reaches into the next buffer of both at most.
    pub fn record(
        &self,
        commands: &mut Commands,
        kernel: &Kernel,
        (subset, units): (Subset, Range<usize>),
        points: &wgpu::Buffer,
        (pairs, first): (&Segments, usize),
        (q, to): (&Segments, &Target<'_>),
    ) {
        for (of_q, events) in q.of(units) {
            for (of_pairs, part) in pairs.of(first + events.start..first + events.end) {
                let beams = self.beams.among(subset, &(part.start - first..part.end - first));
                for (of_table, beams) in self.table.of(beams) {
                    for image in to.sums.all() {
                        let parameters = Parameters {
                            first_beam: (beams.start - of_table.places.start) as u32,
                            num_beams: beams.len() as u32,
                            subset_first: first as u32,
                            pairs_first: of_pairs.places.start as u32,
                            pairs_len: of_pairs.places.len() as u32,
                            values_first: of_q.places.start as u32,
                            values_len: of_q.places.len() as u32,
                            image_first: image.places.start as u32,
                            image_len: image.places.len() as u32,
                            scale: to.scale,
                        };
                        let events = [(2, of_pairs.buffer), (3, pairs.buffer_of(of_pairs.places.end))];
                        let values = [(5, of_q.buffer), (7, q.buffer_of(of_q.places.end))];
                        let [table, sums] = [(4, of_table.buffer), (6, image.buffer)];
                        let buffers = [(1, points), events[0], events[1], table, values[0], sums, values[1]];
                        commands.dispatch_bound(kernel, beams.len(), &parameters, &buffers);
                    }
                }
            }
        }
    }
}
