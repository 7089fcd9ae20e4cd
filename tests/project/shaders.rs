//! Every WGSL file is valid, so that a mistake is a test's message and not a window that stays empty.

use naga::front::wgsl::parse_str;
use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::{files_below, in_repository};

fn problem(source: &str) -> Option<String> {
    let module = match parse_str(source) {
        Ok(module) => module,
        Err(error) => return Some(error.emit_to_string(source)),
    };
    let outcome = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
    outcome.err().map(|error| error.emit_to_string(source))
}

#[test]
fn every_shader_is_valid() {
    for path in files_below(&in_repository("shaders"), "wgsl") {
        let source = std::fs::read_to_string(&path).unwrap();
        if let Some(text) = problem(&source) {
            panic!("{}:\n{text}", path.display());
        }
    }
}

#[test]
fn a_shader_with_a_mistake_is_refused() {
    assert_eq!(problem("@fragment fn main() -> @location(0) vec4f { return vec4f(1.0); }"), None);
    assert!(problem("@fragment fn main() -> @location(0) vec4f { return 1.0; }").is_some());
    assert!(problem("fn main( {").is_some());
}
