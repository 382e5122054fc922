//! A map whose missing values are computed once, however many threads ask for them.

use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::{Condvar, Mutex};

/// Values by key. A value that one thread computes is waited for by the others.
#[derive(Debug)]
pub(crate) struct FlightMap<K, V> {
    values: Mutex<HashMap<K, FlightValue<V>>>,
    landed: Condvar,
}

#[derive(Debug)]
enum FlightValue<V> {
    Pending,
    Known(V),
}

impl<K, V> Default for FlightMap<K, V> {
    fn default() -> Self {
        Self { values: Mutex::default(), landed: Condvar::new() }
    }
}

impl<K: Copy + Eq + Hash, V: Clone> FlightMap<K, V> {
    /// Returns the value of a key; computes it if it is missing. An error is not kept.
    pub(crate) fn get_or_compute<E>(
        &self,
        key: K,
        compute: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        let mut values = self.values.lock();
        loop {
            match values.get(&key) {
                Some(FlightValue::Known(value)) => return Ok(value.clone()),
                Some(FlightValue::Pending) => self.landed.wait(&mut values),
                None => break,
            }
        }
        values.insert(key, FlightValue::Pending);
        drop(values);
        // Also if `compute` panics, the others must not wait forever.
        let mut landing = Landing { map: self, key, value: None };
        let value = compute()?;
        landing.value = Some(value.clone());
        Ok(value)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        self.values.lock().insert(key, FlightValue::Known(value));
    }

    pub(crate) fn len(&self) -> usize {
        self.values.lock().len()
    }
}

/// Ends the computation of a value when it is dropped.
struct Landing<'a, K: Copy + Eq + Hash, V> {
    map: &'a FlightMap<K, V>,
    key: K,
    value: Option<V>,
}

impl<K: Copy + Eq + Hash, V> Drop for Landing<'_, K, V> {
    fn drop(&mut self) {
        let mut values = self.map.values.lock();
        match self.value.take() {
            Some(value) => values.insert(self.key, FlightValue::Known(value)),
            None => values.remove(&self.key),
        };
        self.map.landed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn threads_share_one_computation() {
        let (map, count, begin) = (FlightMap::default(), AtomicUsize::new(0), Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    begin.wait();
                    let value = map.get_or_compute(1, || {
                        std::thread::yield_now();
                        Ok::<_, ()>(count.fetch_add(1, Ordering::SeqCst) + 7)
                    });
                    assert_eq!(value, Ok(7));
                });
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn failed_computation_is_repeated() {
        let map = FlightMap::default();
        assert_eq!(map.get_or_compute(1, || Err::<u8, _>("offline")), Err("offline"));
        assert_eq!(map.get_or_compute(1, || Ok::<_, ()>(2)), Ok(2));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            map.get_or_compute(2, || -> Result<u8, ()> { panic!("simulated bug") })
        }));
        assert!(panicked.is_err());
        assert_eq!(map.get_or_compute(2, || Ok::<_, ()>(3)), Ok(3));
    }
}
