//! Redis: what reaches the next user of a connection, and what does not. Against a real server.
#![cfg(feature = "redis")]

#[path = "support/programs.rs"]
mod programs;

use std::time::Duration;

use lease_pool::manager::CloseReason;
use lease_pool::redis::redis::{AsyncCommands, RedisResult, cmd, pipe};
use lease_pool::redis::{self as pools, Connection, Options};
use lease_pool::{Pool, Pooled, RedisPool};
use programs::Redis;

fn pool_of(server: &Redis, max: usize) -> RedisPool {
    Pool::builder(Options::from_url(&server.url()).unwrap().manager()).max(max).build().unwrap()
}

async fn id(connection: &mut Connection) -> i64 {
    cmd("CLIENT").arg("ID").query_async(connection).await.unwrap()
}

/// The lines of CLIENT LIST, without the one who asks.
async fn clients(witness: &mut Connection) -> Vec<String> {
    let own = format!("id={} ", id(witness).await);
    let list: String = cmd("CLIENT").arg("LIST").query_async(witness).await.unwrap();
    list.lines().filter(|line| !line.starts_with(&own)).map(str::to_owned).collect()
}

async fn until_blocked(witness: &mut Connection) {
    while !clients(witness).await.iter().any(|line| line.contains("flags=b")) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_use_cut_off_between_write_and_read_leaves_no_answer_to_the_next() {
    let Some(server) = Redis::start() else { return };
    let pool = pool_of(&server, 1);
    for n in 0..300_i64 {
        let mut connection = pool.get().await.unwrap();
        let mut echo = cmd("ECHO");
        echo.arg(-n - 1);
        let mut cut_off = Box::pin(echo.query_async::<i64>(&mut *connection));
        // A few polls let it out at different points of the exchange.
        for _ in 0..=n % 4 {
            if futures_util::poll!(cut_off.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(cut_off);
        drop(connection);
        let mut connection = pool.get().await.unwrap();
        let answer: i64 = cmd("ECHO").arg(n).query_async(&mut *connection).await.unwrap();
        assert_eq!(answer, n);
    }
    assert_eq!(pool.stats().created, 1, "no healthy connection was given up");
}

#[tokio::test]
async fn a_transaction_a_watch_and_a_database_left_behind_do_not_reach_the_next() {
    let Some(server) = Redis::start() else { return };
    let pool = pool_of(&server, 1);
    let mut first = pool.get().await.unwrap();
    let own = id(&mut first).await;
    drop(first);
    for left in [vec!["MULTI"], vec!["WATCH", "key"], vec!["SELECT", "3"]] {
        let mut connection = pool.get().await.unwrap();
        let mut command = cmd(left[0]);
        for argument in &left[1..] {
            command.arg(*argument);
        }
        command.exec_async(&mut *connection).await.unwrap();
        drop(connection);
        let mut connection = pool.get().await.unwrap();
        let info: String = cmd("CLIENT").arg("INFO").query_async(&mut *connection).await.unwrap();
        assert!(info.contains(&format!("id={own} ")), "{left:?}: {info}");
        assert!(info.contains(" db=0 ") && info.contains(" multi=-1 "), "{left:?}: {info}");
        // A watch shows only in a transaction that fails because somebody wrote the key.
        connection.set::<_, _, ()>("key", 1).await.unwrap();
        let ran: Option<(i64,)> =
            pipe().atomic().cmd("GET").arg("key").query_async(&mut *connection).await.unwrap();
        assert_eq!(ran, Some((1,)), "{left:?}");
    }
    assert_eq!(pool.stats().created, 1);
}

#[tokio::test]
async fn a_transaction_that_ended_costs_no_reset() {
    let Some(server) = Redis::start() else { return };
    let pool = pool_of(&server, 1);
    let mut connection = pool.get().await.unwrap();
    for word in ["MULTI", "PING", "EXEC"] {
        cmd(word).exec_async(&mut *connection).await.unwrap();
    }
    drop(connection);
    assert_eq!(pool.snapshot().idle, 1, "{:?}", pool.snapshot());
}

#[tokio::test]
async fn a_blocking_command_cut_off_closes_its_connection_and_takes_no_element() {
    let Some(server) = Redis::start() else { return };
    let watching = pool_of(&server, 1);
    let mut witness = watching.get().await.unwrap();
    let pool = pool_of(&server, 1);
    let mut connection = pool.get().await.unwrap();
    let own = id(&mut connection).await;
    tokio::select! {
        taken = connection.blpop::<_, (String, i64)>("queue", 0.0) => panic!("nothing is in the queue: {taken:?}"),
        () = until_blocked(&mut witness) => {}
    }
    drop(connection);
    let mut connection = pool.get().await.unwrap();
    assert_ne!(id(&mut connection).await, own);
    assert_eq!(pool.stats().closed(CloseReason::Broken), 1);
    assert!(!clients(&mut witness).await.iter().any(|line| line.contains("flags=b")));
    connection.rpush::<_, _, ()>("queue", 7).await.unwrap();
    assert_eq!(connection.llen::<_, i64>("queue").await.unwrap(), 1);
}

#[tokio::test]
async fn a_blocking_command_outlasts_the_response_timeout_and_others_do_not() {
    let Some(server) = Redis::start() else { return };
    let watching = pool_of(&server, 1);
    let mut witness = watching.get().await.unwrap();
    let options = Options::from_url(&server.url()).unwrap().response_timeout(Duration::from_millis(20));
    let pool = Pool::builder(options.manager()).max(1).build().unwrap();
    let mut connection = pool.get().await.unwrap();
    let blocked = connection.blpop::<_, (String, i64)>("queue", 0.0);
    let later = async {
        until_blocked(&mut witness).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        witness.rpush::<_, _, ()>("queue", 7).await.unwrap();
    };
    let (taken, ()) = tokio::join!(blocked, later);
    assert_eq!(taken.unwrap().1, 7);
    server.freeze();
    let answer: RedisResult<()> = cmd("PING").exec_async(&mut *connection).await;
    server.thaw();
    assert!(answer.unwrap_err().is_timeout());
    drop(connection);
    let mut connection = pool.get().await.unwrap();
    let answer: RedisResult<i64> = cmd("ECHO").arg(9).query_async(&mut *connection).await;
    assert!(matches!(&answer, Ok(9)) || answer.is_err_and(|error| error.is_timeout()));
}

#[tokio::test]
async fn what_no_command_takes_back_closes_the_connection() {
    let Some(server) = Redis::start() else { return };
    let pool = pool_of(&server, 1);
    for (created, words) in [["CLIENT", "SETNAME", "x"], ["CLIENT", "TRACKING", "OFF"]].iter().enumerate() {
        let mut connection = pool.get().await.unwrap();
        assert_eq!(pool.stats().created, created as u64 + 1);
        cmd(words[0]).arg(words[1]).arg(words[2]).exec_async(&mut *connection).await.unwrap();
    }
    let mut connection = pool.get().await.unwrap();
    id(&mut connection).await;
    drop(connection);
    drop(pool.get().await.unwrap());
    assert_eq!(pool.stats().created, 3, "asking for the id changed nothing");
}

#[tokio::test]
async fn a_killed_connection_costs_one_failed_command_at_most() {
    let Some(server) = Redis::start() else { return };
    let watching = pool_of(&server, 1);
    let mut witness = watching.get().await.unwrap();
    let pool = pool_of(&server, 1);
    let mut connection = pool.get().await.unwrap();
    let own = id(&mut connection).await;
    drop(connection);
    let killed: i64 = cmd("CLIENT").arg("KILL").arg("ID").arg(own).query_async(&mut *witness).await.unwrap();
    assert_eq!(killed, 1);
    for _ in 0..2 {
        let mut connection = pool.get().await.unwrap();
        if cmd("PING").exec_async(&mut *connection).await.is_ok() {
            assert_ne!(id(&mut connection).await, own);
            return;
        }
    }
    panic!("two failures from one killed connection");
}

#[tokio::test]
async fn a_closed_connection_is_gone_from_the_server_even_if_it_was_blocked() {
    let Some(server) = Redis::start() else { return };
    let watching = pool_of(&server, 1);
    let mut witness = watching.get().await.unwrap();
    let pool = pool_of(&server, 4);
    let mut connections = futures_util::future::try_join_all((0..4).map(|_| pool.get())).await.unwrap();
    tokio::select! {
        _ = connections[0].blpop::<_, (String, i64)>("queue", 0.0) => panic!("nothing is in the queue"),
        () = until_blocked(&mut witness) => {}
    }
    connections.into_iter().for_each(Pooled::discard);
    pool.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(clients(&mut witness).await, Vec::<String>::new());
}

#[tokio::test]
async fn users_of_a_shared_connection_are_bounded_and_one_connection_serves_them() {
    let Some(server) = Redis::start() else { return };
    let watching = pool_of(&server, 1);
    let mut witness = watching.get().await.unwrap();
    let pool = pools::shared(&server.url(), 16).unwrap();
    let mut users = futures_util::future::try_join_all((0..16).map(|_| pool.get())).await.unwrap();
    assert!(pool.try_get().is_err());
    let answers = users.iter_mut().zip(0_i64..).map(|(user, n)| async move {
        let answer: i64 = cmd("ECHO").arg(n).query_async(&mut **user).await.unwrap();
        assert_eq!(answer, n);
    });
    futures_util::future::join_all(answers).await;
    assert_eq!(clients(&mut witness).await.len(), 1);
    drop(users);
    pool.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(clients(&mut witness).await.len(), 0);
}

#[tokio::test]
async fn a_shared_connection_refuses_what_would_touch_its_other_users() {
    let Some(server) = Redis::start() else { return };
    let pool = pools::shared(&server.url(), 2).unwrap();
    let mut user = pool.get().await.unwrap();
    assert!(user.blpop::<_, (String, i64)>("queue", 0.0).await.is_err());
    for word in ["MULTI", "SUBSCRIBE", "MONITOR", "SELECT", "WATCH"] {
        let refused: RedisResult<()> = cmd(word).arg("1").exec_async(&mut *user).await;
        assert!(refused.unwrap_err().to_string().contains("connection of its own"), "{word}");
    }
    let atomic: (i64, i64) =
        pipe().atomic().cmd("INCR").arg("n").cmd("INCR").arg("n").query_async(&mut *user).await.unwrap();
    assert_eq!(atomic, (1, 2));
}

#[tokio::test]
async fn a_lost_shared_connection_is_made_anew_once() {
    let Some(server) = Redis::start() else { return };
    let watching = pool_of(&server, 1);
    let mut witness = watching.get().await.unwrap();
    let pool = pools::shared(&server.url(), 8).unwrap();
    drop(futures_util::future::try_join_all((0..8).map(|_| pool.get())).await.unwrap());
    let others: i64 = cmd("CLIENT")
        .arg("KILL")
        .arg("TYPE")
        .arg("normal")
        .arg("SKIPME")
        .arg("yes")
        .query_async(&mut *witness)
        .await
        .unwrap();
    assert_eq!(others, 1);
    // At most the first user can find the end of the old one by a command of his own.
    let mut failures = 0;
    for _ in 0..8 {
        let mut users = futures_util::future::try_join_all((0..8).map(|_| pool.get())).await.unwrap();
        for user in &mut users {
            failures += usize::from(cmd("PING").exec_async(&mut **user).await.is_err());
        }
    }
    assert!(failures <= 8, "{failures} of 64 commands failed");
    assert_eq!(clients(&mut witness).await.len(), 1);
}

#[tokio::test]
async fn an_address_that_cannot_be_spoken_to_fails_at_once() {
    let Some(server) = Redis::start() else { return };
    let with_password = server.url().replace("127.0.0.1", "user:wrong@127.0.0.1");
    let error = pools::pool(&with_password).unwrap().get().await.unwrap_err();
    assert!(matches!(error, lease_pool::GetError::Create { .. }), "{error:?}");
}
