//! Where the voxels of a space lie in its arrays.

/// Where the voxels of a space lie in its arrays: voxel (x, y, z) at `along[0][x] + along[1][y] + along[2][z]`.
#[derive(Clone, Debug, PartialEq)]
pub struct VoxelPlaces {
    /// Voxels along x, y and z.
    pub size: [usize; 3],
    /// Part of the place for each x, each y and each z.
    pub along: [Vec<u32>; 3],
    /// Values of an array.
    pub len: usize,
    /// For each row y the x in the field of view: from and up to.
    pub fov_rows: Vec<[u32; 2]>,
    /// The axes from the one whose neighbours lie farthest apart to the one whose neighbours lie next to each other; `None` where no
    /// such order holds.
    pub order: Option<[usize; 3]>,
}

impl VoxelPlaces {
    /// Where a voxel of a `[z, y, x]` volume lies.
    pub fn place(&self, voxel: usize) -> usize {
        let [nx, ny, _] = self.size;
        self.of([voxel % nx, voxel / nx % ny, voxel / nx / ny])
    }

    /// Where the voxel (x, y, z) lies.
    pub fn of(&self, voxel: [usize; 3]) -> usize {
        voxel.into_iter().zip(&self.along).map(|(at, along)| along[at] as usize).sum()
    }

    /// Returns an array of the values of a `[z, y, x]` volume, also of voxels outside the field of view.
    pub fn arranged(&self, volume: &[f32]) -> Vec<f32> {
        let mut values = vec![0.0; self.len];
        volume.iter().enumerate().for_each(|(voxel, value)| values[self.place(voxel)] = *value);
        values
    }

    /// Returns all voxels (x, y, z).
    pub(super) fn voxels(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [nx, ny, nz] = self.size;
        (0..nx * ny * nz).map(move |voxel| [voxel % nx, voxel / nx % ny, voxel / nx / ny])
    }

    /// Returns true if (x, y) is in the field of view.
    pub fn is_seen(&self, x: usize, y: usize) -> bool {
        let [from, to] = self.fov_rows[y];
        (from as usize..to as usize).contains(&x)
    }

    /// Places between neighbours along an axis.
    pub(super) fn stride(&self, axis: usize) -> usize {
        match self.along[axis].as_slice() {
            [first, second, ..] => (second - first) as usize,
            _ => self.len,
        }
    }

    /// Returns true if neighbours along z lie next to each other, as far as any do.
    pub fn z_is_fastest(&self) -> bool {
        self.order == Some([1, 0, 2])
    }

    /// Returns true if an array holds values that are no voxels.
    pub fn has_padding(&self) -> bool {
        self.len != self.size.iter().product::<usize>()
    }
}
