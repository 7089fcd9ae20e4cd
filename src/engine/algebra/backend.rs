//! Arrays on a device and the algebra on them.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use super::VoxelMap;
use crate::coded::{PassedOn, coded};
use crate::data::{RoiMask, RoiSums};

/// Content of an array. Several devices replicate images and divide data: the type keeps the two apart.
pub trait Kind: Debug + Send + Sync + 'static {}

/// Coefficients of an image.
#[derive(Debug)]
pub enum Image {}

/// Data, or something for each datum.
#[derive(Debug)]
pub enum Data {}

impl Kind for Image {}
impl Kind for Data {}

/// Reason why a back end failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BackendError {
    /// Two arrays that belong together differ in length.
    #[error("an array of {found} values was used where {expected} were expected")]
    Length {
        /// Expected number of values.
        expected: usize,
        /// Found number of values.
        found: usize,
    },
    /// The device refused or broke.
    #[error(transparent)]
    Device(PassedOn),
    /// Another member of the group has stopped or failed, and reports the reason.
    #[error("another device or process of this run has stopped or failed")]
    PeerAborted,
}

coded!(BackendError = "device"; Device);

/// Puts an image into the values of a `[z, y, x]` volume.
type Fill = dyn FnOnce(&mut [f32]) -> Result<(), BackendError> + Send;

/// An image on its way from a device, as it was when this was made.
pub struct PendingVolume {
    fill: Box<Fill>,
    on_device: Option<DeviceImage>,
}

impl PendingVolume {
    /// Returns an image that `fill` puts into the values of a `[z, y, x]` volume.
    pub fn new(fill: impl FnOnce(&mut [f32]) -> Result<(), BackendError> + Send + 'static) -> Self {
        Self { fill: Box::new(fill), on_device: None }
    }

    /// Returns the same with the image where a window can draw it.
    pub fn with(self, on_device: Option<DeviceImage>) -> Self {
        Self { on_device, ..self }
    }

    /// Takes the image that a window can draw out, where its device made one.
    pub fn take_on_device(&mut self) -> Option<DeviceImage> {
        self.on_device.take()
    }

    /// Fills the values of a volume, and waits for the device where it must. It may be called on any thread.
    ///
    /// # Errors
    /// Device failure, another number of values.
    pub fn fill(self, values: &mut [f32]) -> Result<(), BackendError> {
        (self.fill)(values)
    }
}

/// An image in the memory of the device that a window draws with. Only the back end that makes it and the renderer look into it.
#[derive(Clone)]
pub struct DeviceImage(Arc<dyn Any + Send + Sync>);

impl DeviceImage {
    /// Hides an image.
    pub fn new<T: Any + Send + Sync>(image: Arc<T>) -> Self {
        Self(image)
    }

    /// Returns the image, if it is of this type.
    pub fn open<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl Debug for DeviceImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeviceImage")
    }
}

/// Rows of an array, each for several consecutive rows of another one: values that all time-of-flight bins of a line share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Values of a row.
    pub len: usize,
    /// Rows of the other array for each.
    pub repeats: usize,
}

impl Rows {
    /// Returns the rows of the smaller array for whole rows of the larger one.
    pub fn in_lines(self, range: Range<usize>) -> Range<usize> {
        range.start / self.repeats..range.end / self.repeats
    }

    /// Returns the place in the larger array, from `at` on, and the range in the smaller one of each row of the larger.
    fn of(self, at: usize, range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let num_rows = range.len() / self.len.max(1);
        (0..num_rows * self.repeats).map(move |row| {
            let start = range.start + row / self.repeats * self.len;
            (at + row * self.len, start..start + self.len)
        })
    }
}

/// Arrays of f32 on a device. Operations of one algorithm alone are a trait of that algorithm. Results come as f64 on the host.
/// Every call may fail.
pub trait Backend: Send {
    /// True if [`Backend::upload`] shares the values instead of copying them.
    const SHARES_MEMORY: bool;

    /// An array on the device.
    type Array<K: Kind>: Send;

    /// Regions of interest on the device.
    type Masks: Send;

    /// A map between voxels on the device.
    type VoxelMap: Send;

    /// State of copies of images to the host during the computation.
    type Display: Send;

    /// Returns the device in words.
    fn name(&self) -> String;

    /// Waits until everything asked before is done.
    ///
    /// # Errors
    /// Device failure, also of an earlier call.
    fn finish(&mut self) -> Result<(), BackendError>;

    /// Begins to measure how long kernels take by the clock of the device; false where that is not possible.
    ///
    /// # Errors
    /// Device failure.
    fn time_kernels(&mut self) -> Result<bool, BackendError> {
        Ok(false)
    }

    /// Returns the seconds of the measured kernels since the last call, without the time between them; `None` where they are not
    /// measured, or were too many. Waits for them.
    ///
    /// # Errors
    /// Device failure.
    fn take_kernel_secs(&mut self) -> Result<Option<f64>, BackendError> {
        Ok(None)
    }

