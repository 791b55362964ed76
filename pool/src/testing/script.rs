//! The scripted manager.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::gate::Gate;
use crate::manager::{
    CancelSafety, CheckContext, CloseContext, CreateContext, ErrorClass, Manager, ResetContext,
};

/// What the pool asks a manager for.
///
/// ```
/// assert_eq!(lease_pool::testing::Stage::ALL.len(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// [`Manager::create`].
    Create,
    /// [`Manager::check`].
    Check,
    /// [`Manager::reset`].
    Reset,
    /// [`Manager::close`].
    Close,
}

impl Stage {
    /// Every stage, in the order of a resource's life.
    pub const ALL: [Stage; 4] = [Stage::Create, Stage::Check, Stage::Reset, Stage::Close];
}

/// What one call of a stage does.
///
/// ```
/// use lease_pool::testing::{Act, Scripted, Stage};
/// let script = Scripted::new();
/// script.next(Stage::Create, Act::Fail); // once
/// script.always(Stage::Check, Act::Never); // from now on
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Succeeds at once.
    Ok,
    /// Succeeds after this long.
    After(Duration),
    /// Fails at once.
    Fail,
    /// Fails after this long.
    FailAfter(Duration),
    /// Fails at once in a way that trying again cannot mend.
    Fatal,
    /// Never ends.
    Never,
    /// Panics.
    Panic,
    /// Succeeds once the test has called [`Scripted::open`].
    Gated,
}

/// A manager that plays a script. Clones play the same one.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use lease_pool::{Pool, testing::Scripted};
/// let script = Scripted::new();
/// let pool = Pool::builder(script.clone()).build().unwrap();
/// let one = pool.get().await.unwrap();
/// assert_eq!((one.number(), script.live()), (1, 1));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stages: [Track; 4],
    made: AtomicUsize,
    live: AtomicUsize,
    max_live: AtomicUsize,
    safety: Mutex<Option<CancelSafety>>,
}

#[derive(Debug, Default)]
struct Track {
    script: Mutex<(VecDeque<Act>, Option<Act>)>,
    gate: Gate,
    calls: AtomicUsize,
    running: AtomicUsize,
    max_running: AtomicUsize,
    cut_off: AtomicUsize,
}

impl Scripted {
    /// A script in which everything succeeds at once.
    ///
    /// ```
    /// # let _ =
    /// lease_pool::testing::Scripted::new();
    /// ```
    pub fn new() -> Self {
        Scripted::default()
    }

    fn track(&self, stage: Stage) -> &Track {
        &self.shared.stages[stage as usize]
    }

    /// Adds one act to the queue of this stage; when the queue is empty the standing act is played.
    ///
    /// ```
    /// # use lease_pool::testing::{Act, Scripted, Stage};
    /// Scripted::new().next(Stage::Create, Act::Fail);
    /// ```
    pub fn next(&self, stage: Stage, act: Act) {
        self.track(stage).script.lock().unwrap_or_else(PoisonError::into_inner).0.push_back(act);
    }

    /// Sets the standing act of this stage.
    ///
    /// ```
    /// # use lease_pool::testing::{Act, Scripted, Stage};
    /// Scripted::new().always(Stage::Close, Act::Never);
    /// ```
    pub fn always(&self, stage: Stage, act: Act) {
        self.track(stage).script.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(act);
    }

    /// Lets this many [`Act::Gated`] calls of the stage succeed, those to come included.
    ///
    /// ```
    /// # use lease_pool::testing::{Scripted, Stage};
    /// Scripted::new().open(Stage::Create, 1);
    /// ```
    pub fn open(&self, stage: Stage, passes: usize) {
        self.track(stage).gate.open(passes);
    }

    /// Sets the answer of [`Manager::cancel_safety`].
    ///
    /// ```
    /// # use lease_pool::{CancelSafety, testing::Scripted};
    /// Scripted::new().set_cancel_safety(CancelSafety::Discard);
    /// ```
    pub fn set_cancel_safety(&self, safety: CancelSafety) {
        *self.shared.safety.lock().unwrap_or_else(PoisonError::into_inner) = Some(safety);
    }

    /// Calls of this stage so far.
    ///
    /// ```
    /// # use lease_pool::testing::{Scripted, Stage};
    /// assert_eq!(Scripted::new().calls(Stage::Create), 0);
    /// ```
    pub fn calls(&self, stage: Stage) -> usize {
        self.track(stage).calls.load(Ordering::SeqCst)
    }

