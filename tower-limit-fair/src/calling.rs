use crate::deferred_clone::DeferredClone;

/// The inner service is called in `call`; the default.
#[derive(Clone, Copy, Debug)]
pub enum Direct {}

/// The inner service is called after the admission, by `DeferredClone`.
#[derive(Clone, Copy, Debug)]
pub enum AfterAdmission {}

/// When a layer's services call the inner one. Sealed: `Direct` and `AfterAdmission` are all there is.
pub trait Calling<S>: sealed::Sealed {
    /// The service that the limit is put around.
    type Service;
    #[doc(hidden)]
    fn wrap(service: S) -> Self::Service;
}

impl<S> Calling<S> for Direct {
    type Service = S;
    fn wrap(service: S) -> S {
        service
    }
}

impl<S: Clone> Calling<S> for AfterAdmission {
    type Service = DeferredClone<S>;
    fn wrap(service: S) -> DeferredClone<S> {
        DeferredClone::new(service)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Direct {}
    impl Sealed for super::AfterAdmission {}
}
