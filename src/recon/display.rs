//! Copies of an algorithm's image for the screen, made ready on first use.

use crate::operator::{Backend, BackendError, PendingVolume};

/// What a back end's display copies need. `None` until they are asked for; the inner `None` is a back end that needs none.
pub(super) struct DisplayCopy<B: Backend>(Option<Option<B::Display>>);

impl<B: Backend> DisplayCopy<B> {
    pub fn new() -> Self {
        Self(None)
    }

    /// Begins to copy an image of `num_voxels`; `index` as for [`Backend::display`]. `None` where that gains nothing.
    pub fn begin(
        &mut self,
        backend: &mut B,
        image: &B::Array,
        num_voxels: usize,
        index: &dyn Fn(usize) -> usize,
    ) -> Result<Option<PendingVolume>, BackendError> {
        let display = match &mut self.0 {
            Some(display) => display,
            none => none.insert(backend.display(num_voxels, index)?),
        };
        display.as_mut().map(|display| backend.begin_copy(image, display)).transpose()
    }
}
