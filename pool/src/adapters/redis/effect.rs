//! What a command does to the connection, beyond its answer.

use ::redis::{Arg, Cmd, Pipeline};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Plain,
    /// The server may hold the answer back for as long as it likes.
    Blocks,
    /// Opens a transaction.
    Multi,
    /// Ends a transaction, and what was watched for it.
    EndMulti,
    Watch,
    Unwatch,
    /// Selects another database.
    Select,
    /// Something that no command takes back: a subscription, another user, another protocol.
    Lasting,
}

/// The longest name in the table below.
const LONGEST: usize = 12;

impl Effect {
    pub(super) fn of(command: &Cmd) -> Self {
        let mut arguments = command.args_iter().map(|argument| match argument {
            Arg::Simple(bytes) => bytes,
            _ => b"",
        });
        let Some(name) = arguments.next().filter(|name| name.len() <= LONGEST) else {
            return Effect::Plain;
        };
        let mut upper = [0; LONGEST];
        for (to, from) in upper.iter_mut().zip(name) {
            *to = from.to_ascii_uppercase();
        }
        match &upper[..name.len()] {
            b"BLPOP" | b"BRPOP" | b"BLMOVE" | b"BLMPOP" | b"BRPOPLPUSH" | b"BZPOPMIN" | b"BZPOPMAX"
            | b"BZMPOP" | b"WAIT" | b"WAITAOF" => Effect::Blocks,
            b"XREAD" | b"XREADGROUP" if arguments.any(|argument| argument.eq_ignore_ascii_case(b"BLOCK")) => {
                Effect::Blocks
            }
            b"MULTI" => Effect::Multi,
            b"EXEC" | b"DISCARD" => Effect::EndMulti,
            b"WATCH" => Effect::Watch,
            b"UNWATCH" => Effect::Unwatch,
            b"SELECT" => Effect::Select,
            b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE"
            | b"SUNSUBSCRIBE" | b"MONITOR" | b"AUTH" | b"HELLO" | b"RESET" | b"QUIT" | b"READONLY"
            | b"READWRITE" => Effect::Lasting,
            b"CLIENT" => match arguments.next() {
                Some(what) if is_lasting_client_command(what) => Effect::Lasting,
                _ => Effect::Plain,
            },
            _ => Effect::Plain,
        }
    }

    /// The effects of the commands of a pipeline, in order.
    pub(super) fn all_of(pipeline: &Pipeline) -> impl Iterator<Item = Effect> {
        pipeline.cmd_iter().map(Effect::of)
    }
}

fn is_lasting_client_command(what: &[u8]) -> bool {
    [&b"REPLY"[..], b"TRACKING", b"CACHING", b"NO-EVICT", b"NO-TOUCH", b"SETNAME"]
        .iter()
        .any(|lasting| what.eq_ignore_ascii_case(lasting))
}
