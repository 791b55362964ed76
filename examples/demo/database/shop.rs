//! The little schema and its three queries, in SQL that SQLite and PostgreSQL both take.
use serde::Serialize;

pub(crate) const CUSTOMERS: i64 = 1_000;
pub(crate) const ORDERS: i64 = 20_000;

pub(crate) const CITIES: [&str; 8] =
    ["Aarhus", "Bergen", "Cork", "Dresden", "Espoo", "Faro", "Ghent", "Haarlem"];

/// One customer and what it bought.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Customer {
    pub(crate) id: i64,
    pub(crate) city: String,
    pub(crate) orders: i64,
    pub(crate) cents: i64,
}

/// What one city bought in one month.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) city: String,
    pub(crate) orders: i64,
    pub(crate) cents: i64,
}

/// A new order.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) id: i64,
    pub(crate) customer: i64,
}

pub(crate) const CUSTOMER: &str = "SELECT c.city, count(o.id), cast(coalesce(sum(o.cents), 0) AS BIGINT) FROM customers c \
     LEFT JOIN orders o ON o.customer = c.id WHERE c.id = $1 GROUP BY c.id, c.city";

pub(crate) const REPORT: &str = "SELECT c.city, count(*), cast(sum(o.cents) AS BIGINT) FROM orders o \
     JOIN customers c ON c.id = o.customer WHERE o.month = $1 GROUP BY c.city ORDER BY c.city";

pub(crate) const ORDER: &str = "INSERT INTO orders (customer, month, cents) VALUES ($1, $2, $3) RETURNING id";

/// The oldest order goes with each new one, so that a demo that runs all night answers as fast as at its start.
pub(crate) const FORGET: &str = "DELETE FROM orders WHERE id = $1";

/// The city of a customer made at start.
pub(crate) fn city(customer: i64) -> &'static str {
    CITIES[customer as usize % CITIES.len()]
}

/// Customer, month and price of an order made at start; spread by a multiplier without pattern.
pub(crate) fn order(number: i64) -> (i64, i64, i64) {
    let spread = ((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as i64;
    (1 + spread % CUSTOMERS, 1 + spread / CUSTOMERS % 12, 100 + spread % 9_900)
}
