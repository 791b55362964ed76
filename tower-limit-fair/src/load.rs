use tower::load::Load;

use crate::{ConcurrencyLimit, DeferredClone};

impl<S: Load, P, A> Load for ConcurrencyLimit<S, P, A> {
    type Metric = S::Metric;

    fn load(&self) -> S::Metric {
        self.get_ref().load()
    }
}

impl<S: Load> Load for DeferredClone<S> {
    type Metric = S::Metric;

    fn load(&self) -> S::Metric {
        self.get_ref().load()
    }
}
