//! Sharing a bill.

/// What each of `people` pays of a bill of `cents`, the first one first.
pub fn shares(cents: u64, people: u64) -> Vec<u64> {
    let each = cents / people;
    (0..people).map(|_| each).collect()
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn an_even_bill_is_shared_evenly() {
        assert_eq!(shares(900, 3), [300, 300, 300]);
    }

    #[test]
    fn nobody_is_left_with_a_cent() {
        assert_eq!(shares(1000, 3), [334, 333, 333]);
    }
}
