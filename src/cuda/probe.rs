//! Which CUDA devices there are, found out without a panic on a machine that has none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result, sys};

use super::CudaError;
use super::kernel::context;

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
    /// Memory that nobody uses now, bytes.
    pub free_memory_bytes: usize,
    /// (major, minor) version of CUDA that the driver supports.
    pub driver_cuda_version: (u32, u32),
    /// How much of everything it has.
    pub limits: DeviceLimits,
}

impl DeviceInfo {
    /// Why it cannot be used; `None` where it can.
    pub fn why_not(&self) -> Option<CudaError> {
        let is_old = self.compute_capability < MIN_COMPUTE_CAPABILITY;
        is_old.then(|| CudaError::OldDevice { name: self.name.clone(), found: self.compute_capability })
    }
}

/// How much a CUDA device can do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Multiprocessors.
    pub num_multiprocessors: u32,
    /// Threads that go in step.
    pub warp_size: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most threads that a multiprocessor holds at a time.
    pub max_threads_per_multiprocessor: u32,
    /// Most blocks that a multiprocessor holds at a time.
    pub max_blocks_per_multiprocessor: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory of a multiprocessor, bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// Most shared memory of a block that asks for it, bytes.
    pub shared_bytes_per_block: u32,
    /// Second-level cache, bytes.
    pub l2_cache_bytes: u32,
    /// Highest clock of the multiprocessors, kHz.
    pub clock_khz: u32,
    /// Highest clock of the memory, kHz; the data rate is twice that.
    pub memory_clock_khz: u32,
    /// Width of the memory's bus, bits.
    pub memory_bus_bits: u32,
}

impl DeviceLimits {
    fn of(context: &CudaContext) -> Result<Self, DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let limit = |attribute: Attribute| context.attribute(attribute).map(i32::unsigned_abs);
        Ok(Self {
            num_multiprocessors: limit(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            warp_size: limit(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            max_threads_per_block: limit(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
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
}

/// All CUDA devices of this machine, at least one.
///
/// # Errors
/// No driver, a driver that is too old or broken, no device.
pub fn devices() -> Result<Vec<DeviceInfo>, CudaError> {
    let driver_cuda_version = driver_cuda_version()?;
    let count = guarded("count the devices", CudaContext::device_count)?;
    let describe = |number| {
        let context = guarded("open a device", || CudaContext::new(number))?;
        device_info(&context, driver_cuda_version)
    };
    (0..usize::try_from(count).unwrap_or(0)).map(describe).collect()
}

/// Opens one device.
///
/// # Errors
/// No driver, a driver that is too old or broken, no such device, too old a device.
pub(super) fn open(number: usize) -> Result<(DeviceInfo, Arc<CudaContext>), CudaError> {
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

/// What a device says about itself. Opening its context takes a fraction of a second.
fn device_info(context: &CudaContext, driver_cuda_version: (u32, u32)) -> Result<DeviceInfo, CudaError> {
    guarded("describe a device", || {
        let number = context.ordinal();
        let (major, minor) = context.compute_capability()?;
        let (free_memory_bytes, memory_bytes) = context.mem_get_info()?;
        let compute_capability = (major.unsigned_abs(), minor.unsigned_abs());
        let name = context.name()?;
        let limits = DeviceLimits::of(context)?;
        Ok(DeviceInfo { number, name, compute_capability, memory_bytes, free_memory_bytes, driver_cuda_version, limits })
    })
}

/// The version of CUDA that the driver supports, after making sure that there is a driver, that it starts and that it
/// is new enough.
fn driver_cuda_version() -> Result<(u32, u32), CudaError> {
    #[allow(unsafe_code)]
    // SAFETY: opens and closes the driver's library, whose constructors have no requirements.
    let present = unsafe { sys::is_culib_present() };
    if !present {
        return Err(CudaError::NoDriver);
    }
    let version = guarded("start", || {
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
    guarded("start", result::init)?;
    Ok(found)
}

/// Calls the driver. cudarc panics where the driver's library lacks a function; that becomes an error here.
pub(super) fn guarded<T>(doing: &'static str, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, CudaError> {
    // Nothing that the call had changed is used again after a panic, except to drop it.
    let outcome = catch_unwind(AssertUnwindSafe(|| call().map_err(|error| describe(doing, error))));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(CudaError::Library { doing, message: text.unwrap_or("no message").to_owned() })
    })
}

fn describe(doing: &'static str, error: DriverError) -> CudaError {
    match error.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => CudaError::NoDevice,
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => CudaError::OutOfMemory { doing },
        sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => CudaError::TimedOut { doing },
        code => {
            let words = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
            CudaError::Driver { doing, message: format!("{words} ({code:?})") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_the_driver_library_is_an_error() {
        let outcome = guarded("test", || -> Result<(), DriverError> { panic!("missing symbol {}", "cuInit") });
        assert_eq!(outcome, Err(CudaError::Library { doing: "test", message: "missing symbol cuInit".into() }));
    }

    #[test]
    fn looking_for_devices_finds_one_or_says_why_not() {
        match devices() {
            Ok(devices) => assert!(!devices.is_empty() && devices[0].memory_bytes > 0),
            Err(error) => assert!(error.to_string().contains("NVIDIA")),
        }
    }
}
