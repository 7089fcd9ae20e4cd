//! Numbers of the regions in the second image.

/// Numbers of the regions in the second image, at the voxels of the displayed one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecondNumbers {
    /// Name of the second image: "CT".
    pub name: String,
    pub unit: &'static str,
    /// Mean and standard deviation of each region; `None` outside the second image.
    pub means: Vec<Option<[f64; 2]>>,
}
