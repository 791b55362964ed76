//! The shop in an SQLite file of its own, in a temporary folder that goes with it.
use std::path::{Path, PathBuf};

use lease_pool::sqlite::{Connection, Error, Options, SqliteManager};
use rusqlite::{OptionalExtension, params};

use super::shop::{self, Customer, Line, Order};

/// A folder that is removed with everything in it when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn create() -> std::io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("fair-leases-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    fn file(&self) -> PathBuf {
        self.0.join("shop.sqlite")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a system cannot remove it sweeps away itself: the folder is a temporary one.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn manager(folder: &Folder) -> SqliteManager {
    Options::file(folder.file()).wal().immediate().manager()
}

/// Makes schema and data.
pub(crate) fn fill(folder: &Folder) -> Result<(), String> {
    fill_file(&folder.file()).map_err(|error| format!("cannot fill the SQLite file: {error}"))
}

fn fill_file(file: &Path) -> rusqlite::Result<()> {
    let mut sqlite = rusqlite::Connection::open(file)?;
    let filling = sqlite.transaction()?;
    filling.execute_batch(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, city TEXT NOT NULL);
         CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers (id),
                              month INTEGER NOT NULL, cents INTEGER NOT NULL);
         CREATE INDEX orders_by_customer ON orders (customer);
         CREATE INDEX orders_by_month ON orders (month);",
    )?;
    {
        let mut customers = filling.prepare("INSERT INTO customers VALUES (?1, ?2)")?;
        for id in 1..=shop::CUSTOMERS {
            customers.execute(params![id, shop::city(id)])?;
        }
        let mut orders =
            filling.prepare("INSERT INTO orders (customer, month, cents) VALUES (?1, ?2, ?3)")?;
        for number in 1..=shop::ORDERS {
            orders.execute(shop::order(number))?;
        }
    }
    filling.commit()
}

pub(crate) async fn customer(connection: &mut Connection, id: i64) -> Result<Option<Customer>, Error> {
    let read = move |sqlite: &mut rusqlite::Connection| {
        let mut statement = sqlite.prepare_cached(shop::CUSTOMER)?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok(Customer { id, city: row.get(0)?, orders: row.get(1)?, cents: row.get(2)? })
        };
        statement.query_row([id], row).optional()
    };
    connection.call(read).await
}

pub(crate) async fn report(connection: &mut Connection, month: i64) -> Result<Vec<Line>, Error> {
    let read = move |sqlite: &mut rusqlite::Connection| {
        let mut statement = sqlite.prepare_cached(shop::REPORT)?;
        let row =
            |row: &rusqlite::Row<'_>| Ok(Line { city: row.get(0)?, orders: row.get(1)?, cents: row.get(2)? });
        statement.query_map([month], row)?.collect()
    };
    connection.call(read).await
}

pub(crate) async fn order(connection: &mut Connection, customer: i64) -> Result<Order, Error> {
    let write = move |sqlite: &mut rusqlite::Connection| {
        let transaction = sqlite.transaction()?;
        let (_, month, cents) = shop::order(customer);
        let id: i64 =
            transaction.prepare_cached(shop::ORDER)?.query_row([customer, month, cents], |row| row.get(0))?;
        transaction.prepare_cached(shop::FORGET)?.execute([id - shop::ORDERS])?;
        transaction.commit()?;
        Ok(Order { id, customer })
    };
    connection.call(write).await
}
