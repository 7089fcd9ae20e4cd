//! The GPUs of tests. What holds on each of them is written once, for any [`Gpu`]; `on_each_gpu` makes a test of it for each interface.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tomoscope::algebra::{Backend, Data, Image, Kind};
#[cfg(feature = "cuda")]
use tomoscope::cuda::CudaBackend;
use tomoscope::operator::{Accumulation, LinearOperator, Subset};
use tomoscope::plan::DeviceChoice;
use tomoscope::recon::{EmKernels, TotalVariationKernels};
use tomoscope::task::Task;
use tomoscope::webgpu::{self, DeviceOptions, WebGpuBackend};

use super::support::{largest_difference, relative};

/// The interface to a GPU.
pub trait Gpu: EmKernels + TotalVariationKernels + Sized {
    /// The devices to test with their names; none, said, where there is none and none is required.
    fn all() -> Vec<(&'static str, Self)>;

    /// The device as the user chooses it.
    fn choice(&self) -> DeviceChoice;

    /// One of the values of an [`Each`].
    fn choose<T>(webgpu: T, cuda: T) -> T;
}

impl Gpu for WebGpuBackend {
    fn all() -> Vec<(&'static str, Self)> {
        backends()
    }

    fn choice(&self) -> DeviceChoice {
        DeviceChoice::WebGpu(self.info().number)
    }

    fn choose<T>(webgpu: T, _: T) -> T {
        webgpu
    }
}

#[cfg(feature = "cuda")]
impl Gpu for CudaBackend {
    fn all() -> Vec<(&'static str, Self)> {
        device().map(|device| ("CUDA", device)).into_iter().collect()
    }

    fn choice(&self) -> DeviceChoice {
        DeviceChoice::Cuda(0)
    }

    fn choose<T>(_: T, cuda: T) -> T {
        cuda
    }
}

/// What differs between the interfaces: what rounding may change, and the cases that a software GPU can bear.
pub struct Each<T> {
    pub webgpu: T,
    pub cuda: T,
}

impl<T> Each<T> {
    /// The value of an interface.
    pub fn of<B: Gpu>(self) -> T {
        B::choose(self.webgpu, self.cuda)
    }
}

/// Makes tests of functions that are generic over a [`Gpu`]: each in a module `on_webgpu` and in a module `on_cuda`, and those behind the
/// semicolon in the first alone.
macro_rules! on_each_gpu {
    ($($both:ident),+ $(; webgpu: $($(#[$attribute:meta])* $webgpu:ident),+)? $(,)?) => {
        mod on_webgpu {
            $(
                #[test]
                fn $both() {
                    super::$both::<tomoscope::webgpu::WebGpuBackend>();
                }
            )+
            $($(
                #[test]
                $(#[$attribute])*
                fn $webgpu() {
                    super::$webgpu::<tomoscope::webgpu::WebGpuBackend>();
                }
            )+)?
        }

        #[cfg(feature = "cuda")]
        mod on_cuda {
            $(
                #[test]
                fn $both() {
                    super::$both::<tomoscope::cuda::CudaBackend>();
                }
            )+
        }
    };
}
pub(crate) use on_each_gpu;

/// The first CUDA device; `None`, said, where there is none and none is required.
#[cfg(feature = "cuda")]
pub fn device() -> Option<CudaBackend> {
    match CudaBackend::open(0) {
        Ok(device) => Some(device),
        Err(error) if std::env::var("TOMOSCOPE_REQUIRE_CUDA").is_ok_and(|value| value == "1") => panic!("{error}"),
        Err(error) => {
            println!("skipped: no CUDA device ({error})");
            None
        }
    }
}

/// Waits until no other test uses a GPU through wgpu, and keeps the others waiting to the end of this test's thread. A software GPU
/// takes all cores, and two at a time take ten times as long.
pub fn wait_for_gpu() {
    static GPU: Mutex<()> = Mutex::new(());
    thread_local! {
        static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }
    HELD.with_borrow_mut(|held| _ = held.get_or_insert_with(|| GPU.lock().unwrap_or_else(PoisonError::into_inner)));
}

/// Whole GPU, one with the least that WebGPU guarantees, and the same with short buffers; none, said, where there is none.
pub fn backends() -> Vec<(&'static str, WebGpuBackend)> {
    wait_for_gpu();
    let usable = webgpu::devices().into_iter().find(|info| info.why_not().is_none());
    let Some(info) = usable else {
        assert!(std::env::var_os("TOMOSCOPE_REQUIRE_WEBGPU").is_none(), "there is no GPU through wgpu");
        println!("skipped: no GPU through wgpu ({} allows software)", webgpu::ALLOW_SOFTWARE);
        return Vec::new();
    };
    let open = |options: fn(&wgpu::Adapter) -> DeviceOptions| WebGpuBackend::open_with(info.number, options).unwrap();
    vec![
        ("whole", WebGpuBackend::open(info.number).unwrap()),
        ("least", open(|_| DeviceOptions::least())),
        ("short buffers", open(|_| DeviceOptions { segment_bytes: 64 << 10, ..DeviceOptions::least() })),
    ]
}

pub fn upload<K: Kind, B: Backend>(device: &mut B, values: &[f32]) -> B::Array<K> {
    device.upload(Arc::new(values.to_vec())).unwrap()
}

pub fn read<K: Kind, B: Backend>(device: &mut B, array: &B::Array<K>) -> Vec<f32> {
    device.read(array, <[f32]>::to_vec).unwrap()
}

/// A x, of `len` data. The previous content of the array does not count.
pub fn projected<B: Backend>(
    device: &mut B,
    operator: &(impl LinearOperator<B> + ?Sized),
    subset: Subset,
    x: &[f32],
    len: usize,
) -> Vec<f32> {
    let x = upload::<Image, B>(device, x);
    let mut out = upload::<Data, B>(device, &vec![f32::NAN; len]);
    operator.apply(device, subset, &x, &mut out, &Task::new()).unwrap();
    read(device, &out)
}

/// Aᵀ q, of `len` coefficients.
pub fn backprojected<B: Backend>(
    device: &mut B,
    operator: &(impl LinearOperator<B> + ?Sized),
    subset: Subset,
    q: &[f32],
    accumulation: Accumulation,
    len: usize,
) -> Vec<f32> {
    let q = upload::<Data, B>(device, q);
    let mut out = upload::<Image, B>(device, &vec![f32::NAN; len]);
    operator.adjoint(device, subset, &q, accumulation, &mut out, &Task::new()).unwrap();
    read(device, &out)
}

/// How far two arrays are apart: in parts of the largest value on wgpu, and of the norm on CUDA.
pub fn difference<B: Gpu>(found: &[f32], expected: &[f32]) -> f64 {
    type Measure = fn(&[f32], &[f32]) -> f64;
    B::choose::<Measure>(largest_difference, relative)(found, expected)
}

pub fn assert_same_bits(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()), "{i}: {found} {expected}");
    }
}