    /// Makes an array of zeros.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn zeros<K: Kind>(&mut self, len: usize) -> Result<Self::Array<K>, BackendError>;

    /// Makes an array of these values. The host shares them without a copy.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn upload<K: Kind>(&mut self, values: Arc<Vec<f32>>) -> Result<Self::Array<K>, BackendError>;

    /// Hands the values of an array to `read`, on the host.
    ///
    /// # Errors
    /// Device failure.
    fn read<K: Kind, R>(&mut self, array: &Self::Array<K>, read: impl FnOnce(&[f32]) -> R) -> Result<R, BackendError>;

    /// `array` = value.
    ///
    /// # Errors
    /// Device failure.
    fn fill<K: Kind>(&mut self, array: &mut Self::Array<K>, value: f32) -> Result<(), BackendError>;

    /// x\[at..\] *= y\[range\].
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn multiply<K: Kind>(
        &mut self,
        x: &mut Self::Array<K>,
        at: usize,
        y: &Self::Array<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError>;

    /// x\[at..\] += scale · y\[range\].
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn add_scaled<K: Kind>(
        &mut self,
        x: &mut Self::Array<K>,
        at: usize,
        scale: f32,
        y: &Self::Array<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError>;

    /// Σ x\[at..\] y\[range\] in f64, in an order that does not depend on the number of threads.
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn dot<K: Kind>(
        &mut self,
        x: &Self::Array<K>,
        at: usize,
        y: &Self::Array<K>,
        range: Range<usize>,
    ) -> Result<f64, BackendError>;

    /// x\[at..\] *= y\[range\], with each row of y for several rows of x.
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn multiply_rows<K: Kind>(
        &mut self,
        x: &mut Self::Array<K>,
        at: usize,
        y: &Self::Array<K>,
        range: Range<usize>,
        rows: Rows,
    ) -> Result<(), BackendError> {
        rows.of(at, range).try_for_each(|(at, row)| self.multiply(x, at, y, row))
    }

    /// x\[at..\] += y\[range\], with each row of y for several rows of x.
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn add_rows<K: Kind>(
        &mut self,
        x: &mut Self::Array<K>,
        at: usize,
        y: &Self::Array<K>,
        range: Range<usize>,
        rows: Rows,
    ) -> Result<(), BackendError> {
        rows.of(at, range).try_for_each(|(at, row)| self.add_scaled(x, at, 1.0, y, row))
    }

    /// Σ x\[at..\] y\[range\] in f64, with each row of y for several rows of x.
    ///
    /// # Errors
    /// Ranges outside the arrays, device failure.
    fn dot_rows<K: Kind>(
        &mut self,
        x: &Self::Array<K>,
        at: usize,
        y: &Self::Array<K>,
        range: Range<usize>,
        rows: Rows,
    ) -> Result<f64, BackendError> {
        rows.of(at, range).map(|(at, row)| self.dot(x, at, y, row)).sum()
    }

    /// Brings the table of a map between voxels to the device.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn voxel_map(&mut self, map: VoxelMap) -> Result<Self::VoxelMap, BackendError>;

    /// Brings maps that are applied one after the other to the device, to images that are zero outside the field of view. They may
    /// be fewer there.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn voxel_maps(&mut self, maps: Vec<VoxelMap>) -> Result<Vec<Self::VoxelMap>, BackendError> {
        maps.into_iter().map(|map| self.voxel_map(map)).collect()
    }

    /// Returns true if a map sets the values of its output that are no voxels to 0; others leave them as they are.
    fn fills(_map: &Self::VoxelMap) -> bool {
        false
    }

    /// `out` = the map of x. Values of `out` that are no voxels stay, but for maps that fill.
    ///
    /// # Errors
    /// Arrays of other lengths, device failure.
    fn map_voxels(
        &mut self,
        map: &Self::VoxelMap,
        x: &Self::Array<Image>,
        out: &mut Self::Array<Image>,
    ) -> Result<(), BackendError>;

    /// Brings regions to the device. `index` gives the place in an image array of a voxel of a `[z, y, x]` volume.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn masks(&mut self, masks: &[RoiMask], index: &dyn Fn(usize) -> usize) -> Result<Self::Masks, BackendError>;

    /// Sums over each region of an image array.
    ///
    /// # Errors
    /// Device failure.
    fn roi_sums(&mut self, x: &Self::Array<Image>, masks: &Self::Masks) -> Result<Vec<RoiSums>, BackendError>;

    /// Prepares copies of images to the host while the device continues; `size` = their voxels along x, y and z, `index` as for
    /// [`Backend::masks`]. `None` where that gains nothing.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    fn display(&mut self, size: [usize; 3], index: &dyn Fn(usize) -> usize) -> Result<Option<Self::Display>, BackendError>;

    /// Begins to copy `scale` times an image to the host.
    ///
    /// # Errors
    /// Device failure.
    fn begin_copy(
        &mut self,
        x: &Self::Array<Image>,
        scale: f32,
        display: &mut Self::Display,
    ) -> Result<PendingVolume, BackendError>;
}
