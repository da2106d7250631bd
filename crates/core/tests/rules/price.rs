//! What tokens cost: by the kind of token, by the longest fitting name.

use longboat_core::content::Usage;
use longboat_core::price::{Cost, Price, Prices, Spending};
use std::collections::BTreeMap;

fn price(input: f64) -> Price {
    Price { input, output: 10.0, cached: Some(0.25), cache_write: None }
}

fn list(names: &[(&str, f64)]) -> Prices {
    let entries = names.iter().map(|(name, input)| ((*name).to_owned(), price(*input)));
    Prices::new(entries.collect::<BTreeMap<_, _>>())
}

#[test]
fn each_kind_of_token_has_its_price() {
    let usage = Usage {
        input: 1_000_000,
        cached: 400_000,
        cache_write: 100_000,
        output: 50_000,
        reasoning: 9,
    };
    // 600k plain and written at 2.5, 400k cached at 0.25, 50k out at 10.
    assert_eq!(price(2.5).of(&usage), Cost::dollars(1.5 + 0.1 + 0.5));
    let odd = Usage { input: 10, cached: 20, cache_write: 5, ..Usage::default() };
    assert_eq!(
        price(2.5).of(&odd),
        Cost(3),
        "a provider that counts wrong costs nothing below zero"
    );
}

#[test]
fn the_longest_fitting_name_counts_with_or_without_its_provider() {
    let prices = list(&[("openai/gpt-4o", 1.0), ("openai/gpt-4o-mini", 2.0), ("qwen", 3.0)]);
    let input = |model: &str| prices.find(model).map(|price| price.input);
    assert_eq!(input("openai/gpt-4o-2024-11-20"), Some(1.0));
    assert_eq!(input("openai/gpt-4o-mini@http://127.0.0.1:1/v1"), Some(2.0));
    assert_eq!(input("ollama/qwen3"), Some(3.0));
    assert_eq!(input("ollama/llama3"), None);
}

#[test]
fn spending_is_kept_by_model_and_what_has_no_price_has_no_cost() {
    let prices = list(&[("a/one", 1.0)]);
    let mut spending = Spending::default();
    assert_eq!(spending.cost(&prices), None);
    let used = Usage { input: 1_000_000, ..Usage::default() };
    spending.add("b/two", used);
    assert_eq!(spending.cost(&prices), None);
    spending.add("a/one", used);
    assert_eq!(spending.cost(&prices), Some(Cost(1_000_000)));
    assert_eq!(spending.usage().input, 2_000_000);
}

#[test]
fn money_is_shown_in_dollars_finely_below_one() {
    let shown = [0, 99, 123_456, 999_999, 1_234_567, 12_345_678_901].map(|n| Cost(n).to_string());
    assert_eq!(shown, ["$0.0000", "$0.0000", "$0.1234", "$0.9999", "$1.23", "$12345.68"]);
}
