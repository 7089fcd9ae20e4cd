//! Numbers against truth.

// The helpers of tests may fail as tests may; clippy allows it by itself only inside test functions.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

extern crate tomoscope_engine as tomoscope;

mod absurd;
mod adjoint;
mod analytic;
mod attenuation;
mod coincidences;
mod ct_attenuation;
mod device;
mod device_arrays;
#[cfg(feature = "cuda")]
mod device_cuda;
#[cfg(feature = "cuda")]
mod device_cuda_events;
mod device_events;
#[cfg(feature = "cuda")]
mod device_matrix;
#[cfg(feature = "cuda")]
mod device_oximetry;
mod device_penalty;
mod device_planes;
mod device_projectors;
#[cfg(feature = "cuda")]
mod device_teams;
mod device_tof;
#[cfg(feature = "cuda")]
mod device_tubes;
#[cfg(feature = "cuda")]
mod device_tubes_montecarlo;
mod device_tv;
mod device_webgpu;
mod device_webgpu_window;
mod epri_explained;
mod epri_trial;
mod events;
mod experiments;
mod fbp;
mod from_files;
mod fusillo;
mod image_model;
mod list_attenuation;
mod lists;
mod mirrors;
mod montecarlo;
mod nema;
mod nema_nu4;
mod nothing_lost;
mod oximetry;
mod parity;
mod peaks;
mod penalised;
mod plane_ends;
mod planes;
mod recon;
mod registered;
mod replicates;
mod ring;
mod rois;
mod slice;
mod spectral_tv;
mod stir;
mod support;
mod teams;
mod tof_lists;
mod tof_sinograms;
mod tubes;
mod tv;
mod two_types;

use tomoscope_support::data;
