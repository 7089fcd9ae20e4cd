//! Stable codes of errors, such as `io.truncated`, for programs that react to an error without reading its text (`--json`).
//!
//! A code is the kind of the error and the name of its variant. An error that only passes another one on has that one's code.

use std::fmt::Display;

/// An error with a stable code.
pub trait Coded {
    /// Returns the code, for example `io.truncated`.
    fn code(&self) -> &'static str;
}

/// An error as data that can be stored and sent: a code for programs and a text for people. Every coded error becomes one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{text}")]
pub struct Problem {
    /// The code, see [`Coded::code`].
    pub code: String,
    /// The message.
    pub text: String,
}

impl Problem {
    /// Returns a problem that no error type describes.
    pub fn new(code: &str, text: impl Into<String>) -> Self {
        Self { code: code.into(), text: text.into() }
    }
}

impl<E: Coded + Display> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { code: error.code().into(), text: error.to_string() }
    }
}

/// The error of a higher part as the error of a lower one holds it: its code and its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct PassedOn {
    code: &'static str,
    text: String,
}

impl PassedOn {
    /// Returns a code and a text.
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Returns the code and the text of an error.
    pub fn of(error: &(impl Coded + Display)) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl Coded for PassedOn {
    fn code(&self) -> &'static str {
        self.code
    }
}

/// Gives an error its code: `coded!(Error = "kind")`. Some variants of an enum can have another one: `coded!(Error = "kind",
/// "other": Variant Variant)`. Variants that are named after the error that they hold have that one's code: `coded!(Error = "kind";
/// Inner, Inner)`, or `coded!(Error; Inner, Inner)` if all do. `coded!(Error)` takes the codes of `strum::IntoStaticStr`.
#[doc(hidden)]
#[macro_export]
macro_rules! __coded {
    ($error:ty = $code:literal) => {
        impl $crate::coded::Coded for $error {
            fn code(&self) -> &'static str {
                $code
            }
        }
    };
    ($error:ident) => {
        impl $crate::coded::Coded for $error {
            fn code(&self) -> &'static str {
                self.into()
            }
        }
    };
    ($error:ident $(= $code:literal $(, $other:literal: $($variant:ident)+)*)? $(; $($inner:ident),+)?) => {
        impl $crate::coded::Coded for $error {
            fn code(&self) -> &'static str {
                match self {
                    $($(Self::$inner(error) => $crate::coded::Coded::code(error),)+)?
                    $($($(Self::$variant { .. })|+ => $other,)* _ => $code,)?
                }
            }
        }
    };
}
#[doc(inline)]
pub use __coded as coded;

coded!(std::io::Error = "system");
coded!(serde_json::Error = "json");
