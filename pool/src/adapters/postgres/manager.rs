use std::sync::Arc;

use super::options::Settings;
use super::{Client, Error, Reset};
use crate::Manager;
use crate::manager::{CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, ResetContext};

/// Connects, checks, resets and closes the connections of a [`PgPool`](super::PgPool).
///
/// Made by [`Options::manager`](super::Options::manager).
///
/// ```
/// use lease_pool::{Pool, postgres::Options};
/// let pool = Pool::builder(Options::from_url("host=localhost").unwrap().manager()).build().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct PgManager {
    settings: Arc<Settings>,
}

impl PgManager {
    pub(super) fn new(settings: Settings) -> Self {
        PgManager { settings: Arc::new(settings) }
    }
}

impl Manager for PgManager {
    type Resource = Client;
    type Error = Error;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<Client, Error> {
        Client::connect(Arc::clone(&self.settings)).await
    }

    async fn check(&self, client: &mut Client, _ctx: CheckContext<'_>) -> Result<(), Error> {
        client.round_trip().await
    }

    async fn reset(&self, client: &mut Client, _ctx: ResetContext<'_>) -> Result<(), Error> {
        client.reset().await
    }

    fn needs_reset(&self, client: &Client) -> bool {
        client.is_unsettled() || client.settings().reset == Reset::Clean
    }

    fn is_dirty(&self, client: &Client) -> bool {
        client.is_cut_off()
    }

    fn is_broken(&self, client: &Client) -> bool {
        client.is_closed()
    }

    async fn close(&self, client: Client, _ctx: CloseContext<'_>) {
        client.end().await;
    }

    fn classify(&self, error: &Error) -> ErrorClass {
        error.class()
    }

    /// Nothing is left half done once the reset has settled the connection.
    fn cancel_safety(&self) -> CancelSafety {
        CancelSafety::Safe
    }
}
