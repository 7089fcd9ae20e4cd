//! Every WGSL text is valid and can be translated for every graphics interface, so that a mistake is a test's message and not a
//! window that stays empty or a GPU that is refused.

use std::process::{Command, Stdio};

use naga::back::{hlsl, msl, spv};
use naga::front::wgsl::parse_str;
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use tomoscope::webgpu::shaders;

use super::{files_below, in_repository};

fn validated(source: &str) -> Result<(naga::Module, ModuleInfo), String> {
    let module = parse_str(source).map_err(|error| error.emit_to_string(source))?;
    // Each kernel is compiled where its device has what it uses.
    let capabilities = Capabilities::SHADER_INT64
        | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS
        | Capabilities::SHADER_INT64_ATOMIC_MIN_MAX
        | Capabilities::SHADER_FLOAT32_ATOMIC
        | Capabilities::SUBGROUP
        | Capabilities::IMMEDIATES;
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    validator.subgroup_stages(ShaderStages::COMPUTE).subgroup_operations(SubgroupOperationSet::all());
    let outcome = validator.validate(&module);
    outcome.map_err(|error| error.emit_to_string(source)).map(|info| (module, info))
}

#[test]
fn every_shader_is_valid() {
    for path in files_below(&in_repository("shaders"), "wgsl") {
        // Kernels are put together of several files.
        if path.components().any(|part| part.as_os_str() == "compute") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        if let Err(text) = validated(&source) {
            panic!("{}:\n{text}", path.display());
        }
    }
}

/// Translates to SPIR-V, and has the reference validator look at it where that is installed.
fn spirv(name: &str, module: &naga::Module, info: &ModuleInfo) -> bool {
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    let words = spv::write_vec(module, info, &options, None).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    let run = Command::new("spirv-val").arg("--target-env").arg("vulkan1.2").arg(file.path()).stdout(Stdio::piped()).output();
    let Ok(output) = run else { return false };
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn every_kernel_is_valid_and_can_be_translated() {
    let all = shaders().unwrap();
    assert!(all.len() > 12, "{}", all.len());
    let mut num_checked = 0;
    for shader in &all {
        let (name, source) = (&shader.name, &shader.source);
        let (module, info) = validated(source).unwrap_or_else(|text| panic!("{name}:\n{text}"));
        num_checked += usize::from(spirv(name, &module, &info));
        // Metal has no additions to 64-bit integers, Direct3D none to f32: there the kernels with these are not used.
        let has_long = source.contains("atomic<u64>");
        let has_float = source.contains("atomic<f32>");
        if !has_long {
            let options = msl::Options { lang_version: (3, 0), fake_missing_bindings: true, ..msl::Options::default() };
            msl::write_string(&module, &info, &options, &msl::PipelineOptions::default())
                .unwrap_or_else(|error| panic!("{name}, Metal: {error}"));
        }
        if !has_float {
            let options = hlsl::Options {
                shader_model: hlsl::ShaderModel::V6_6,
                immediates_target: Some(hlsl::BindTarget::default()),
                ..hlsl::Options::default()
            };
            let (mut text, pipeline) = (String::new(), hlsl::PipelineOptions::default());
            hlsl::Writer::new(&mut text, &options, &pipeline)
                .write(&module, &info, None)
                .unwrap_or_else(|error| panic!("{name}, Direct3D: {error}"));
        }
    }
    if num_checked < all.len() {
        println!("skipped: spirv-val is not installed (package spirv-tools)");
    }
}

#[test]
fn a_shader_with_a_mistake_is_refused() {
    assert!(validated("@fragment fn main() -> @location(0) vec4f { return vec4f(1.0); }").is_ok());
    assert!(validated("@fragment fn main() -> @location(0) vec4f { return 1.0; }").is_err());
    assert!(validated("fn main( {").is_err());
}
