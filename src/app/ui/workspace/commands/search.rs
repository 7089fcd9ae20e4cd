//! State of the search for commands.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSearch {
    pub typed: String,
    /// Index of the chosen match.
    pub chosen: usize,
}
