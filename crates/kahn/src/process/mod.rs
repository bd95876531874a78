//! Processes that many networks need, each a few lines over the public interface.
use crate::{Network, Receiver};
use std::sync::Arc;
/// placeholder
#[derive(Debug)]
pub struct Output<T>(Arc<parking_lot::Mutex<Option<T>>>);
impl<T> Output<T> { 
    /// Takes it.
    pub fn take(&self) -> Option<T> { self.0.lock().take() } }
impl<'env> Network<'env> {
    /// source
    pub fn source<I>(&mut self, name: &'static str, items: I) -> Receiver<I::Item> where I: IntoIterator + Send + 'env, I::IntoIter: Send, I::Item: Send + 'env {
        let (out, inp) = self.channel(name);
        self.process(name, out, async move |mut out| { let mut it = items.into_iter(); while let Some(i) = it.next() { out.send(i).await; } });
        inp
    }
    /// map
    pub fn map<T: Send + 'env, U: Send + 'env>(&mut self, name: &'static str, mut items: Receiver<T>, mut f: impl FnMut(T) -> U + Send + 'env) -> Receiver<U> {
        let (out, inp) = self.channel(name);
        self.process(name, (items, out), async move |(mut items, mut out)| { while let Some(i) = items.recv().await { out.send(f(i)).await; } });
        inp
    }
    /// fold
    pub fn fold<T: Send + 'env, A: Send + 'env>(&mut self, name: &'static str, items: Receiver<T>, init: A, mut f: impl FnMut(A, T) -> A + Send + 'env) -> Output<A> {
        let o = Arc::new(parking_lot::Mutex::new(None)); let o2 = o.clone();
        self.process(name, items, async move |mut items| { let mut a = init; while let Some(i) = items.recv().await { a = f(a, i); } *o2.lock() = Some(a); });
        Output(o)
    }
    /// collect
    pub fn collect<T: Send + 'env>(&mut self, name: &'static str, items: Receiver<T>) -> Output<Vec<T>> {
        self.fold(name, items, Vec::new(), |mut v, x| { v.push(x); v })
    }
}
