//! What a slice shows, and how the shader is told.

use super::{Palette, VolumeSlot};

/// How values between voxel centres are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The nearest voxel's.
    #[default]
    Nearest,
    /// Linear between the voxels around.
    Linear,
}

/// Which values a slice shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Those of one volume.
    Volume(VolumeSlot),
    /// `factor` × those of one volume − those of another, which has as many voxels along each side; else nothing is drawn.
    Difference {
        /// What is multiplied.
        of: VolumeSlot,
        /// By how much.
        factor: f32,
        /// What is subtracted.
        minus: VolumeSlot,
    },
}

/// What becomes of the values behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combination {
    /// Their mean.
    Mean,
    /// The largest.
    Maximum,
}

/// Samples behind each other, as many before the plane as behind it. Those outside the volume are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// From a sample to the next, in voxel coordinates.
    pub step: [f32; 3],
    /// How many there are.
    pub num_samples: u32,
    /// What becomes of them.
    pub combination: Combination,
}

/// The part of the viewport's width that a slice covers if nothing is to be beside it.
pub const WHOLE_WIDTH: [f32; 2] = [0.0, 1.0];

/// What a slice shows. All triples are x, y, z in voxel coordinates of its volume (voxel i spans i ± ½).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceView {
    /// The values.
    pub content: Content,
    /// Between voxel centres.
    pub interpolation: Interpolation,
    /// Top left corner of the viewport.
    pub corner: [f32; 3],
    /// From there to the top right corner.
    pub across: [f32; 3],
    /// From there to the bottom left corner.
    pub down: [f32; 3],
    /// A slab around the plane; else the plane alone.
    pub slab: Option<Slab>,
    /// Values shown as the first and the last colour.
    pub window: [f32; 2],
    /// Palette.
    pub palette: Palette,
    /// sRGB colour outside the volume, 0..=1.
    pub outside: [f32; 3],
    /// The part of the viewport's width that is drawn to, from and to, 0..=1: two slices with parts beside each other are a
    /// curtain that is drawn over one by the other.
    pub part: [f32; 2],
}

impl SliceView {
    /// The one axis that a way runs along, if it does.
    fn axis(way: [f32; 3]) -> Option<usize> {
        let mut axes = (0..3).filter(|&a| way[a] != 0.0);
        axes.next().filter(|_| axes.next().is_none())
    }

    /// Whether all samples lie in planes of voxel centres, so that values are interpolated along two axes only.
    pub(super) fn lies_in_voxel_centres(&self) -> bool {
        let (Some(a), Some(b)) = (Self::axis(self.across), Self::axis(self.down)) else { return false };
        let Some(normal) = (0..3).find(|&axis| axis != a && axis != b).filter(|_| a != b) else { return false };
        let is_whole = |v: f32| (v - v.round()).abs() < 1e-3;
        let steps = self.slab.is_none_or(|slab| Self::axis(slab.step) == Some(normal) && is_whole(slab.step[normal]));
        steps && is_whole(self.first_corner()[normal])
    }

    /// The first sample at the top left corner.
    fn first_corner(&self) -> [f32; 3] {
        let before = self.slab.map_or([0.0; 3], |slab| slab.step.map(|s| 0.5 * (slab.num_samples as f32 - 1.0) * s));
        std::array::from_fn(|a| self.corner[a] - before[a])
    }
}

/// The uniforms as `struct Slice` of the shader lays them out.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct SliceUniforms {
    corner: [f32; 4],
    across: [f32; 4],
    down: [f32; 4],
    behind: [f32; 4],
    step_across: [i32; 4],
    step_down: [i32; 4],
    outside: [f32; 4],
    window: [f32; 2],
    part: [f32; 2],
    palette: u32,
    num_samples: u32,
    factor: f32,
    unused: u32,
}

impl SliceUniforms {
    pub(super) fn new(view: &SliceView) -> Self {
        let four = |v: [f32; 3]| [v[0], v[1], v[2], 0.0];
        let step = |way: [f32; 3]| {
            let axis = SliceView::axis(way);
            std::array::from_fn(|a| i32::from(Some(a) == axis))
        };
        let [low, high] = view.window;
        Self {
            corner: four(view.first_corner()),
            across: four(view.across),
            down: four(view.down),
            behind: four(view.slab.map_or([0.0; 3], |slab| slab.step)),
            step_across: step(view.across),
            step_down: step(view.down),
            outside: four(view.outside),
            window: [low, if high > low { high } else { low + f32::MIN_POSITIVE.max(low.abs() * f32::EPSILON) }],
            part: view.part,
            palette: view.palette.row(),
            num_samples: view.slab.map_or(1, |slab| slab.num_samples),
            factor: match view.content {
                Content::Volume(_) => 1.0,
                Content::Difference { factor, .. } => factor,
            },
            unused: 0,
        }
    }
}
