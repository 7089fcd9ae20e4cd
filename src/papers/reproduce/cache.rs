//! Data that several measurements need, made when the first one requests them.

use std::cell::RefCell;

use super::ReproduceError;

pub(super) struct Cache<K, V>(RefCell<Vec<(K, V)>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(RefCell::new(Vec::new()))
    }
}

impl<K: Copy + PartialEq, V: Clone> Cache<K, V> {
    /// Returns the value of a key, made if it is missing. Values of keys that `is_related` rejects are dropped before.
    pub fn get(
        &self,
        key: K,
        is_related: impl Fn(&K) -> bool,
        make: impl FnOnce() -> Result<V, ReproduceError>,
    ) -> Result<V, ReproduceError> {
        self.0.borrow_mut().retain(|(of, _)| is_related(of));
        let found = self.0.borrow().iter().find(|(of, _)| *of == key).map(|(_, value)| value.clone());
        let value = match found {
            Some(value) => return Ok(value),
            None => make()?,
        };
        self.0.borrow_mut().push((key, value.clone()));
        Ok(value)
    }

    /// Returns the value of a key, made if it is missing. Values of other keys are dropped before.
    pub fn only(&self, key: K, make: impl FnOnce() -> Result<V, ReproduceError>) -> Result<V, ReproduceError> {
        self.get(key, |of| *of == key, make)
    }

    /// Stores a value in place of all others.
    pub fn set(&self, key: K, value: V) {
        *self.0.borrow_mut() = vec![(key, value)];
    }
}
