//! Outside parties: the same program on a thread that is no process.

use super::machine::{Action, Held, Machine, PLACES};
use super::program::Process;
use super::translate::{In, Kept, Log, Out, Parcel, Tapped, parcel, write_down};
use kahn::{OutsidePorts, OutsideReceiver, OutsideSender, Party};
use std::sync::Arc;

/// What a place of a party holds.
pub(super) enum PartyEnd {
    Nothing,
    Number(OutsideSender<u64>),
    Parcel(OutsideSender<Parcel>, usize),
    Numbers(OutsideReceiver<u64>, String),
    Parcels(OutsideReceiver<Parcel>, String),
}

impl OutsidePorts for Kept<'_> {
    type Outside = PartyEnd;

    fn into_outside(self, party: &Arc<Party>) -> PartyEnd {
        match self {
            Self::Nothing => PartyEnd::Nothing,
            Self::Sender(Out::Number(sender)) => PartyEnd::Number(sender.into_outside(party)),
            Self::Sender(Out::Parcel(sender, bytes)) => {
                PartyEnd::Parcel(sender.into_outside(party), bytes)
            }
            Self::Receiver(Tapped { receiver: In::Number(receiver), name, .. }) => {
                PartyEnd::Numbers(receiver.into_outside(party), name)
            }
            Self::Receiver(Tapped { receiver: In::Parcel(receiver), name, .. }) => {
                PartyEnd::Parcels(receiver.into_outside(party), name)
            }
        }
    }
}

/// What the thread of a party does.
pub(super) fn party(
    process: &Process,
    name: &str,
    mut ends: Vec<PartyEnd>,
    log: &Log,
) -> Result<(), kahn::Ended> {
    let held: Vec<Held> = ends
        .iter()
        .map(|end| match end {
            PartyEnd::Nothing => Held::Nothing,
            PartyEnd::Number(_) | PartyEnd::Parcel(..) => Held::Sender,
            PartyEnd::Numbers(..) | PartyEnd::Parcels(..) => Held::Receiver,
        })
        .collect();
    let mut machine = Machine::new(process, 0, &held);
    ends.resize_with(PLACES, || PartyEnd::Nothing);
    let send = |end: &mut PartyEnd, value| match end {
        PartyEnd::Number(sender) => sender.send_blocking(value),
        PartyEnd::Parcel(sender, bytes) => sender.send_blocking(parcel(value, *bytes)),
        _ => Ok(()),
    };
    let recv = |end: &mut PartyEnd| match end {
        PartyEnd::Numbers(receiver, _) => receiver.recv_blocking(),
        PartyEnd::Parcels(receiver, _) => {
            receiver.recv_blocking().map(|message| message.map(|(value, _)| value))
        }
        _ => Ok(None),
    };
    let note = |end: &PartyEnd, values: &[u64]| {
        if let PartyEnd::Numbers(_, name) | PartyEnd::Parcels(_, name) = end {
            write_down(log, name, values);
        }
    };
    loop {
        match machine.next() {
            Action::Send { to, value } => send(&mut ends[to], value)?,
            Action::SendAll { to, first, count } => {
                for more in 0..count {
                    send(&mut ends[to], first.wrapping_add(more))?;
                }
            }
            Action::Recv { from } => {
                let message = recv(&mut ends[from])?;
                if let Some(value) = message {
                    note(&ends[from], &[value]);
                }
                machine.received(message);
            }
            Action::RecvMany { from, count } => {
                let mut all = Vec::new();
                while (all.len() as u64) < count
                    && let Some(value) = recv(&mut ends[from])?
                {
                    all.push(value);
                }
                note(&ends[from], &all);
                machine.received_many(&all, count);
            }
            Action::Drop(place) => ends[place] = PartyEnd::Nothing,
            Action::Move { from, to } => {
                ends[to] = std::mem::replace(&mut ends[from], PartyEnd::Nothing);
            }
            Action::End(_) => return Ok(()),
            Action::Effect(value) => {
                log.lock().effects.entry(name.to_owned()).or_default().push(value);
            }
            Action::Flush | Action::Channel { .. } | Action::Create { .. } => {}
        }
    }
}
