//! A map along one axis.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Band, Varies, VoxelPlaces, weighted_sum};

/// A map along one axis between two spaces that differ along it at most: out\[…, i, …\] = Σ_k w\[i\]\[k\] x\[…, first\[i\] + k, …\].
#[derive(Clone, Debug)]
pub struct AlongAxis {
    /// 0 = x, 1 = y, 2 = z.
    pub axis: usize,
    /// Where the inputs lie.
    pub from: Arc<VoxelPlaces>,
    /// Where the outputs lie.
    pub to: Arc<VoxelPlaces>,
    /// The weights.
    pub band: Band,
    /// True if outputs outside the field of view are zero.
    pub is_masked: bool,
}

impl AlongAxis {
    /// Returns the transposed map of images that are zero outside the field of view, if this one is masked.
    pub(super) fn transposed(&self) -> Self {
        let band = self.band.transposed(self.from.size[self.axis]);
        Self { from: Arc::clone(&self.to), to: Arc::clone(&self.from), band, ..*self }
    }

    /// The x of a row y that are computed.
    fn seen(&self, y: usize) -> [usize; 2] {
        if self.is_masked { self.to.fov_rows[y].map(|x| x as usize) } else { [0, self.to.size[0]] }
    }

    /// `out` = the map of x.
    pub(super) fn apply(&self, x: &[f32], out: &mut [f32]) {
        match (self.to.order, self.from.order) {
            (Some([2, 1, 0]), Some([2, 1, 0])) => self.apply_to_slices(x, out),
            (Some([1, 0, 2]), Some([1, 0, 2])) => self.apply_to_columns(x, out),
            _ => self.apply_one_by_one(x, out),
        }
    }

    /// The same, one voxel after the other.
    fn apply_one_by_one(&self, x: &[f32], out: &mut [f32]) {
        let Self { axis, from, to, band, .. } = self;
        let (num, along) = (from.size[*axis], &from.along[*axis]);
        let [nx, ..] = to.size;
        for voxel in to.voxels() {
            let [at_x, y, _] = voxel;
            let [first_x, end_x] = self.seen(y);
            let sum = if (first_x..end_x).contains(&at_x) {
                let (first, weights) = band.within(voxel[*axis], y * nx + at_x, num);
                let others: u32 = (0..3).filter(|other| other != axis).map(|other| from.along[other][voxel[other]]).sum();
                weights.iter().zip(&along[first..]).map(|(weight, place)| weight * x[(place + others) as usize]).sum()
            } else {
                0.0
            };
            out[to.of(voxel)] = sum;
        }
    }

    /// In images `[z, y, x]`.
    fn apply_to_slices(&self, x: &[f32], out: &mut [f32]) {
        let Self { axis, from, to, band, .. } = self;
        let [nx, ny, nz] = to.size;
        let num = from.size[*axis];
        out[..nx * ny * nz].par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
            let (y, z) = (row % ny, row / ny);
            let [first_x, end_x] = self.seen(y);
            out[..first_x].fill(0.0);
            out[end_x..].fill(0.0);
            let out = &mut out[first_x..end_x];
            if *axis == 0 {
                let values = &x[row * nx..(row + 1) * nx];
                for (out, at_x) in out.iter_mut().zip(first_x..) {
                    let (first, weights) = band.within(at_x, 0, num);
                    *out = weights.iter().zip(&values[first..]).map(|(weight, value)| weight * value).sum();
                }
                return;
            }
            let (output, stride, start) = if *axis == 1 { (y, nx, z * nx * ny) } else { (z, nx * ny, y * nx) };
            let (first, weights) = band.within(output, 0, num);
            let input = |number: usize| &x[start + number * stride..][first_x..end_x];
            let terms: Vec<(f32, &[f32])> = weights.iter().copied().zip((first..).map(input)).collect();
            match band.varies {
                Varies::Nowhere | Varies::AlongIt => weighted_sum(out, &terms),
                Varies::Across => {
                    for (k, out) in out.iter_mut().enumerate() {
                        let (_, weights) = band.within(output, y * nx + first_x + k, num);
                        *out = weights.iter().zip(&terms).map(|(weight, (_, values))| weight * values[k]).sum();
                    }
                }
            }
        });
    }

    /// In images `[y][x][column]`.
    fn apply_to_columns(&self, x: &[f32], out: &mut [f32]) {
        let Self { axis, from, to, band, .. } = self;
        let [nx, ny, nz] = to.size;
        let [from_len, to_len] = [from.stride(0), to.stride(0)];
        out[..nx * ny * to_len].par_chunks_mut(nx * to_len).enumerate().for_each(|(y, out)| {
            let [first_x, end_x] = self.seen(y);
            out[..first_x * to_len].fill(0.0);
            out[end_x * to_len..].fill(0.0);
            let row = &x[y * nx * from_len..(y + 1) * nx * from_len];
            match axis {
                0 => {
                    for at_x in first_x..end_x {
                        let (first, weights) = band.within(at_x, y * nx + at_x, nx);
                        let columns = row[first * from_len..].chunks(from_len);
                        let terms: Vec<(f32, &[f32])> = weights.iter().copied().zip(columns).collect();
                        weighted_sum(&mut out[at_x * to_len..(at_x + 1) * to_len], &terms);
                    }
                }
                1 => {
                    let (first, weights) = band.within(y, 0, ny);
                    let rows = x[first * nx * from_len..].chunks(nx * from_len);
                    let part = first_x * to_len..end_x * to_len;
                    let terms: Vec<(f32, &[f32])> = weights.iter().copied().zip(rows.map(|row| &row[part.clone()])).collect();
                    weighted_sum(&mut out[part], &terms);
                }
                _ => {
                    let [from_z, to_z] = [&from.along[2], &to.along[2]];
                    let mut line = vec![0.0; from.size[2]];
                    for at_x in first_x..end_x {
                        let column = &row[at_x * from_len..(at_x + 1) * from_len];
                        line.iter_mut().zip(from_z).for_each(|(value, place)| *value = column[*place as usize]);
                        for z in 0..nz {
                            let (first, weights) = band.within(z, y * nx + at_x, line.len());
                            let sum = weights.iter().zip(&line[first..]).map(|(weight, value)| weight * value).sum();
                            out[at_x * to_len + to_z[z] as usize] = sum;
                        }
                    }
                }
            }
        });
    }
}
