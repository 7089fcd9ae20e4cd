//! Things a user should know that do not stop the work.

/// How much a notice matters; on the terminal and in files it has these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display, serde::Serialize, serde::Deserialize)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    #[strum(serialize = "note")]
    Info,
    /// The result may not be what was meant.
    Warning,
    /// Something was not done.
    Error,
}

/// A sentence for the user; it is shown as a toast and stays in the list of notices.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// What, where, expected, found, what to do.
    pub text: String,
}

impl Notice {
    /// A notice of severity [`Severity::Info`].
    pub fn info(text: impl Into<String>) -> Self {
        Self { severity: Severity::Info, text: text.into() }
    }

    /// A notice of severity [`Severity::Warning`].
    pub fn warning(text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, text: text.into() }
    }

    /// A notice of severity [`Severity::Error`].
    pub fn error(text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, text: text.into() }
    }
}
