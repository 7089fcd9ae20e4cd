// Threads that do not know the values of those beside them keep track of what they need themselves.

const KNOWS_NEIGHBOURS: bool = false;

// The value of the thread before.
fn of_thread_before(value: f32, before: f32, thread: u32, tracked: f32) -> f32 {
    return tracked;
}

// The value of the thread behind.
fn of_thread_behind(value: f32, behind: f32, thread: u32, tracked: f32) -> f32 {
    return tracked;
}
