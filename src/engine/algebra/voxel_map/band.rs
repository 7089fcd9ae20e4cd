//! The weights of a map along one axis.

/// Dependence of the weights of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varies {
    /// On nothing; then `first` rises by one from output to output.
    Nowhere,
    /// On the output's place along the axis.
    AlongIt,
    /// On the column (x, y) of a map along z; then too `first` rises by one from output to output.
    Across,
}

/// Rows of a banded matrix: output i is Σ_k w\[k\] of input `first`\[i\] + k, over the inputs that there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// First input of each output; it may lie before the first that there is.
    pub first: Vec<i32>,
    /// Weights of a row.
    pub width: usize,
    /// The weights of a row together: of the only one, of each output, or of each column y · nx + x.
    pub weights: Vec<f32>,
    /// Dependence of the weights.
    pub varies: Varies,
}

impl Band {
    /// Returns the same weights for each output, about its own place.
    pub fn around(weights: &[f32], num: usize) -> Self {
        let reach = (weights.len() / 2) as i32;
        Self {
            first: (0..num as i32).map(|output| output - reach).collect(),
            width: weights.len(),
            weights: weights.to_vec(),
            varies: Varies::Nowhere,
        }
    }

    /// Returns the inputs of an output among `num`, and their weights.
    pub(super) fn within(&self, output: usize, column: usize, num: usize) -> (usize, &[f32]) {
        let row = match self.varies {
            Varies::Nowhere => 0,
            Varies::AlongIt => output,
            Varies::Across => column,
        };
        let (first, weights) = (self.first[output], &self.weights[row * self.width..(row + 1) * self.width]);
        let before = (-first).clamp(0, self.width as i32) as usize;
        let start = first.max(0) as usize;
        let behind = (start + self.width - before).saturating_sub(num).min(self.width - before);
        (start.min(num), &weights[before..self.width - behind])
    }

    /// Returns the transposed band, between `num` inputs and its outputs.
    pub(super) fn transposed(&self, num: usize) -> Self {
        match self.varies {
            Varies::Nowhere | Varies::Across => {
                // first[i] = i + shift: input j is term k of output j − shift − k.
                let shift = self.first.first().copied().unwrap_or(0);
                let last = shift + self.width as i32 - 1;
                let weights = self.weights.chunks(self.width).flat_map(|row| row.iter().rev().copied()).collect();
                Self { first: (0..num as i32).map(|input| input - last).collect(), weights, ..*self }
            }
            Varies::AlongIt => {
                let mut rows: Vec<Vec<(usize, f32)>> = vec![Vec::new(); num];
                for output in 0..self.first.len() {
                    let (first, weights) = self.within(output, 0, num);
                    weights.iter().enumerate().for_each(|(k, weight)| rows[first + k].push((output, *weight)));
                }
                let ends = |row: &[(usize, f32)]| row.first().zip(row.last()).map(|(first, last)| (first.0, last.0));
                let width = rows.iter().filter_map(|row| ends(row)).map(|(first, last)| last + 1 - first).max().unwrap_or(1);
                let mut weights = vec![0.0; num * width];
                let first = rows.iter().zip(weights.chunks_mut(width)).map(|(row, weights)| {
                    let first = ends(row).map_or(0, |(first, _)| first);
                    row.iter().for_each(|(output, weight)| weights[output - first] = *weight);
                    first as i32
                });
                Self { first: first.collect(), width, weights, varies: Varies::AlongIt }
            }
        }
    }

    /// Returns the weights from output to output, and from column to column.
    pub fn row_steps(&self) -> [u32; 2] {
        match self.varies {
            Varies::Nowhere => [0, 0],
            Varies::AlongIt => [self.width as u32, 0],
            Varies::Across => [0, self.width as u32],
        }
    }

    /// Returns the bytes of its tables.
    pub(super) fn bytes(&self) -> u64 {
        4 * (self.first.len() + self.weights.len()) as u64
    }
}
