//! What tokens cost, and what a session has spent. A price list is a deployment's: nothing of it is
//! in a log, so old runs are shown at today's prices.

use crate::content::Usage;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// An amount of money, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(pub u64);

impl Cost {
    /// An amount in US dollars; nothing when it is not a positive number.
    #[must_use]
    pub fn dollars(amount: f64) -> Self {
        // Casts from floats saturate, and turn what is no number into 0.
        Self((amount * 1e6).round() as u64)
    }

    /// The amount in US dollars.
    #[must_use]
    pub fn in_dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Both amounts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Cost {
    /// In dollars: to the cent, and below one dollar to a hundredth of a cent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1_000_000 {
            let cents = self.0.saturating_add(5_000) / 10_000;
            write!(f, "${}.{:02}", cents / 100, cents % 100)
        } else {
            write!(f, "$0.{:04}", self.0 / 100)
        }
    }
}

impl Serialize for Cost {
    /// As a number of dollars.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.in_dollars())
    }
}

/// The prices of one model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of input that is in no cache.
    pub input: f64,
    /// Of output, reasoning included.
    pub output: f64,
    /// Of input read from the provider's cache; like other input when nothing is said.
    pub cached: Option<f64>,
    /// Of input written to the provider's cache; like other input when nothing is said.
    pub cache_write: Option<f64>,
}

impl Price {
    /// Says whether all its numbers are prices.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let numbers = [Some(self.input), Some(self.output), self.cached, self.cache_write];
        numbers.into_iter().flatten().all(|number| number.is_finite() && number >= 0.0)
    }

    /// What some tokens cost.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Cost {
        let cached = usage.cached.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let plain = usage.input - cached - written;
        // Dollars for a million tokens are millionths of a dollar for one.
        let millionths = plain as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + written as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        Cost::dollars(millionths / 1e6)
    }
}

/// The prices of models, by the beginnings of their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// A list. A name is `provider/model` or `model`, and stands for every model that begins so.
    #[must_use]
    pub fn new(prices: BTreeMap<String, Price>) -> Self {
        Self(prices)
    }

    /// The price of a model that the configuration knows as `provider/model` or
    /// `provider/model@URL`: the one with the longest fitting name.
    #[must_use]
    pub fn find(&self, model: &str) -> Option<&Price> {
        let full = model.split_once("@http").map_or(model, |(name, _)| name);
        let bare = full.split_once('/').map_or(full, |(_, bare)| bare);
        let fitting = self
            .0
            .iter()
            .filter(|(name, _)| full.starts_with(name.as_str()) || bare.starts_with(name.as_str()));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| price)
    }
}

/// The tokens of a session, by the model that used them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending(BTreeMap<String, Usage>);

impl Spending {
    /// Counts one request.
    pub fn add(&mut self, model: &str, usage: Usage) {
        if let Some(sum) = self.0.get_mut(model) {
            *sum += usage;
        } else {
            self.0.insert(model.to_owned(), usage);
        }
    }

    /// All tokens.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.0.values().fold(Usage::default(), |mut sum, usage| {
            sum += *usage;
            sum
        })
    }

    /// What they cost; `None` when nothing of it has a price.
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> Option<Cost> {
        let known = self.0.iter().filter_map(|(model, usage)| Some(prices.find(model)?.of(usage)));
        known.reduce(Cost::plus)
    }
}
