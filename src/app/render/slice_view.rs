//! Content of a slice, and its uniforms for the shader.

use super::{Palette, VolumeSlot};

/// Interpolation between voxel centres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    #[default]
    Nearest,
    Linear,
}

/// Values of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    Volume(VolumeSlot),
    /// `factor` × one volume − another. Volumes of different size are not drawn.
    Difference {
        /// Multiplied volume.
        of: VolumeSlot,
        factor: f32,
        /// Subtracted volume.
        minus: VolumeSlot,
    },
}

/// Combination of the values of a slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combination {
    Mean,
    Maximum,
}

/// Samples along the normal, symmetric about the plane. Samples outside the volume are omitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// Step between samples, in voxel coordinates.
    pub step: [f32; 3],
    pub num_samples: u32,
    pub combination: Combination,
}

/// Content of a slice. All triples are x, y, z in voxel coordinates of its volume (voxel i spans i ± ½).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceView {
    pub content: Content,
    pub interpolation: Interpolation,
    /// Top left corner of the viewport.
    pub corner: [f32; 3],
    /// Vector from there to the top right corner.
    pub across: [f32; 3],
    /// Vector from there to the bottom left corner.
    pub down: [f32; 3],
    /// Slab around the plane; `None`: the plane alone.
    pub slab: Option<Slab>,
    /// Values of the first and the last colour.
    pub window: [f32; 2],
    pub palette: Palette,
    /// sRGB colour outside the volume, 0..=1.
    pub outside: [f32; 3],
    /// Opacity, 0..=1, over the earlier views of the same pixels, which stay visible outside the volume; `None`: the first view.
    pub over: Option<f32>,
}

impl SliceView {
    /// Returns the axis of a vector along one axis.
    fn axis(way: [f32; 3]) -> Option<usize> {
        let mut axes = (0..3).filter(|&a| way[a] != 0.0);
        axes.next().filter(|_| axes.next().is_none())
    }

    /// Returns true if all samples lie in planes of voxel centres, which need interpolation along two axes only.
    pub(super) fn lies_in_voxel_centres(&self) -> bool {
        let (Some(a), Some(b)) = (Self::axis(self.across), Self::axis(self.down)) else { return false };
        let Some(normal) = (0..3).find(|&axis| axis != a && axis != b).filter(|_| a != b) else { return false };
        let is_whole = |v: f32| (v - v.round()).abs() < 1e-3;
        let steps = self.slab.is_none_or(|slab| Self::axis(slab.step) == Some(normal) && is_whole(slab.step[normal]));
        steps && is_whole(self.first_corner()[normal])
    }

    /// Returns the first sample at the top left corner.
    fn first_corner(&self) -> [f32; 3] {
        let before = self.slab.map_or([0.0; 3], |slab| slab.step.map(|s| 0.5 * (slab.num_samples as f32 - 1.0) * s));
        std::array::from_fn(|a| self.corner[a] - before[a])
    }
}

/// Uniforms with the layout of `struct Slice` in the shader.
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
    palette: u32,
    num_samples: u32,
    factor: f32,
    opacity: f32,
    padding: [u32; 2],
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
            palette: view.palette.row(),
            num_samples: view.slab.map_or(1, |slab| slab.num_samples),
            factor: match view.content {
                Content::Volume(_) => 1.0,
                Content::Difference { factor, .. } => factor,
            },
            opacity: view.over.unwrap_or(1.0),
            padding: [0; 2],
        }
    }
}
