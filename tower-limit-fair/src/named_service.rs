use tonic::server::NamedService;

use crate::ConcurrencyLimit;

impl<S: NamedService, P, A> NamedService for ConcurrencyLimit<S, P, A> {
    const NAME: &'static str = S::NAME;
}
