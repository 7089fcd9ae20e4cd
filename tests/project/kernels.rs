//! The compiled kernels belong to their sources, and run.

use sha2::{Digest, Sha256};

use super::{files_below, in_repository};

/// The source's name and hash that a PTX file says it was compiled from.
fn recorded_source(ptx: &str) -> Option<(&str, &str)> {
    ptx.lines().next()?.strip_prefix("// source: ")?.split_once(", sha256 ")
}

fn hash(source: &[u8]) -> String {
    Sha256::digest(source).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_kernel_is_compiled_from_its_present_source() {
    let sources = files_below(&in_repository("kernels"), "cu");
    let compiled = files_below(&in_repository("kernels/ptx"), "ptx");
    let stems = |paths: &[std::path::PathBuf]| paths.iter().map(|p| p.file_stem().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(!sources.is_empty());
    assert_eq!(stems(&sources), stems(&compiled), "each kernels/NAME.cu has one kernels/ptx/NAME.ptx");
    for (source, compiled) in sources.iter().zip(&compiled) {
        let ptx = std::fs::read_to_string(compiled).unwrap();
        let (name, recorded) = recorded_source(&ptx).expect("the first line names the source");
        assert_eq!(Some(name), source.file_name().unwrap().to_str());
        let present = hash(&std::fs::read(source).unwrap());
        assert_eq!(recorded, present, "{name} has changed since it was compiled: run kernels/build.py");
    }
}

#[test]
fn the_hash_is_sha256() {
    assert_eq!(hash(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

#[cfg(feature = "cuda")]
mod on_the_device {
    use std::sync::Arc;

    use tomoscope::cuda::{CudaDevice, CudaError};
    use tomoscope::operator::{Backend, Host};

    /// The first device; `None`, said, where there is none and none is required.
    fn device() -> Option<CudaDevice> {
        match CudaDevice::open(0) {
            Ok(device) => Some(device),
            Err(error) if std::env::var("TOMOSCOPE_REQUIRE_CUDA").is_ok_and(|value| value == "1") => panic!("{error}"),
            Err(error) => {
                println!("skipped: no CUDA device ({error})");
                None
            }
        }
    }

    #[test]
    fn the_em_update_gives_the_bits_of_the_cpu() {
        let Some(device) = device() else { return };
        let len = 100_003;
        let value = |i: usize, step: usize| ((i * step) % 1009) as f32 / 31.0;
        let x: Vec<f32> = (0..len).map(|i| value(i, 7)).collect();
        let correction: Vec<f32> = (0..len).map(|i| value(i, 13)).collect();
        let nasty = [0.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE, 1e-42];
        let sensitivity: Vec<f32> = (0..len).map(|i| if i < nasty.len() { nasty[i] } else { value(i, 17) }).collect();

        let mut on_device = device.upload(&x).unwrap();
        let [c, s] = [&correction, &sensitivity].map(|values| device.upload(values).unwrap());
        device.em_update(&mut on_device, &c, &s).unwrap();
        let found = device.read(&on_device).unwrap();

        let mut expected = Arc::new(x);
        Host.em_update(&mut expected, &Arc::new(correction), &Arc::new(sensitivity)).unwrap();
        assert!(expected.iter().any(|&v| v > 1.0));
        for (i, (found, expected)) in found.iter().zip(expected.iter()).enumerate() {
            assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()), "{i}: {found} {expected}");
        }
    }

    #[test]
    fn arrays_of_different_lengths_are_refused() {
        let Some(device) = device() else { return };
        let mut x = device.zeros(4).unwrap();
        let (c, s) = (device.zeros(3).unwrap(), device.zeros(4).unwrap());
        assert_eq!(device.em_update(&mut x, &c, &s), Err(CudaError::Length { expected: 4, found: 3 }));
    }

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        let error = CudaDevice::open(1000).err().expect("no machine has a thousand devices");
        assert!(error.to_string().len() > 20, "{error}");
    }
}
