//! One CUDA device: arrays in its memory and the launch of each kernel.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use super::probe::guarded;
use super::{CudaError, DeviceInfo, devices};

/// Oldest compute capability that the committed PTX is for.
const MIN_COMPUTE_CAPABILITY: (u32, u32) = (7, 0);

/// Threads of a block in kernels with one thread per value.
const BLOCK: u32 = 256;

/// The device's code for [`CudaDevice::em_update`].
const EM_UPDATE_PTX: &str = include_str!("../../kernels/ptx/em_update.ptx");

/// A CUDA device that is ready to compute. Calls are put on one stream and done in order.
pub struct CudaDevice {
    info: DeviceInfo,
    stream: Arc<CudaStream>,
    em_update: CudaFunction,
}

/// f32 values in the memory of a CUDA device.
pub struct CudaArray(CudaSlice<f32>);

impl CudaArray {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn expect_len(&self, expected: usize) -> Result<(), CudaError> {
        let found = self.len();
        if found == expected { Ok(()) } else { Err(CudaError::Length { expected, found }) }
    }
}

impl CudaDevice {
    /// Opens device `number` and loads the kernels.
    ///
    /// # Errors
    /// No driver, no such device, too old a device or driver.
    pub fn open(number: usize) -> Result<Self, CudaError> {
        let devices = devices()?;
        let found = devices.len();
        let info = devices.into_iter().nth(number).ok_or(CudaError::NoSuchDevice { asked: number, found })?;
        if info.compute_capability < MIN_COMPUTE_CAPABILITY {
            return Err(CudaError::OldDevice { name: info.name, found: info.compute_capability });
        }
        let (stream, em_update) = guarded("load the kernels", || {
            let context = CudaContext::new(number)?;
            let module = context.load_module(Ptx::from_src(EM_UPDATE_PTX))?;
            Ok((context.new_stream()?, module.load_function("em_update")?))
        })?;
        Ok(Self { info, stream, em_update })
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    pub fn zeros(&self, len: usize) -> Result<CudaArray, CudaError> {
        guarded("reserve memory on the device", || self.stream.alloc_zeros(len)).map(CudaArray)
    }

    /// An array of these values.
    ///
    /// # Errors
    /// Not enough memory, device failure.
    pub fn upload(&self, values: &[f32]) -> Result<CudaArray, CudaError> {
        guarded("copy values to the device", || self.stream.clone_htod(values)).map(CudaArray)
    }

    /// The values of an array, once everything asked of the device before is done.
    ///
    /// # Errors
    /// Device failure, also of an earlier call.
    pub fn read(&self, array: &CudaArray) -> Result<Vec<f32>, CudaError> {
        guarded("copy values from the device", || {
            let values = self.stream.clone_dtoh(&array.0)?;
            self.stream.synchronize()?;
            Ok(values)
        })
    }

    /// x = x · correction / sensitivity where the sensitivity is positive, else 0 (`kernels/em_update.cu`). Returns
    /// before it is done.
    ///
    /// # Errors
    /// Different lengths, device failure.
    pub fn em_update(&self, x: &mut CudaArray, correction: &CudaArray, sensitivity: &CudaArray) -> Result<(), CudaError> {
        let len = x.len();
        correction.expect_len(len)?;
        sensitivity.expect_len(len)?;
        if len == 0 {
            return Ok(());
        }
        let num_values = len as u64;
        let num_blocks = u32::try_from(num_values.div_ceil(u64::from(BLOCK))).unwrap_or(u32::MAX);
        let shape = LaunchConfig { grid_dim: (num_blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(&self.em_update);
        launch.arg(&mut x.0).arg(&correction.0).arg(&sensitivity.0).arg(&num_values);
        #[allow(unsafe_code)]
        // SAFETY: the arguments are those of the kernel's signature, in its order and types; it touches the first `len`
        // values of each array, and each has that many.
        guarded("run the kernel em_update", || unsafe { launch.launch(shape) })?;
        Ok(())
    }
}
