//! State of the search for commands.

/// Search for commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSearch {
    /// Typed words.
    pub typed: String,
    /// Index of the chosen match.
    pub chosen: usize,
}
