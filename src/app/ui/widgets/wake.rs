//! Waking of the window by other threads.

use std::time::Duration;

use egui::Context;

/// Delay of a repaint. Without any delay egui draws two frames to settle the layout. The first one contains the news of another
/// thread. With a software renderer a second frame costs the solver the same time.
const DELAY: Duration = Duration::from_millis(1);

/// Returns a closure that wakes the window from another thread, for one frame.
pub fn waker(ctx: &Context) -> impl Fn() + Send + Clone + use<> {
    let ctx = ctx.clone();
    move || ctx.request_repaint_after(DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_woken_for_one_frame() {
        let ctx = Context::default();
        let draw = || ctx.run_ui(egui::RawInput::default(), |_| {}).textures_delta.clear();
        (0..4).for_each(|_| draw());
        assert!(!ctx.has_requested_repaint(), "it sleeps");
        waker(&ctx)();
        assert!(ctx.has_requested_repaint());
        draw();
        assert!(!ctx.has_requested_repaint());
    }
}