    /// Calls of this stage that have not ended.
    ///
    /// ```
    /// # use lease_pool::testing::{Scripted, Stage};
    /// assert_eq!(Scripted::new().running(Stage::Create), 0);
    /// ```
    pub fn running(&self, stage: Stage) -> usize {
        self.track(stage).running.load(Ordering::SeqCst)
    }

    /// The most calls of this stage that ran at once.
    ///
    /// ```
    /// # use lease_pool::testing::{Scripted, Stage};
    /// assert_eq!(Scripted::new().max_running(Stage::Create), 0);
    /// ```
    pub fn max_running(&self, stage: Stage) -> usize {
        self.track(stage).max_running.load(Ordering::SeqCst)
    }

    /// Calls of this stage whose future was dropped before it ended.
    ///
    /// ```
    /// # use lease_pool::testing::{Scripted, Stage};
    /// assert_eq!(Scripted::new().cut_off(Stage::Check), 0);
    /// ```
    pub fn cut_off(&self, stage: Stage) -> usize {
        self.track(stage).cut_off.load(Ordering::SeqCst)
    }

    /// Resources that exist now, wherever they are.
    ///
    /// ```
    /// assert_eq!(lease_pool::testing::Scripted::new().live(), 0);
    /// ```
    pub fn live(&self) -> usize {
        self.shared.live.load(Ordering::SeqCst)
    }

    /// The most resources that ever existed at once.
    ///
    /// ```
    /// assert_eq!(lease_pool::testing::Scripted::new().max_live(), 0);
    /// ```
    pub fn max_live(&self) -> usize {
        self.shared.max_live.load(Ordering::SeqCst)
    }

    /// Makes a resource outside of any pool, for [`Pool::add`](crate::Pool::add).
    ///
    /// ```
    /// let script = lease_pool::testing::Scripted::new();
    /// assert_eq!(script.make().number(), 1);
    /// ```
    pub fn make(&self) -> ScriptedResource {
        let live = self.shared.live.fetch_add(1, Ordering::SeqCst) + 1;
        self.shared.max_live.fetch_max(live, Ordering::SeqCst);
        ScriptedResource {
            number: self.shared.made.fetch_add(1, Ordering::SeqCst) + 1,
            broken: AtomicBool::new(false),
            dirty: AtomicBool::new(false),
            used: AtomicBool::new(false),
            panics: AtomicBool::new(false),
            shared: Arc::clone(&self.shared),
        }
    }

    async fn play(&self, stage: Stage) -> Result<(), ScriptedError> {
        let track = self.track(stage);
        let act = {
            let mut script = track.script.lock().unwrap_or_else(PoisonError::into_inner);
            let standing = script.1.unwrap_or(Act::Ok);
            script.0.pop_front().unwrap_or(standing)
        };
        track.calls.fetch_add(1, Ordering::SeqCst);
        let running = track.running.fetch_add(1, Ordering::SeqCst) + 1;
        track.max_running.fetch_max(running, Ordering::SeqCst);
        let mut call = Call { track, over: false };
        let result = match act {
            Act::Ok => Ok(()),
            Act::After(span) => {
                tokio::time::sleep(span).await;
                Ok(())
            }
            Act::Fail => Err(ScriptedError { stage, fatal: false }),
            Act::FailAfter(span) => {
                tokio::time::sleep(span).await;
                Err(ScriptedError { stage, fatal: false })
            }
            Act::Fatal => Err(ScriptedError { stage, fatal: true }),
            Act::Never => std::future::pending().await,
            Act::Panic => {
                call.over = true;
                std::panic::resume_unwind(Box::new("scripted panic")); // without a message on stderr
            }
            Act::Gated => {
                track.gate.pass().await;
                Ok(())
            }
        };
        call.over = true;
        result
    }
}

struct Call<'a> {
    track: &'a Track,
    over: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.track.running.fetch_sub(1, Ordering::SeqCst);
        if !self.over {
            self.track.cut_off.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// What a script fails with.
///
/// ```
/// # use lease_pool::testing::{ScriptedError, Stage};
/// fn describe(error: &ScriptedError) -> String {
///     format!("{:?}: {error}", error.stage())
/// }
/// # let _ = describe;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedError {
    stage: Stage,
    fatal: bool,
}

