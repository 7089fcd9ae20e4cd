//! Things a user should know that do not stop the work.

/// Severity of a notice, with its names on the terminal and in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display, serde::Serialize, serde::Deserialize)]
#[strum(serialize_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    #[strum(serialize = "note")]
    Info,
    /// The result may differ from the user's intention.
    Warning,
    /// Something was not done.
    Error,
}

/// A sentence for the user; it is shown as a toast and stays in the list of notices.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Notice {
    /// Severity.
    pub severity: Severity,
    /// What, where, expected, found, what to do.
    pub text: String,
}

impl Notice {
    /// Returns a notice of severity [`Severity::Info`].
    pub fn info(text: impl Into<String>) -> Self {
        Self { severity: Severity::Info, text: text.into() }
    }

    /// Returns a notice of severity [`Severity::Warning`].
    pub fn warning(text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, text: text.into() }
    }

    /// Returns a notice of severity [`Severity::Error`].
    pub fn error(text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, text: text.into() }
    }
}
