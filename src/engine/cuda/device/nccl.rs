//! NCCL, which adds images of several GPUs over the fastest way between them. It is looked for at run time, as the driver is.
//!
//! A few functions of it are enough. (cudarc has them too, but does not look for the name that the library has where only
//! programs are run: `libnccl.so.2`.)

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, DeviceRepr};
use libloading::Library;

use super::driver::guarded;
use crate::algebra::{BackendError, Collective};
use crate::cuda::error::CudaError;
use crate::cuda::kernel::context;

const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

type Comm = *mut c_void;
type Status = c_int;

/// `ncclUniqueId`: by it GPUs find each other, also those of several processes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cuda) struct Name(pub [u64; Name::LEN]);

impl Name {
    /// Numbers of a name.
    pub const LEN: usize = 16;

    /// Makes a new one.
    ///
    /// # Errors
    /// NCCL is missing or refuses, with its message.
    #[allow(unsafe_code)]
    pub fn new() -> Result<Self, String> {
        let (nccl, mut name) = (functions()?, Self([0; Self::LEN]));
        // SAFETY: it is written to, and as long as NCCL's 128 bytes.
        nccl.check(unsafe { (nccl.get_unique_id)(&mut name) })?;
        Ok(name)
    }
}

/// The functions, as `nccl.h` has them.
struct Functions {
    get_unique_id: unsafe extern "C" fn(*mut Name) -> Status,
    group_start: unsafe extern "C" fn() -> Status,
    comm_init_rank: unsafe extern "C" fn(*mut Comm, c_int, Name, c_int) -> Status,
    group_end: unsafe extern "C" fn() -> Status,
    all_reduce: unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, *mut c_void) -> Status,
    comm_abort: unsafe extern "C" fn(Comm) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    _library: Library,
}

/// Numbers that groups sum.
pub(in crate::cuda) trait Summed: DeviceRepr {
    /// Number of the type in `ncclDataType_t`.
    const TYPE: c_int;

    /// Sums values in the memory of the computer.
    fn sum_on_host(meeting: &dyn Collective, values: &mut [Self]) -> Result<(), BackendError>
    where
        Self: Sized;
}

impl Summed for u64 {
    const TYPE: c_int = 5;

    fn sum_on_host(meeting: &dyn Collective, values: &mut [u64]) -> Result<(), BackendError> {
        meeting.sum_integers(values)
    }
}

impl Summed for f32 {
    const TYPE: c_int = 7;

    fn sum_on_host(meeting: &dyn Collective, mut values: &mut [f32]) -> Result<(), BackendError> {
        meeting.sum_in_order(&mut values)
    }
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
                get_unique_id: *library.get(b"ncclGetUniqueId\0").map_err(missing)?,
                group_start: *library.get(b"ncclGroupStart\0").map_err(missing)?,
                comm_init_rank: *library.get(b"ncclCommInitRank\0").map_err(missing)?,
                group_end: *library.get(b"ncclGroupEnd\0").map_err(missing)?,
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

/// Looks for NCCL.
///
/// # Errors
/// It is missing, as the end of a sentence.
pub(in crate::cuda) fn look() -> Result<(), String> {
    functions().map(drop)
}

fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(Functions::load).as_ref().map_err(Clone::clone)
}

