//! Stable codes of errors, such as `io.truncated`: what `--json` prints, for programs that react to an error without reading its text.
//!
//! A code is the kind of the error and the name of its variant. An error that only passes another one on has that one's code.

/// An error with a stable code.
pub trait Coded {
    /// Returns the code, for example `io.truncated`.
    fn code(&self) -> &'static str;
}

impl Coded for std::io::Error {
    fn code(&self) -> &'static str {
        "system"
    }
}

impl Coded for serde_json::Error {
    fn code(&self) -> &'static str {
        "json"
    }
}

/// Gives an enum that derives `strum::IntoStaticStr` its codes: `coded!(Error, Inner, …)`; the variants named after the enum hold another
/// coded error and have its code.
macro_rules! coded {
    ($error:ident $(, $inner:ident)*) => {
        impl $crate::coded::Coded for $error {
            fn code(&self) -> &'static str {
                // (Of some, every variant holds another error.)
                #[allow(unreachable_patterns)]
                match self {
                    $($error::$inner(error) => $crate::coded::Coded::code(error),)*
                    other => other.into(),
                }
            }
        }
    };
}
pub(crate) use coded;
