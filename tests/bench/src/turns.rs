//! Rounds in which three take turns.
//!
//! Their order changes from round to round: none has always the same predecessor, and the machine's moods meet
//! all of them.

/// Rounds that are thrown away first: files come into memory, bridges are made.
pub const WARM_UP: usize = 3;

/// The places of the three in the order of a round. Six rounds go through all orders.
pub fn order(round: usize) -> [usize; 3] {
    let mut order = [0, 1, 2];
    if round / 3 % 2 == 1 {
        order.reverse();
    }
    order.rotate_left(round % 3);
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::order;

    #[test]
    fn six_rounds_go_through_all_orders() {
        let orders: BTreeSet<_> = (0..6).map(order).collect();
        assert_eq!(orders.len(), 6);
    }
}
