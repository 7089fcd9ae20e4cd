//! NCCL, which adds images of several GPUs over the fastest way between them. It is looked for at run time, as the driver is.
//!
//! Four functions of it are enough. (cudarc has them too, but does not look for the name that the library has where only programs are
//! run: `libnccl.so.2`.)

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, DeviceRepr};
use libloading::Library;

use super::CudaError;

const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

type Comm = *mut c_void;
type Status = c_int;

/// The functions, as `nccl.h` has them.
struct Functions {
    comm_init_all: unsafe extern "C" fn(*mut Comm, c_int, *const c_int) -> Status,
    all_reduce: unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, *mut c_void) -> Status,
    comm_abort: unsafe extern "C" fn(Comm) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    _library: Library,
}

/// What it is asked to add; the numbers of `ncclDataType_t`.
pub(super) trait Summed: DeviceRepr {
    const TYPE: c_int;
}

impl Summed for u64 {
    const TYPE: c_int = 5;
}

impl Summed for f32 {
    const TYPE: c_int = 7;
}

/// `ncclSum`.
const SUM: c_int = 0;

impl Functions {
    #[allow(unsafe_code)]
    fn load() -> Result<Self, String> {
        let found = NAMES.iter().find_map(|name| {
            // SAFETY: NCCL's constructors have no requirements.
            unsafe { Library::new(name) }.ok()
        });
        let library = found.ok_or_else(|| format!("{} was not found", NAMES[0]))?;
        let missing = |error: libloading::Error| error.to_string();
        // SAFETY: these are the signatures of NCCL 2's functions of these names.
        unsafe {
            Ok(Self {
                comm_init_all: *library.get(b"ncclCommInitAll\0").map_err(missing)?,
                all_reduce: *library.get(b"ncclAllReduce\0").map_err(missing)?,
                comm_abort: *library.get(b"ncclCommAbort\0").map_err(missing)?,
                error_string: *library.get(b"ncclGetErrorString\0").map_err(missing)?,
                _library: library,
            })
        }
    }

    #[allow(unsafe_code)]
    fn check(&self, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: it gives a text that is never freed for any number.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(text.to_string_lossy().into_owned())
    }
}

fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(Functions::load).as_ref().map_err(Clone::clone)
}

/// The communicators of several GPUs.
#[derive(Debug)]
struct Clique {
    /// `None` once they were given up.
    comms: Mutex<Option<Vec<Comm>>>,
}

#[allow(unsafe_code)]
// SAFETY: NCCL lets any thread use a communicator, one at a time each; each GPU's is used by its own thread alone, but for giving
// all of them up, which NCCL allows at any time.
mod across_threads {
    unsafe impl Send for super::Clique {}
    unsafe impl Sync for super::Clique {}
}

impl Clique {
    #[allow(unsafe_code)]
    fn give_up(&self) {
        let comms = self.comms.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(comms), Ok(nccl)) = (comms, functions()) {
            for comm in comms {
                // SAFETY: nobody else has it any longer, and whoever waits for it is let go.
                let _ = unsafe { (nccl.comm_abort)(comm) };
            }
        }
    }
}

impl Drop for Clique {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// One GPU's link to the others.
#[derive(Clone, Debug)]
pub(super) struct Link {
    clique: Arc<Clique>,
    index: usize,
}

impl Link {
    /// Links GPUs by their numbers, in this order.
    ///
    /// # Errors
    /// NCCL is not there or refuses, in its words.
    #[allow(unsafe_code)]
    pub fn between(numbers: &[usize]) -> Result<Vec<Link>, String> {
        let nccl = functions()?;
        let numbers: Vec<c_int> = numbers.iter().map(|&number| number as c_int).collect();
        let mut comms: Vec<Comm> = vec![std::ptr::null_mut(); numbers.len()];
        // SAFETY: both are as long as it is told.
        nccl.check(unsafe { (nccl.comm_init_all)(comms.as_mut_ptr(), numbers.len() as c_int, numbers.as_ptr()) })?;
        let clique = Arc::new(Clique { comms: Mutex::new(Some(comms)) });
        Ok((0..numbers.len()).map(|index| Link { clique: Arc::clone(&clique), index }).collect())
    }

    /// Puts on the stream: `values` = their sum over all GPUs, the same bits on each. Every GPU's thread has to call it.
    ///
    /// # Errors
    /// NCCL refuses, or the links were given up.
    #[allow(unsafe_code)]
    pub fn sum<T: Summed>(&self, stream: &Arc<CudaStream>, values: &mut CudaSlice<T>) -> Result<(), CudaError> {
        let nccl = functions().map_err(|message| CudaError::Link { message })?;
        let comm = {
            let comms = self.clique.comms.lock().unwrap_or_else(PoisonError::into_inner);
            comms.as_ref().map(|comms| comms[self.index])
        };
        let Some(comm) = comm else { return Err(CudaError::Link { message: "a GPU has failed".into() }) };
        let count = values.len();
        let (pointer, _record) = values.device_ptr_mut(stream);
        let place = pointer as *mut c_void;
        // SAFETY: the array is as long as it is told, and on the GPU of this communicator and stream.
        let status = unsafe { (nccl.all_reduce)(place, place, count, T::TYPE, SUM, comm, stream.cu_stream().cast()) };
        nccl.check(status).map_err(|message| CudaError::Link { message })
    }

    /// Lets go whoever waits for this GPU.
    pub fn give_up(&self) {
        self.clique.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::CudaBackend;

    /// As far as one GPU can tell.
    #[test]
    fn one_gpu_is_its_own_sum() {
        let Ok(backend) = CudaBackend::open(0) else {
            println!("skipped: no CUDA device");
            return;
        };
        let links = match Link::between(&[0]) {
            Ok(links) => links,
            Err(text) => {
                assert!(text.contains("libnccl.so.2"), "{text}");
                println!("skipped: {text}");
                return;
            }
        };
        let mut floats = backend.stream.clone_htod(&[1.5_f32, -2.0]).unwrap();
        let mut integers = backend.stream.clone_htod(&[u64::MAX, 7]).unwrap();
        links[0].sum(&backend.stream, &mut floats).unwrap();
        links[0].sum(&backend.stream, &mut integers).unwrap();
        assert_eq!(backend.stream.clone_dtoh(&floats).unwrap(), [1.5, -2.0]);
        assert_eq!(backend.stream.clone_dtoh(&integers).unwrap(), [u64::MAX, 7]);
        links[0].give_up();
        let error = links[0].sum(&backend.stream, &mut floats).unwrap_err().to_string();
        assert!(error.contains("a GPU has failed"), "{error}");
        assert!(Link::between(&[0, 0]).is_err_and(|text| !text.is_empty()), "one GPU is not two");
    }
}
