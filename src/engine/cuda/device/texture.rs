//! Textures in three dimensions, which the GPU interpolates itself: linearly between the middles of their cells, 0 outside. Its
//! weights have eight bits after the point.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr as _, LaunchArgs, PushKernelArg as _, sys};

use super::driver::guarded;
use crate::cuda::error::CudaError;

/// A texture of f32 values, `[z][y][x]` with sizes x, y, z.
pub struct Texture {
    stream: Arc<CudaStream>,
    array: sys::CUarray,
    object: sys::CUtexObject,
    size: [usize; 3],
}

#[allow(unsafe_code)]
// SAFETY: the handles are numbers of the driver, which may be used on any thread that the context is bound to; every use binds
// it.
unsafe impl Send for Texture {}

impl Texture {
    /// Makes a texture of this size, of no values yet.
    ///
    /// # Errors
    /// Larger than the device allows, not enough memory, device failure.
    pub fn new(stream: &Arc<CudaStream>, size: [usize; 3]) -> Result<Self, CudaError> {
        let [width, height, depth] = size;
        let shape = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: sys::CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
            Flags: 0,
        };
        let mut texture = Self { stream: Arc::clone(stream), array: std::ptr::null_mut(), object: 0, size };
        guarded("make a texture", || {
            stream.context().bind_to_thread()?;
            #[allow(unsafe_code)]
            // SAFETY: the descriptor lives through the call, which writes one handle through a valid pointer.
            unsafe { sys::cuArray3DCreate_v2(&mut texture.array, &shape) }.result()
        })?;
        let border = sys::CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER;
        let linear = sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR;
        #[allow(unsafe_code)]
        // SAFETY: both descriptors are plain numbers for which zero is a value.
        let (mut resource, mut reading): (sys::CUDA_RESOURCE_DESC, sys::CUDA_TEXTURE_DESC) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = texture.array;
        reading.addressMode = [border; 3];
        reading.filterMode = linear;
        guarded("make a texture", || {
            #[allow(unsafe_code)]
            // SAFETY: the descriptors live through the call, the array is the one made above; a handle is written.
            unsafe { sys::cuTexObjectCreate(&mut texture.object, &resource, &reading, std::ptr::null()) }.result()
        })?;
        Ok(texture)
    }

    /// Takes over all values, `[z][y][x]`.
    ///
    /// # Errors
    /// Another number of values, device failure.
    pub fn fill(&mut self, values: &CudaSlice<f32>) -> Result<(), CudaError> {
        let [width, height, depth] = self.size;
        let expected = width * height * depth;
        if values.len() != expected {
            return Err(CudaError::Length { expected, found: values.len() });
        }
        let (from, _in_use) = values.device_ptr(&self.stream);
        let (row_bytes, nowhere) = (width * size_of::<f32>(), std::ptr::null_mut());
        let copy = sys::CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: nowhere,
            srcDevice: from,
            srcArray: std::ptr::null_mut(),
            reserved0: nowhere,
            srcPitch: row_bytes,
            srcHeight: height,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
            dstHost: nowhere,
            dstDevice: 0,
            dstArray: self.array,
            reserved1: nowhere,
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: row_bytes,
            Height: height,
            Depth: depth,
        };
        guarded("copy values into a texture", || {
            self.stream.context().bind_to_thread()?;
            #[allow(unsafe_code)]
            // SAFETY: the values are as many as the array holds (checked above), and both live on this stream's device.
            unsafe { sys::cuMemcpy3DAsync_v2(&copy, self.stream.cu_stream()) }.result()
        })
    }

    /// Appends its handle to the arguments of a launch.
    pub fn push<'a>(&'a self, launch: &mut LaunchArgs<'a>) {
        launch.arg(&self.object);
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        // A device that fails here has reported an error before.
        let _ = guarded("free a texture", || {
            self.stream.context().bind_to_thread()?;
            self.stream.synchronize()?;
            #[allow(unsafe_code)]
            // SAFETY: the handles are this texture's own, 0 where making one failed, and nothing uses them any more.
            unsafe {
                if self.object != 0 {
                    sys::cuTexObjectDestroy(self.object).result()?;
                }
                if self.array.is_null() { Ok(()) } else { sys::cuArrayDestroy(self.array).result() }
            }
        });
    }
}
