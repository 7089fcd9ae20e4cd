//! Parameters of kernels: fields of a Rust struct are where the WGSL struct of the same fields has them.

use naga::front::wgsl::parse_str;
use naga::{Module, TypeInner};
use tomoscope::webgpu::shaders;

use super::in_repository;

/// File below `src/engine/webgpu` and struct; kernel and struct in WGSL.
const PAIRS: [[&str; 4]; 16] = [
    ["axial_runs.rs", "Check", "check_bins", "Check"],
    ["axial_runs.rs", "Parameters", "axial_runs", "Parameters"],
    ["backend.rs", "Span", "arrays", "Span"],
    ["backend.rs", "Span", "reductions", "Span"],
    ["em_kernels.rs", "ColumnsOf", "columns", "Columns"],
    ["em_kernels.rs", "Pairs", "pairs", "Pairs"],
    ["event_beams.rs", "Parameters", "beams of events, ", "Parameters"],
    ["events.rs", "Parameters", "events", "Parameters"],
    ["images/convolution.rs", "Numbers", "convolution", "Convolution"],
    ["images/penalty.rs", "Numbers", "penalty", "Penalty"],
    ["images/variation.rs", "Numbers", "variation", "Variation"],
    ["images/voxel_map.rs", "Shape", "voxel_map", "Shape"],
    ["per_lor.rs", "PathRow", "per_lor", "Path"],
    ["per_lor.rs", "Plan", "per_lor", "Plan"],
    ["planes.rs", "Parameters", "planes, ", "Parameters"],
    ["planes.rs", "PlaneRow", "planes, ", "Plane"],
];

/// Name and place in bytes of each field; and the size of the struct.
type Layout = (Vec<(String, u32)>, u32);

/// The layout of a struct in C's order, of numbers of four bytes and their arrays. Fields that only fill it up are left out.
fn in_rust(source: &str, name: &str) -> Layout {
    let (_, rest) = source.split_once(&format!("struct {name} {{")).unwrap_or_else(|| panic!("no struct {name}"));
    let (body, _) = rest.split_once("\n}").unwrap();
    let mut at = 0;
    let mut fields = Vec::new();
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (field, kind) = line.trim_start_matches("pub ").trim_end_matches(',').split_once(": ").unwrap();
        let numbers = kind.split(['[', ']', ';', ' ']).filter(|part| !part.is_empty());
        let bytes: u32 = numbers.map(|part| part.parse().unwrap_or_else(|_| number_bytes(part))).product();
        if !field.starts_with("padding") {
            fields.push((field.to_owned(), at));
        }
        at += bytes;
    }
    (fields, at)
}

fn number_bytes(kind: &str) -> u32 {
    assert!(["u32", "i32", "f32"].contains(&kind), "{kind}");
    4
}

fn in_wgsl(module: &Module, name: &str) -> Layout {
    let found = module.types.iter().map(|(_, kind)| kind).find(|kind| kind.name.as_deref() == Some(name));
    let Some(TypeInner::Struct { members, span }) = found.map(|kind| &kind.inner) else { panic!("no struct {name}") };
    let named = |member: &naga::StructMember| (member.name.clone().unwrap_or_default(), member.offset);
    (members.iter().map(named).filter(|(name, _)| !name.starts_with("padding")).collect(), *span)
}

/// Sizes are equal, each field begins where one of the kernel does, and fields of one name in one place. (An array may be several fields.)
fn assert_one((ours, size): &Layout, (theirs, span): &Layout, name: &str) {
    assert_eq!(size, span, "{name}: {ours:?} {theirs:?}");
    for (field, at) in ours {
        assert!(theirs.iter().any(|(_, other)| at == other), "{name}: {field} at {at}: {theirs:?}");
        assert!(theirs.iter().all(|(other, there)| field != other || at == there), "{name}: {field} at {at}: {theirs:?}");
    }
}

#[test]
fn parameters_of_kernels_have_one_layout() {
    let shaders = shaders().unwrap();
    for [file, ours, kernel, theirs] in PAIRS {
        let source = std::fs::read_to_string(in_repository("src/engine/webgpu").join(file)).unwrap();
        let is_of = |name: &str| name == kernel || (kernel.ends_with(", ") && name.starts_with(kernel));
        let shader = shaders.iter().find(|shader| is_of(&shader.name)).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let module = parse_str(&shader.source).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&shader.source)));
        assert_one(&in_rust(&source, ours), &in_wgsl(&module, theirs), &format!("{file}: {ours}; {kernel}: {theirs}"));
    }
}

#[test]
fn a_field_in_another_place_is_found() {
    let ours = "struct A {\n    /// One.\n    pub a: f32,\n    b: [[u32; 2]; 3],\n    padding: u32,\n}\n";
    assert_eq!(in_rust(ours, "A"), (vec![("a".into(), 0), ("b".into(), 4)], 32));
    let module = parse_str("struct A { a: f32, b: vec3u }\nvar<private> one: A;").unwrap();
    assert_eq!(in_wgsl(&module, "A"), (vec![("a".into(), 0), ("b".into(), 16)], 32));
}
