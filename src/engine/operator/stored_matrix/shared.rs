//! The ways of Cabello et al. 2012, section 3.1, to add on several threads: into one image, with or without protection, or each
//! function from its own elements.

use std::sync::atomic::AtomicU32;

use rayon::prelude::*;

use super::{MatrixColumns, StoredMatrix};
use crate::data::MatrixElement;
use crate::operator::Accumulation;
use crate::operator::accumulate::{ImageSink, SharedAtomic, SharedRacy, shared_image, write_shared};
use crate::operator::chunk::{LANES, add_multiple};
use crate::random::{shuffled, stream};
use crate::task::{Stopped, Task};

/// Orbits that a thread takes at once. Few, so that threads meet as they do on a GPU.
const ORBITS_AT_ONCE: usize = 4;
/// Seed of the random order of orbits.
const ORDER_SEED: u64 = 2012;

/// Atomic in the two central slices, where most lines meet.
struct SharedCentralAtomic<'a> {
    image: &'a [AtomicU32],
    num_central: usize,
}

impl ImageSink for SharedCentralAtomic<'_> {
    fn add(&mut self, index: usize, value: f32) {
        if index < self.num_central {
            SharedAtomic(self.image).add(index, value);
        } else {
            SharedRacy(self.image).add(index, value);
        }
    }
}

impl StoredMatrix {
    /// x = the adjoint of all data, into one image.
    pub(super) fn scatter_all<const CHUNKS: usize>(
        &self,
        q: &[f32],
        accumulation: Accumulation,
        x: &mut [f32],
        task: &Task,
    ) -> Result<(), Stopped> {
        let order: Vec<u32> = match accumulation {
            Accumulation::RandomCentralAtomic => shuffled(self.pairs.num_orbits() as u32, &mut stream(ORDER_SEED, 0)),
            _ => (0..self.pairs.num_orbits() as u32).collect(),
        };
        let image = shared_image(x.len());
        let num_central = self.num_central * CHUNKS * LANES;
        order.par_chunks(ORBITS_AT_ONCE).with_max_len(1).try_for_each(|orbits| {
            task.check()?;
            for &orbit in orbits {
                let orbit = orbit as usize;
                let y = &q[orbit * CHUNKS * LANES..][..CHUNKS * LANES];
                match accumulation {
                    Accumulation::Atomic => self.scatter::<CHUNKS>(orbit, y, &mut SharedAtomic(&image)),
                    Accumulation::RandomCentralAtomic => {
                        self.scatter::<CHUNKS>(orbit, y, &mut SharedCentralAtomic { image: &image, num_central });
                    }
                    _ => self.scatter::<CHUNKS>(orbit, y, &mut SharedRacy(&image)),
                }
            }
            Ok(())
        })?;
        write_shared(&image, x);
        Ok(())
    }

    fn scatter<const CHUNKS: usize>(&self, orbit: usize, y: &[f32], image: &mut impl ImageSink) {
        for (h, row) in self.rows(orbit) {
            let data = self.data_of::<CHUNKS>(orbit, h, y);
            for element in row {
                let value = element.value();
                for (chunk, data) in data.iter().enumerate() {
                    let at = (element.basic() * CHUNKS + chunk) * LANES;
                    image.add_row(at, &data.map(|datum| value * datum));
                }
            }
        }
    }

    /// x = the adjoint of all data, gathered by each basic function and its images. The data of all images of a line are laid
    /// side by side first, so that an element takes neighbours.
    pub(super) fn gather_all<const CHUNKS: usize>(&self, q: &[f32], x: &mut [f32], task: &Task) -> Result<(), Stopped> {
        let columns = self.columns.get_or_init(|| MatrixColumns::new(&self.matrix, &self.pairs));
        let mut data = vec![[[0.0; LANES]; CHUNKS]; q.len()];
        data.par_chunks_mut(CHUNKS * LANES).enumerate().try_for_each(|(orbit, data)| {
            task.check()?;
            let y = &q[orbit * CHUNKS * LANES..][..CHUNKS * LANES];
            data.iter_mut().enumerate().for_each(|(h, data)| *data = self.data_of::<CHUNKS>(orbit, h, y));
            Ok(())
        })?;
        x.par_chunks_mut(CHUNKS * LANES).enumerate().try_for_each(|(basic, x)| {
            task.check()?;
            let mut sums = [[0.0; LANES]; CHUNKS];
            for (place, bits) in columns.column(basic) {
                let value = MatrixElement::value_of(bits);
                for (sum, data) in sums.iter_mut().zip(data[place as usize]) {
                    *sum = add_multiple::<false>(value, data, *sum);
                }
            }
            x.copy_from_slice(sums.as_flattened());
            Ok(())
        })
    }
}
