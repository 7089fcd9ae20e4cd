//! How other threads wake the window.

use std::time::Duration;

use egui::Context;

/// For a request without any delay egui draws two frames, lest a layout be left unsettled. What comes from another thread is
/// in the first; drawn by the processor, the second would cost the solver as much time as the first.
const DELAY: Duration = Duration::from_millis(1);

/// A closure that wakes the window from another thread, for one frame.
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
