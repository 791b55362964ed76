//! Why a resource could not be created.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a create failed.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{CreateError, ErrorClass, GetError, Manager, Pool, manager::CreateContext};
/// use std::io;
///
/// struct Locked;
/// impl Manager for Locked {
///     type Resource = ();
///     type Error = io::Error;
///     async fn create(&self, _ctx: CreateContext<'_>) -> io::Result<()> {
///         Err(io::ErrorKind::PermissionDenied.into())
///     }
///     fn classify(&self, _error: &io::Error) -> ErrorClass {
///         ErrorClass::Fatal
///     }
/// }
///
/// let pool = Pool::builder(Locked).build().unwrap();
/// match pool.get().await.unwrap_err() {
///     GetError::Create(CreateError::Failed(cause)) => {
///         assert_eq!(cause.kind(), io::ErrorKind::PermissionDenied);
///     }
///     other => panic!("{other}"),
/// }
/// # }
/// ```
#[non_exhaustive]
pub enum CreateError<E> {
    /// The manager said so.
    Failed(Arc<E>),
    /// It took longer than the create timeout.
    TimedOut,
    /// The manager panicked.
    Panicked,
    /// The `after_create` or `before_checkout` hook refused a new resource.
    Hook(HookError),
}

impl<E> Clone for CreateError<E> {
    fn clone(&self) -> Self {
        match self {
            CreateError::Failed(cause) => CreateError::Failed(Arc::clone(cause)),
            CreateError::TimedOut => CreateError::TimedOut,
            CreateError::Panicked => CreateError::Panicked,
            CreateError::Hook(cause) => CreateError::Hook(cause.clone()),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for CreateError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreateError::Failed(cause) => f.debug_tuple("Failed").field(cause).finish(),
            CreateError::TimedOut => f.write_str("TimedOut"),
            CreateError::Panicked => f.write_str("Panicked"),
            CreateError::Hook(cause) => f.debug_tuple("Hook").field(cause).finish(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for CreateError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreateError::Failed(cause) => write!(f, "the create failed: {cause}"),
            CreateError::TimedOut => f.write_str("the create took longer than the create timeout"),
            CreateError::Panicked => f.write_str("the manager panicked in a create"),
            CreateError::Hook(cause) => write!(f, "a hook refused the new resource: {cause}"),
        }
    }
}

impl<E: Error + 'static> Error for CreateError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CreateError::Failed(cause) => Some(&**cause),
            CreateError::Hook(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Why a hook refused a resource.
///
/// ```
/// use lease_pool::HookError;
/// assert_eq!(HookError::new("schema is too old").to_string(), "schema is too old");
/// ```
#[derive(Clone)]
pub struct HookError(Arc<dyn Error + Send + Sync>);

impl HookError {
    /// Takes any error or text as the cause.
    ///
    /// ```
    /// let error = lease_pool::HookError::new(std::io::Error::other("no"));
    /// # drop(error);
    /// ```
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        HookError(Arc::from(cause.into()))
    }
}

impl fmt::Debug for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for HookError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
