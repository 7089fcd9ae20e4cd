//! Kernels of the embedded PTX, and the arrays that they take. `launches` holds the functions that start them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaView, CudaViewMut, LaunchArgs, LaunchConfig, PushKernelArg as _, sys,
};
use cudarc::nvrtc::Ptx;

use super::device::driver::guarded;
use super::error::CudaError;
use crate::algebra::GpuLimits;

/// Threads of a block in kernels with one thread per value.
pub(super) const BLOCK: u32 = 256;

/// A kernel on a device.
#[derive(Clone)]
pub struct Kernel {
    pub name: &'static str,
    pub function: CudaFunction,
}

/// Contexts and modules that this process has opened, by the device's number. They stay, since to make them takes longer
/// than many a reconstruction.
static OPENED: Mutex<BTreeMap<usize, Opened>> = Mutex::new(BTreeMap::new());

struct Opened {
    context: Arc<CudaContext>,
    /// By the address of their PTX, which is embedded in the program.
    modules: HashMap<usize, Arc<CudaModule>>,
}

/// Returns the context of a device. A context that an error has broken is given up: a new one is made once the old one has no
/// users.
pub(super) fn context(number: usize) -> Result<Arc<CudaContext>, CudaError> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(opened_device) = opened.get(&number) {
        if guarded("wait for the device", || opened_device.context.synchronize()).is_ok() {
            return Ok(Arc::clone(&opened_device.context));
        }
        opened.remove(&number);
    }
    let context = guarded("open the device", || CudaContext::new(number))?;
    #[allow(unsafe_code)]
    // SAFETY: all arrays are used on the one stream that they were made on, in its order; the display copy, the only other
    // stream, waits for events before and is waited for after (src/engine/cuda/display.rs).
    unsafe {
        context.disable_event_tracking();
    }
    opened.insert(number, Opened { context: Arc::clone(&context), modules: HashMap::new() });
    Ok(context)
}

/// The kernels of one PTX file.
pub struct Module(Arc<CudaModule>);

impl Module {
    /// Has the driver compile an embedded PTX file, on its first use; compilations of earlier processes are in its cache.
    pub fn load(context: &Arc<CudaContext>, ptx: &'static str) -> Result<Self, CudaError> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let opened_device =
            opened.get_mut(&context.ordinal()).filter(|opened_device| Arc::ptr_eq(&opened_device.context, context));
        let key = ptx.as_ptr() as usize;
        if let Some(module) = opened_device.as_ref().and_then(|opened_device| opened_device.modules.get(&key)) {
            return Ok(Self(Arc::clone(module)));
        }
        let module = guarded("load kernels", || context.load_module(Ptx::from_src(ptx)))?;
        if let Some(opened_device) = opened_device {
            opened_device.modules.insert(key, Arc::clone(&module));
        }
        Ok(Self(module))
    }

    /// Returns a kernel by its name.
    pub fn kernel(&self, name: &'static str) -> Result<Kernel, CudaError> {
        let function = guarded("find a kernel", || self.0.load_function(name))?;
        Ok(Kernel { name, function })
    }
}

impl Kernel {
    /// Lets a block use this much dynamic shared memory.
    pub fn allow_shared_bytes(&self, bytes: u32) -> Result<(), CudaError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        guarded("set the shared memory of a kernel", || self.function.set_attribute(attribute, bytes as i32))
    }

    /// Returns the shape of a launch of as many blocks as are resident at once.
    pub fn resident_grid(&self, limits: &GpuLimits, threads: u32) -> Result<LaunchConfig, CudaError> {
        let num_blocks = self.resident_blocks(threads, 0)? * limits.num_multiprocessors;
        Ok(LaunchConfig { grid_dim: (num_blocks.max(1), 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 })
    }

    /// Blocks of this shape that a multiprocessor holds at once.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, CudaError> {
        guarded("ask how many blocks fit", || {
            self.function.occupancy_max_active_blocks_per_multiprocessor(threads, shared_bytes as usize, None)
        })
    }
}

/// Returns the shape of a launch with one thread per value.
pub(super) fn one_each(len: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks(len, BLOCK), 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 }
}

/// Blocks of `threads` that `len` values need. Never none, which the driver refuses: a share of a subset may be empty.
pub(super) fn blocks(len: usize, threads: u32) -> u32 {
    u32::try_from(len.div_ceil(threads as usize).max(1)).unwrap_or(u32::MAX)
}

/// An array that a kernel reads as values of type `T`.
pub trait Readable<T> {
    /// Appends it to the arguments of a launch.
    fn push<'a>(&'a self, launch: &mut LaunchArgs<'a>);
}

/// An array that a kernel changes, of values of type `T`.
pub trait Writable<T> {
    /// Appends it to the arguments of a launch.
    fn push<'a>(&'a mut self, launch: &mut LaunchArgs<'a>);
}

/// Makes an array type an argument of kernels, also with several values at a time.
macro_rules! argument {
    ($trait:ident, $values:ty, $array:ty, [$($generics:tt)*] $($mutable:tt)?) => {
        impl<$($generics)*> $trait<$values> for $array {
            fn push<'a>(&'a $($mutable)? self, launch: &mut LaunchArgs<'a>) {
                launch.arg(self);
            }
        }
    };
}

argument!(Readable, T, CudaSlice<T>, [T]);
argument!(Readable, T, CudaView<'_, T>, [T]);
argument!(Readable, [T; N], CudaSlice<T>, [T, const N: usize]);
argument!(Writable, T, CudaSlice<T>, [T] mut);
argument!(Writable, T, CudaViewMut<'_, T>, [T] mut);
argument!(Writable, [T; N], CudaSlice<T>, [T, const N: usize] mut);
