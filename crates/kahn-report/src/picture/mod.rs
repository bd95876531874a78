//! A network as a picture: boxes and arrows in SVG, without any other program.
//!
//! | file | what it does |
//! |---|---|
//! | `fold` | makes few boxes of many: families, and what is left over |
//! | `layout` | finds layers, order and places of boxes and labels |
//! | `svg` | writes what was placed |
//!
//! The same data give the same bytes.

mod fold;
mod layout;
mod svg;
#[cfg(test)]
mod tests;

/// What a box of a picture stands for.
///
/// # Examples
///
/// ```
/// use kahn_report::{Picture, VertexKind};
///
/// let mut picture = Picture::default();
/// picture.vertex("driver", VertexKind::Outside);
/// assert!(picture.svg().contains("outside the network"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VertexKind {
    /// A process that the workers run.
    Process,
    /// A process on a thread of its own.
    Blocking,
    /// A party outside the network.
    Outside,
    /// A component of a program that is no process by itself: it stays a box of its own, whatever its
    /// name is.
    Component,
    /// The same, where messages part.
    Choice,
    /// The same, where messages come together: a dot, without its name.
    Join,
}

/// A process, or several in one box.
#[derive(Clone, Debug)]
struct Vertex {
    name: String,
    kind: VertexKind,
    /// Their numbers.
    members: Vec<usize>,
    /// Seconds of processors, if they were measured.
    seconds: Option<f64>,
}

/// A channel, or several in one arrow.
#[derive(Clone, Debug)]
struct Edge {
    from: usize,
    to: usize,
    /// Names, each once.
    names: Vec<String>,
    members: usize,
    initial: u64,
    /// Bytes that passed, after a run.
    traffic: Option<u64>,
    growths: u64,
}

/// A network to be drawn: processes and the channels between them, in the order of their creation.
///
/// # Examples
///
/// ```
/// use kahn_report::{Picture, VertexKind};
///
/// let mut picture = Picture::default();
/// let read = picture.vertex("read", VertexKind::Blocking);
/// let count = picture.vertex("count", VertexKind::Process);
/// picture.edge(read, count, "lines", 0);
/// let svg = picture.svg();
/// assert!(svg.starts_with("<svg ") && svg.contains(">lines<"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Picture {
    vertices: Vec<Vertex>,
    edges: Vec<Edge>,
}

impl Picture {
    /// Returns a text as it stands in a picture: what means something in XML is escaped, and what no XML may
    /// contain is a replacement character.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kahn_report::Picture::escaped("a < b\n"), "a &lt; b ");
    /// ```
    pub fn escaped(text: &str) -> String {
        svg::escaped(text)
    }

    /// Adds a process and returns its number.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Picture, VertexKind};
    ///
    /// let mut picture = Picture::default();
    /// assert_eq!(picture.vertex("read", VertexKind::Process), 0);
    /// assert_eq!(picture.vertex("write", VertexKind::Process), 1);
    /// ```
    pub fn vertex(&mut self, name: &str, kind: VertexKind) -> usize {
        let number = self.vertices.len();
        let (name, members) = (name.to_owned(), vec![number]);
        self.vertices.push(Vertex { name, kind, members, seconds: None });
        number
    }

    /// Adds a channel between processes by their numbers, with so many initial messages.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Picture, VertexKind};
    ///
    /// let mut picture = Picture::default();
    /// let add = picture.vertex("add", VertexKind::Process);
    /// picture.edge(add, add, "sums", 1);
    /// assert!(picture.svg().contains("1 initial"));
    /// ```
    ///
    /// # Panics
    /// Panics if there is no process of one of these numbers.
    pub fn edge(&mut self, from: usize, to: usize, name: &str, initial: u64) {
        assert!(from.max(to) < self.vertices.len(), "a channel joins processes of the picture");
        let names = vec![name.to_owned()];
        self.edges.push(Edge { from, to, names, members: 1, initial, traffic: None, growths: 0 });
    }

    /// Notes the processor time that a process took, if it was measured.
    pub(crate) fn took(&mut self, vertex: usize, seconds: Option<f64>) {
        self.vertices[vertex].seconds = seconds;
    }

    /// Notes the bytes that passed on the channel added last, and how often it grew.
    pub(crate) fn carried(&mut self, traffic: u64, growths: u64) {
        if let Some(edge) = self.edges.last_mut() {
            edge.traffic = Some(traffic);
            edge.growths = growths;
        }
    }

    /// Returns the picture as SVG, of any network in bounded time: what is too much for a picture is
    /// folded into fewer boxes, and the picture says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Picture, VertexKind};
    ///
    /// let mut picture = Picture::default();
    /// for number in 0..100_000 {
    ///     picture.vertex(&format!("count {number}"), VertexKind::Process);
    /// }
    /// assert!(picture.svg().contains("count 0…99999"));
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        self.svg_with_boxes().0
    }

    /// Returns the same, and for each element of the class `box`, in the order in which they stand there, the
    /// numbers of the processes that it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Picture, VertexKind};
    ///
    /// let mut picture = Picture::default();
    /// let read = picture.vertex("read", VertexKind::Process);
    /// for number in 0..100 {
    ///     let count = picture.vertex(&format!("count {number}"), VertexKind::Process);
    ///     picture.edge(read, count, "lines", 0);
    /// }
    /// let (svg, boxes) = picture.svg_with_boxes();
    /// assert_eq!(svg.matches("class=\"box").count(), 2);
    /// assert_eq!(boxes, [vec![0], (1..=100).collect()]);
    /// ```
    #[must_use]
    pub fn svg_with_boxes(&self) -> (String, Vec<Vec<usize>>) {
        let drawn = fold::folded(self);
        let layout = layout::placed(&drawn);
        let svg = svg::written(self, &drawn, &layout);
        (svg, drawn.vertices.into_iter().map(|vertex| vertex.members).collect())
    }
}
