//! State of the windows that list the commands.

/// Windows that list the commands.
#[derive(Default)]
pub struct CommandWindows {
    /// True if the list of keys is open.
    pub is_list_open: bool,
    /// Search for commands, while it is open.
    pub search: Option<CommandSearch>,
}

/// Search for commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSearch {
    pub typed: String,
    /// Index of the chosen match.
    pub chosen: usize,
}
