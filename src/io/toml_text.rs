//! What is the same in every TOML file of ours: its version, and what is said of one that is not understood.

/// Line and reason, without the line itself, which may be of any length.
pub(super) fn sentence(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

/// The version of a text that is not understood as a whole: one of another version has other keys.
pub(super) fn version(text: &str) -> Option<i64> {
    let value = |line: &str| line.strip_prefix("version")?.trim_start().strip_prefix('=')?.trim().parse().ok();
    text.lines().find_map(value)
}
