//! A map in every transaxial plane.

use std::sync::Arc;

use rayon::prelude::*;

use super::{VoxelPlaces, weighted_sum};

/// A map in every transaxial plane, the same in all: out\[c\]\[z\] = Σ w x\[c'\]\[z\] over some columns c' for each column
/// c = y · nx + x.
#[derive(Clone, Debug)]
pub struct InPlane {
    /// Where inputs and outputs lie.
    pub places: Arc<VoxelPlaces>,
    /// First term of each column, and the end of all.
    pub first: Vec<u32>,
    /// Input column of each term.
    pub columns: Vec<u32>,
    /// Weight of each term.
    pub weights: Vec<f32>,
}

impl InPlane {
    /// Makes a map from the terms of each column.
    pub fn new(places: Arc<VoxelPlaces>, terms: Vec<Vec<(usize, f32)>>) -> Self {
        let mut first = vec![0];
        first.extend(terms.iter().scan(0, |end, terms| {
            *end += terms.len() as u32;
            Some(*end)
        }));
        let (columns, weights) = terms.into_iter().flatten().map(|(column, weight)| (column as u32, weight)).unzip();
        Self { places, first, columns, weights }
    }

    /// Returns the input columns of an output column, and their weights.
    pub(super) fn row(&self, column: usize) -> impl Iterator<Item = (usize, f32)> {
        let terms = self.first[column] as usize..self.first[column + 1] as usize;
        let columns = self.columns[terms.clone()].iter().map(|column| *column as usize);
        columns.zip(self.weights[terms].iter().copied())
    }

    /// Returns the transposed map.
    pub(super) fn transposed(&self) -> Self {
        let mut terms = vec![Vec::new(); self.first.len() - 1];
        for column in 0..terms.len() {
            self.row(column).for_each(|(input, weight)| terms[input].push((column, weight)));
        }
        Self::new(Arc::clone(&self.places), terms)
    }

    /// Returns the bytes of its tables.
    pub(super) fn bytes(&self) -> u64 {
        4 * (self.first.len() + self.columns.len() + self.weights.len()) as u64
    }

    /// `out` = the map of x.
    pub(super) fn apply(&self, x: &[f32], out: &mut [f32]) {
        let places = &*self.places;
        let [nx, ny, nz] = places.size;
        match places.order {
            Some([1, 0, 2]) => {
                let len = places.stride(0);
                out[..nx * ny * len].par_chunks_mut(len).enumerate().for_each(|(column, out)| {
                    let terms = self.row(column).map(|(input, weight)| (weight, &x[input * len..(input + 1) * len]));
                    weighted_sum(out, &terms.collect::<Vec<_>>());
                });
            }
            Some([2, 1, 0]) => {
                out[..nx * ny * nz].par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
                    let slice = &x[row / ny * nx * ny..][..nx * ny];
                    for (at_x, out) in out.iter_mut().enumerate() {
                        *out = self.row(row % ny * nx + at_x).map(|(input, weight)| weight * slice[input]).sum();
                    }
                });
            }
            _ => {
                for [at_x, y, z] in places.voxels() {
                    let terms = self.row(y * nx + at_x);
                    let sum = terms.map(|(input, weight)| weight * x[places.of([input % nx, input / nx, z])]).sum();
                    out[places.of([at_x, y, z])] = sum;
                }
            }
        }
    }
}