/// The communicators of this process's GPUs.
#[derive(Debug)]
pub(in crate::cuda) struct Clique {
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
    fn is_whole(&self) -> bool {
        self.comms.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Releases all threads and GPUs that wait.
    #[allow(unsafe_code)]
    pub fn give_up(&self) {
        let comms = self.comms.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(comms), Ok(nccl)) = (comms, functions()) {
            for comm in comms {
                // SAFETY: no other owner is left, and the call releases all that wait for it.
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
pub(in crate::cuda) struct Link {
    clique: Arc<Clique>,
    index: usize,
}

/// Links of GPUs of this process alone. They are used again when they are free: to make them takes long.
static IDLE_LINKS: Mutex<Vec<(Vec<usize>, Arc<Clique>)>> = Mutex::new(Vec::new());

impl Link {
    /// Links GPUs of this process, by their numbers, in this order.
    ///
    /// # Errors
    /// NCCL is missing or refuses, with its message.
    pub fn among(numbers: &[usize]) -> Result<Vec<Link>, String> {
        let mut idle = IDLE_LINKS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |clique: &Arc<Clique>| Arc::strong_count(clique) == 1;
        idle.retain(|(of, clique)| !is_free(clique) || (of == numbers && clique.is_whole()));
        if let Some((_, clique)) = idle.iter().find(|(_, clique)| is_free(clique)) {
            return Ok(Self::of_clique(clique, numbers.len()));
        }
        let links = Self::between(Name::new()?, 0, numbers.len(), numbers)?;
        idle.extend(links.first().map(|link| (numbers.to_vec(), Arc::clone(&link.clique))));
        Ok(links)
    }

    fn of_clique(clique: &Arc<Clique>, count: usize) -> Vec<Link> {
        (0..count).map(|index| Link { clique: Arc::clone(clique), index }).collect()
    }

    /// Links this process's GPUs, by their numbers, with each other and with those of other processes that have received the same
    /// name. They are those from `first` on, of `count` in all. All processes call it at the same time.
    ///
    /// # Errors
    /// NCCL is missing or refuses, with its message.
    #[allow(unsafe_code)]
    pub fn between(name: Name, first: usize, count: usize, numbers: &[usize]) -> Result<Vec<Link>, String> {
        let nccl = functions()?;
        let mut comms: Vec<Comm> = vec![std::ptr::null_mut(); numbers.len()];
        // SAFETY: it has no requirements; what follows is begun when the group ends.
        nccl.check(unsafe { (nccl.group_start)() })?;
        let mut begin = |(place, &number): (usize, &usize)| {
            // NCCL takes the GPU that is this thread's at the moment.
            let opened = context(number).and_then(|context| guarded("use a device", || context.bind_to_thread()));
            opened.map_err(|error| error.to_string())?;
            // SAFETY: where the communicator is put stays until the group has ended.
            nccl.check(unsafe { (nccl.comm_init_rank)(&mut comms[place], count as c_int, name, (first + place) as c_int) })
        };
        let begun = numbers.iter().enumerate().try_for_each(&mut begin);
        // SAFETY: as above.
        let ended = nccl.check(unsafe { (nccl.group_end)() });
        let is_whole = begun.is_ok() && ended.is_ok();
        let clique = Arc::new(Clique { comms: Mutex::new(is_whole.then_some(comms)) });
        begun.and(ended)?;
        Ok(Self::of_clique(&clique, numbers.len()))
    }

    /// Those of this process.
    pub fn clique(&self) -> &Arc<Clique> {
        &self.clique
    }

    /// Puts on the stream: `values` = their sum over all GPUs, the same bits on each. Every GPU's thread has to call it.
    ///
    /// # Errors
    /// NCCL refuses, or the links were given up, for somebody has left.
    #[allow(unsafe_code)]
    pub fn sum<T: Summed>(&self, stream: &Arc<CudaStream>, values: &mut CudaSlice<T>) -> Result<(), BackendError> {
        let nccl = functions().map_err(|message| CudaError::Link { message })?;
        let comm = {
            let comms = self.clique.comms.lock().unwrap_or_else(PoisonError::into_inner);
            comms.as_ref().map(|comms| comms[self.index])
        };
        let Some(comm) = comm else { return Err(BackendError::PeerAborted) };
        let count = values.len();
        let (pointer, _record) = values.device_ptr_mut(stream);
        let place = pointer as *mut c_void;
        // SAFETY: the array has `count` values and is on the GPU of this communicator and stream.
        let status = unsafe { (nccl.all_reduce)(place, place, count, T::TYPE, SUM, comm, stream.cu_stream().cast()) };
        nccl.check(status).map_err(|message| CudaError::Link { message }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::backend::CudaBackend;

    /// As far as one GPU can tell.
    #[test]
    fn one_gpu_is_its_own_sum() {
        let Ok(backend) = CudaBackend::open(0) else {
            println!("skipped: no CUDA device");
            return;
        };
        let links = match Link::among(&[0]) {
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
        // Used again when they are free, and made anew where somebody has them or has given them up.
        let clique = |links: &[Link]| Arc::as_ptr(links[0].clique());
        let (first, others) = (clique(&links), Link::among(&[0]).unwrap());
        assert_ne!(clique(&others), first);
        drop(links);
        let mut links = Link::among(&[0]).unwrap();
        assert_eq!(clique(&links), first);
        links[0].sum(&backend.stream, &mut floats).unwrap();
        assert_eq!(backend.stream.clone_dtoh(&floats).unwrap(), [1.5, -2.0]);
        drop(others);
        links[0].clique().give_up();
        assert_eq!(links[0].sum(&backend.stream, &mut floats), Err(BackendError::PeerAborted));
        links = Link::among(&[0]).unwrap();
        links[0].sum(&backend.stream, &mut floats).unwrap();
        assert!(Link::among(&[0, 0]).is_err_and(|text| !text.is_empty()), "one GPU is not two");
    }
}
