//! Which CUDA devices there are, found out without a panic on a machine that has none.

use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result, sys};

use super::driver::{START, guarded};
use crate::algebra::GpuLimits;
use crate::cuda::error::CudaError;
use crate::cuda::kernel::context;

/// Oldest CUDA whose driver loads PTX ISA 8.0.
const MIN_DRIVER: (u32, u32) = (12, 0);

/// Oldest compute capability that the committed PTX is for.
const MIN_COMPUTE_CAPABILITY: (u32, u32) = (7, 0);

/// A CUDA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number, from 0, as in `cuda:N`.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// (major, minor) compute capability.
    pub compute_capability: (u32, u32),
    /// Memory in all, bytes.
    pub memory_bytes: usize,
    /// Free memory, bytes.
    pub free_memory_bytes: usize,
    /// (major, minor) version of CUDA that the driver supports.
    pub driver_cuda_version: (u32, u32),
    /// Its limits.
    pub limits: GpuLimits,
    /// Reason if the device does not report these figures, which are then zero.
    pub trouble: Option<CudaError>,
}

impl DeviceInfo {
    /// Describes a device that reports no figures.
    fn of_broken(number: usize, driver_cuda_version: (u32, u32), trouble: CudaError) -> Self {
        Self {
            number,
            name: format!("device {number}"),
            compute_capability: (0, 0),
            memory_bytes: 0,
            free_memory_bytes: 0,
            driver_cuda_version,
            limits: GpuLimits::default(),
            trouble: Some(trouble),
        }
    }

    /// Returns the reason if it is unusable; `None` if it is usable.
    pub fn why_not(&self) -> Option<CudaError> {
        let is_old = self.compute_capability < MIN_COMPUTE_CAPABILITY;
        let old = || CudaError::OldDevice { name: self.name.clone(), found: self.compute_capability };
        self.trouble.clone().or_else(|| is_old.then(old))
    }
}

/// Reads the limits of a device.
fn limits_of(context: &CudaContext) -> Result<GpuLimits, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let limit = |attribute: Attribute| context.attribute(attribute).map(i32::unsigned_abs);
    Ok(GpuLimits {
        num_multiprocessors: limit(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        warp_size: limit(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        max_threads_per_block: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_block_size: [
            limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid_size: [
            limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        max_threads_per_multiprocessor: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_blocks_per_multiprocessor: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        registers_per_multiprocessor: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        shared_bytes_per_multiprocessor: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        shared_bytes_per_block: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        l2_cache_bytes: limit(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        clock_khz: limit(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: limit(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        memory_bus_bits: limit(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
    })
}

/// Returns all CUDA devices of this machine, at least one. For a broken device, or one in exclusive use by another program, only
/// the reason is set.
///
/// # Errors
/// No driver, a driver that is too old or broken, no device.
pub fn devices() -> Result<Vec<DeviceInfo>, CudaError> {
    let driver_cuda_version = driver_cuda_version()?;
    let count = guarded("count the devices", CudaContext::device_count)?.max(0) as usize;
    if count == 0 {
        return Err(CudaError::NoDevice);
    }
    let describe = |number| {
        let opened = guarded("open a device", || CudaContext::new(number));
        let info = opened.and_then(|context| device_info(&context, driver_cuda_version));
        info.unwrap_or_else(|trouble| DeviceInfo::of_broken(number, driver_cuda_version, trouble))
    };
    Ok((0..count).map(describe).collect())
}

/// Opens one device.
///
/// # Errors
/// No driver, a driver that is too old or broken, no such device, too old a device.
pub(in crate::cuda) fn open(number: usize) -> Result<(DeviceInfo, Arc<CudaContext>), CudaError> {
    let driver_cuda_version = driver_cuda_version()?;
    let found = guarded("count the devices", CudaContext::device_count)?.max(0) as usize;
    if number >= found {
        return Err(CudaError::NoSuchDevice { asked: number, found });
    }
    let context = context(number)?;
    let info = device_info(&context, driver_cuda_version)?;
    match info.why_not() {
        Some(error) => Err(error),
        None => Ok((info, context)),
    }
}

/// Reads the figures of a device. Opening its context takes a fraction of a second.
fn device_info(context: &CudaContext, driver_cuda_version: (u32, u32)) -> Result<DeviceInfo, CudaError> {
    guarded("describe a device", || {
        let number = context.ordinal();
        let (major, minor) = context.compute_capability()?;
        let (free_memory_bytes, memory_bytes) = context.mem_get_info()?;
        let compute_capability = (major.unsigned_abs(), minor.unsigned_abs());
        let name = context.name()?;
        let limits = limits_of(context)?;
        Ok(DeviceInfo {
            number,
            name,
            compute_capability,
            memory_bytes,
            free_memory_bytes,
            driver_cuda_version,
            limits,
            trouble: None,
        })
    })
}

/// Returns the version of CUDA that the driver supports, after making sure that there is a driver, that it starts and that it
/// is new enough.
fn driver_cuda_version() -> Result<(u32, u32), CudaError> {
    #[allow(unsafe_code)]
    // SAFETY: opens and closes the driver's library, whose constructors have no requirements.
    let present = unsafe { sys::is_culib_present() };
    if !present {
        return Err(CudaError::NoDriver);
    }
    let version = guarded(START, || {
        let mut version = 0;
        #[allow(unsafe_code)]
        // SAFETY: the function writes one int through a pointer that is valid for it.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
        Ok(version.unsigned_abs())
    })?;
    let found = (version / 1000, version % 1000 / 10);
    if found < MIN_DRIVER {
        return Err(CudaError::OldDriver { found });
    }
    guarded(START, result::init)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_device_is_listed_with_its_trouble() {
        let trouble = CudaError::TimedOut { doing: "open a device" };
        let broken = DeviceInfo::of_broken(1, (12, 4), trouble.clone());
        assert_eq!(broken.why_not(), Some(trouble));
    }

    #[test]
    fn looking_for_devices_finds_one_or_says_why_not() {
        match devices() {
            Ok(devices) => {
                assert!(!devices.is_empty());
                assert!(devices.iter().all(|device| device.memory_bytes > 0 || device.why_not().is_some()));
            }
            Err(error) => assert!(error.to_string().contains("NVIDIA")),
        }
    }
}
