//! Rounds in which contenders take turns.
//!
//! Their order changes from round to round: none has always the same predecessor, and the machine's moods meet
//! all of them.

/// Rounds that are thrown away first: files come into memory, bridges are made.
pub const WARM_UP: usize = 3;

/// The places of three in the order of a round. Six rounds go through all orders.
pub fn order(round: usize) -> [usize; 3] {
    rotated([0, 1, 2], round)
}

/// The places of four. Each comes at each place, and after each of its neighbours.
pub fn order_of_four(round: usize) -> [usize; 4] {
    rotated([0, 1, 2, 3], round)
}

fn rotated<const N: usize>(mut order: [usize; N], round: usize) -> [usize; N] {
    if round / N % 2 == 1 {
        order.reverse();
    }
    order.rotate_left(round % N);
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
