//! What a report says of growth, and of what messages weighed.

use crate::channel::table::ChannelRecord;
use kahn_report::{GrowthReport, Name};

/// What a message of a channel owned on average, if it is known.
pub(super) fn owned_bytes(record: &ChannelRecord) -> Option<u64> {
    record.weight.map(|weight| weight / record.counts.sent.max(1))
}

/// What is told of a channel that grew.
pub(super) fn growth(record: &ChannelRecord) -> GrowthReport {
    GrowthReport {
        channel: record.name.clone(),
        from: record.from.clone(),
        to: record.to.clone(),
        began_with: record.began_with,
        capacity: record.capacity,
        message_bytes: record.message_size,
        owned_bytes: owned_bytes(record),
    }
}

/// The channels whose messages own an unknown amount, if there was any message.
pub(super) fn weight_unknown(channels: &[ChannelRecord]) -> Vec<Name> {
    let unknown = |record: &&ChannelRecord| record.weight.is_none() && record.counts.sent > 0;
    channels.iter().filter(unknown).map(|record| record.name.clone()).collect()
}

/// Warns if messages that waited may have weighed more than the budget: channels that never grow are
/// not compared with it.
pub(super) fn too_heavy(channels: &[ChannelRecord], slots: u64, budget: u64) -> Option<String> {
    let waiting = |record: &ChannelRecord| {
        u64::from(record.counts.most_waiting).saturating_mul(owned_bytes(record).unwrap_or(0))
    };
    let together = channels.iter().map(waiting).fold(slots, u64::saturating_add);
    let heaviest = channels.iter().max_by_key(|record| waiting(record))?;
    (together > budget && waiting(heaviest) > 0).then(|| {
        format!(
            "the messages in the channels may have weighed {together} bytes together, and the budget \
             is {budget}: channel `{}` held up to {} of {} bytes each: give it a smaller capacity",
            heaviest.name,
            heaviest.counts.most_waiting,
            owned_bytes(heaviest).unwrap_or(0)
        )
    })
}