impl ScriptedError {
    /// The stage that failed.
    ///
    /// ```
    /// # use lease_pool::testing::{ScriptedError, Stage};
    /// # fn check(error: &ScriptedError) {
    /// assert_eq!(error.stage(), Stage::Create);
    /// # }
    /// ```
    pub fn stage(&self) -> Stage {
        self.stage
    }
}

impl fmt::Display for ScriptedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} fails as scripted", self.stage)
    }
}

impl Error for ScriptedError {}

/// A resource of a [`Scripted`] manager.
///
/// ```
/// let resource = lease_pool::testing::Scripted::new().make();
/// resource.set_broken(true);
/// ```
#[derive(Debug)]
pub struct ScriptedResource {
    number: usize,
    broken: AtomicBool,
    dirty: AtomicBool,
    used: AtomicBool,
    panics: AtomicBool,
    shared: Arc<Shared>,
}

impl ScriptedResource {
    /// Its number, from 1 in the order of creation.
    ///
    /// ```
    /// assert_eq!(lease_pool::testing::Scripted::new().make().number(), 1);
    /// ```
    pub fn number(&self) -> usize {
        self.number
    }

    /// Sets the answer of [`Manager::is_broken`].
    ///
    /// ```
    /// lease_pool::testing::Scripted::new().make().set_broken(true);
    /// ```
    pub fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// Sets the answer of [`Manager::is_dirty`], until a check or reset succeeds.
    ///
    /// ```
    /// lease_pool::testing::Scripted::new().make().set_dirty(true);
    /// ```
    pub fn set_dirty(&self, dirty: bool) {
        self.dirty.store(dirty, Ordering::SeqCst);
    }

    /// Sets the answer of [`Manager::needs_reset`], until a reset succeeds.
    ///
    /// ```
    /// lease_pool::testing::Scripted::new().make().set_used(true);
    /// ```
    pub fn set_used(&self, used: bool) {
        self.used.store(used, Ordering::SeqCst);
    }

    /// Makes every question about this resource panic.
    ///
    /// ```
    /// lease_pool::testing::Scripted::new().make().set_panics(true);
    /// ```
    pub fn set_panics(&self, panics: bool) {
        self.panics.store(panics, Ordering::SeqCst);
    }

    fn answer(&self, flag: &AtomicBool) -> bool {
        if self.panics.load(Ordering::SeqCst) {
            std::panic::resume_unwind(Box::new("scripted panic"));
        }
        flag.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedResource {
    fn drop(&mut self) {
        self.shared.live.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Manager for Scripted {
    type Resource = ScriptedResource;
    type Error = ScriptedError;

    async fn create(&self, _ctx: CreateContext<'_>) -> Result<ScriptedResource, ScriptedError> {
        self.play(Stage::Create).await.map(|()| self.make())
    }

    async fn check(
        &self,
        resource: &mut ScriptedResource,
        _ctx: CheckContext<'_>,
    ) -> Result<(), ScriptedError> {
        self.play(Stage::Check).await?;
        resource.set_dirty(false);
        Ok(())
    }

    async fn reset(
        &self,
        resource: &mut ScriptedResource,
        _ctx: ResetContext<'_>,
    ) -> Result<(), ScriptedError> {
        self.play(Stage::Reset).await?;
        resource.set_used(false);
        resource.set_dirty(false);
        Ok(())
    }

    async fn close(&self, resource: ScriptedResource, _ctx: CloseContext<'_>) {
        // What a close fails with nobody learns; the resource is gone either way.
        let _ = self.play(Stage::Close).await;
        drop(resource);
    }

    fn needs_reset(&self, resource: &ScriptedResource) -> bool {
        resource.answer(&resource.used)
    }

    fn is_dirty(&self, resource: &ScriptedResource) -> bool {
        resource.answer(&resource.dirty)
    }

    fn is_broken(&self, resource: &ScriptedResource) -> bool {
        resource.answer(&resource.broken)
    }

    fn classify(&self, error: &ScriptedError) -> ErrorClass {
        if error.fatal { ErrorClass::Fatal } else { ErrorClass::Transient }
    }

    fn cancel_safety(&self) -> CancelSafety {
        self.shared.safety.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(CancelSafety::CheckFirst)
    }
}
