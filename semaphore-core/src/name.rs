//! What an instance is called, in errors, events and metrics.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The name of a semaphore; cheap to clone.
///
/// # Examples
///
/// ```
/// use semaphore_core::Name;
///
/// let fixed = Name::from("uploads");
/// let computed = Name::from(format!("uploads-{}", 7));
/// assert_eq!(&*fixed, "uploads");
/// assert_eq!(computed.to_string(), "uploads-7");
/// ```
#[derive(Clone)]
pub struct Name(Arc<Text>);

/// Behind one thin pointer, so that the errors which carry a name stay small.
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Name {
    /// The text of the name.
    ///
    /// ```
    /// assert_eq!(semaphore_core::Name::from("db").as_str(), "db");
    /// ```
    pub fn as_str(&self) -> &str {
        match &*self.0 {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self(Arc::new(Text::Static(text)))
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Self {
        Self(Arc::new(Text::Shared(text)))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Arc::new(Text::Shared(text.into())))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
