//! How a connection gets from a use that was cut off to the next user.

use std::pin::pin;
use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use tokio_postgres::error::SqlState;

use super::connect::cancel;
use super::{Client, Error, Reset};

/// DISCARD ALL would do all of this and throw the prepared statements away, and our cache of them with it.
const CLEAN: &str = "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; \
                     SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";

impl Client {
    /// Waits until the server works on nothing of this connection.
    ///
    /// The server answers in order, so the answer to a message that asks for nothing comes after the end of whatever
    /// was cut off. If it does not come in time, the server is asked to cancel. Such a request names the
    /// connection, not the query: it must be known to have struck or missed before anybody else sends one. Two
    /// facts together tell: the server has closed the socket of the request (so its signal has been sent), and
    /// one message sent after that was answered (so the signal has been taken, perhaps by this message).
    ///
    /// The pool does this at the return of a connection. Call it to go on with the same connection after a
    /// query of it ran into a timeout.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the connection unsettled; the pool settles it at its return.
    ///
    /// # Errors
    ///
    /// If the connection is lost or the cancel request finds no server.
    ///
    /// ```no_run
    /// # async fn example(pool: lease_pool::PgPool) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// let mut client = pool.get().await?;
    /// let slow = client.execute("SELECT pg_sleep(60)", &[]);
    /// if tokio::time::timeout(Duration::from_secs(1), slow).await.is_err() {
    ///     client.settle().await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn settle(&mut self) -> Result<(), Error> {
        let since = self.uses.unsettled_since().unwrap_or_else(Instant::now);
        // Should this be cut off, it is as unsettled as before.
        self.uses.mark_unsettled();
        let mut probe = pin!(self.raw.check_connection());
        match timeout_at(since + self.settings.cancel_after, &mut probe).await {
            Ok(answer) => answer?,
            Err(_) => {
                let token = self.raw.cancel_token();
                let tls = self.settings.tls.as_deref();
                cancel(&token, &self.address, &self.settings.config, tls).await?;
                if survives_cancel(probe.await)? == Struck::Elsewhere {
                    survives_cancel(self.raw.check_connection().await)?;
                }
            }
        }
        self.uses.mark_settled();
        Ok(())
    }

    /// Settles if need be, then does what the mode says.
    pub(super) async fn reset(&mut self) -> Result<(), Error> {
        if self.is_unsettled() {
            self.settle().await?;
        }
        match self.settings.reset {
            Reset::None => {}
            Reset::IfDirty => self.roll_back().await?,
            Reset::Clean => {
                self.roll_back().await?;
                self.raw.batch_execute(CLEAN).await?;
            }
        }
        Ok(())
    }

    async fn roll_back(&mut self) -> Result<(), Error> {
        // Asked first, because a ROLLBACK without a transaction is a warning in the server's log.
        if self.status.is_open() {
            self.raw.batch_execute("ROLLBACK").await?;
        }
        Ok(())
    }

    /// Ends it, at the server as well: returns when the server's process is gone.
    pub(super) async fn end(mut self) {
        if self.is_unsettled() && !self.raw.is_closed() {
            // The server notices a lost client only when it next writes to it, which a running query may never do.
            let _ = self.settle().await;
        }
        let Client { raw, task, statements, .. } = self;
        let mut task = AbortOnDrop(task);
        drop(statements);
        drop(raw);
        let _ = (&mut task.0).await;
    }

    pub(super) fn settings(&self) -> &Arc<super::options::Settings> {
        &self.settings
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Struck {
    Probe,
    Elsewhere,
}

/// The probe itself may be what the cancel request struck; once, because one request strikes once.
fn survives_cancel(answer: Result<(), tokio_postgres::Error>) -> Result<Struck, Error> {
    match answer {
        Ok(()) => Ok(Struck::Elsewhere),
        Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => Ok(Struck::Probe),
        Err(error) => Err(error.into()),
    }
}

/// A peer that never answers must not keep the task of a connection that was given up.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
