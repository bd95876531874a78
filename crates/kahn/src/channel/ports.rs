//! Ports: the ends that a process gets when it is created.

use super::raw::{ChannelRef, End};
use super::{Receiver, Sender};

/// One end, as [`Ports::visit`] shows it to the runtime.
///
/// # Examples
///
/// A set of ports that says how many it has:
///
/// ```
/// use kahn::{Network, Port, Ports};
///
/// fn count(ports: &impl Ports) -> usize {
///     let mut count = 0;
///     ports.visit(&mut |_port: Port| count += 1);
///     count
/// }
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("numbers");
/// assert_eq!(count(&(out, numbers)), 2);
/// ```
#[derive(Debug)]
pub struct Port(PortKind);

#[derive(Debug)]
pub(crate) enum PortKind {
    End(ChannelRef, End),
    Creates,
}

impl Port {
    pub(crate) fn creates() -> Self {
        Self(PortKind::Creates)
    }

    pub(crate) fn into_kind(self) -> PortKind {
        self.0
    }
}

/// What a process can be given: ends, and whatever holds ends.
///
/// Implemented for [`Sender`], [`Receiver`], [`Spawner`](crate::Spawner), for tuples, arrays,
/// vectors and options of ports, and for `()`. Implement it for a struct of your own by visiting
/// its fields.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Port, Ports, Receiver, Sender};
///
/// struct Filter {
///     numbers: Receiver<u32>,
///     even: Sender<u32>,
/// }
///
/// impl Ports for Filter {
///     fn visit(&self, see: &mut dyn FnMut(Port)) {
///         self.numbers.visit(see);
///         self.even.visit(see);
///     }
/// }
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..6);
/// let (even, evens) = network.channel("even");
/// network.process("filter", Filter { numbers, even }, async |mut filter| {
///     while let Some(n) = filter.numbers.recv().await {
///         if n % 2 == 0 {
///             filter.even.send(n).await;
///         }
///     }
/// });
/// let all = network.collect("all", evens);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![0, 2, 4]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no port of a process",
    label = "this is no end of a channel",
    note = "ports are ends of channels and spawners, alone or in tuples, arrays and vectors; whatever else a \
            process uses its closure captures: `async move |ports| …`"
)]
pub trait Ports: Send {
    /// Shows each end to `see`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Port, Ports, Receiver};
    ///
    /// /// The inputs of a process, by what they are for.
    /// struct Inputs<T> {
    ///     data: Vec<Receiver<T>>,
    ///     control: Option<Receiver<bool>>,
    /// }
    ///
    /// impl<T: Send> Ports for Inputs<T> {
    ///     fn visit(&self, see: &mut dyn FnMut(Port)) {
    ///         self.data.visit(see);
    ///         self.control.visit(see);
    ///     }
    /// }
    ///
    /// let mut network = Network::new();
    /// let data = vec![network.source("a", 0..3_u32), network.source("b", 3..6)];
    /// let inputs = Inputs { data, control: None };
    /// network.process("add up", inputs, async |mut inputs| {
    ///     let mut sum = 0;
    ///     for input in &mut inputs.data {
    ///         input.for_each(|n| sum += n).await;
    ///     }
    ///     assert_eq!(sum, 15);
    /// });
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    fn visit(&self, see: &mut dyn FnMut(Port));
}

impl<T: Send> Ports for Sender<T> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        see(Port(PortKind::End(self.channel(), End::Sender)));
    }
}

impl<T: Send> Ports for Receiver<T> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        see(Port(PortKind::End(self.channel(), End::Receiver)));
    }
}

impl<P: Ports> Ports for Vec<P> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        for port in self {
            port.visit(see);
        }
    }
}

impl<P: Ports, const N: usize> Ports for [P; N] {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        for port in self {
            port.visit(see);
        }
    }
}

impl<P: Ports> Ports for Option<P> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        if let Some(port) = self {
            port.visit(see);
        }
    }
}

impl Ports for () {
    fn visit(&self, _see: &mut dyn FnMut(Port)) {}
}

macro_rules! tuples_of_ports {
    ($(($($name:ident),+)),*) => {$(
        impl<$($name: Ports),+> Ports for ($($name,)+) {
            fn visit(&self, see: &mut dyn FnMut(Port)) {
                #[expect(non_snake_case, reason = "one name for a type and its value")]
                let ($($name,)+) = self;
                $($name.visit(see);)+
            }
        }
    )*};
}

tuples_of_ports!(
    (A),
    (A, B),
    (A, B, C),
    (A, B, C, D),
    (A, B, C, D, E),
    (A, B, C, D, E, F),
    (A, B, C, D, E, F, G),
    (A, B, C, D, E, F, G, H)
);
