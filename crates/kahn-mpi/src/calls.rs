//! The calls of MPI that are made, by one thread at a time: none waits, but those at the beginning and the last one.
//!
//! Where MPI allows calls by one thread alone, that which has begun it, they are all made by that; see
//! [`Mpi::may_move`].
//!
//! Errors of MPI end the job: that is MPI's default, and there is nothing to go on with.

#![expect(clippy::unused_self, reason = "what has it calls by the right thread, while MPI runs")]

use kahn_net::Messages;
use mpi::ffi;
use std::ptr;

/// MPI, from its initialisation to its end; by the thread that has it.
pub(crate) struct Mpi {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// Those on this machine, with this one.
    pub(crate) ranks_here: usize,
    /// Whether another thread than that which has begun it may have it.
    pub(crate) may_move: bool,
}

// SAFETY: requests are addresses or numbers that MPI has given; any thread may hand them back if MPI allows calls by any
// thread, one at a time. If it does not, nothing of this leaves its thread, as `World` sees to.
unsafe impl Send for SendRequest {}
// SAFETY: as above.
unsafe impl Send for ReceiveRequest {}
// SAFETY: as above.
unsafe impl Send for BarrierRequest {}

/// Bytes on their way to a rank.
pub(crate) struct SendRequest {
    request: ffi::MPI_Request,
    /// It belongs to MPI until the request is done.
    bytes: Vec<u8>,
}

/// Room for what comes next from any rank.
pub(crate) struct ReceiveRequest {
    request: ffi::MPI_Request,
    /// It has no bytes yet, and belongs to MPI until the request is done.
    bytes: Vec<u8>,
}

/// All ranks come to it.
pub(crate) struct BarrierRequest(ffi::MPI_Request);

fn count(length: usize) -> i32 {
    i32::try_from(length).expect("frames are short")
}

fn rank_of(rank: usize) -> i32 {
    i32::try_from(rank).expect("MPI numbers ranks so")
}

fn place(rank: i32) -> usize {
    usize::try_from(rank).expect("ranks are numbered from 0")
}

/// Whether a request is done; and by which rank, with how many bytes.
fn test(request: &mut ffi::MPI_Request) -> Option<(i32, i32)> {
    let mut is_done = 0;
    // SAFETY: a status is plain numbers, which MPI writes.
    let mut status: ffi::MPI_Status = unsafe { std::mem::zeroed() };
    // SAFETY: the request was made and is not done, or is null; both are written by this thread alone.
    unsafe { ffi::MPI_Test(request, &raw mut is_done, &raw mut status) };
    if is_done == 0 {
        return None;
    }
    let mut bytes = 0;
    // SAFETY: the status was written by the call above.
    unsafe { ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut bytes) };
    Some((status.MPI_SOURCE, bytes))
}

/// How many ranks are on this machine, with this one: all ranks ask at once, when MPI has begun.
fn ranks_here() -> usize {
    let mut ranks = 0;
    // SAFETY: the constant is MPI's own.
    let mut here = unsafe { ffi::RSMPI_COMM_NULL };
    // SAFETY: MPI has begun, and each rank makes this call, between its first and any other.
    unsafe {
        let (all, kind, info) =
            (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL);
        ffi::MPI_Comm_split_type(all, kind, 0, info, &raw mut here);
    }
    // SAFETY: the call above has made it.
    unsafe { ffi::MPI_Comm_size(here, &raw mut ranks) };
    // SAFETY: as above, and nothing is under way in it.
    unsafe { ffi::MPI_Comm_free(&raw mut here) };
    place(ranks)
}

impl Mpi {
    /// Begins; `None` if it has begun in this program before, or gives no thread to call it by.
    pub(crate) fn begin() -> Option<Self> {
        let (mut has_begun, mut provided) = (0, 0);
        // SAFETY: it may be asked at any time.
        unsafe { ffi::MPI_Initialized(&raw mut has_begun) };
        if has_begun != 0 {
            return None;
        }
        // SAFETY: the constants are MPI's own and never change.
        let (funneled, serialized) =
            unsafe { (ffi::RSMPI_THREAD_FUNNELED, ffi::RSMPI_THREAD_SERIALIZED) };
        // SAFETY: it has not begun, and what is provided is heeded.
        unsafe {
            ffi::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), serialized, &raw mut provided);
        }
        if provided < funneled {
            return None;
        }
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: it has begun.
        unsafe { ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &raw mut rank) };
        // SAFETY: as above.
        unsafe { ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut ranks) };
        Some(Self {
            rank: place(rank),
            ranks: place(ranks),
            ranks_here: ranks_here(),
            may_move: provided >= serialized,
        })
    }

    /// Ends, when all requests are done.
    pub(crate) fn end(self) {
        // SAFETY: it has begun, on this thread.
        unsafe { ffi::MPI_Finalize() };
    }
}

impl Messages for Mpi {
    type Sending = SendRequest;
    type Room = ReceiveRequest;
    type Barrier = BarrierRequest;

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn send(&mut self, to: usize, bytes: Vec<u8>) -> SendRequest {
        // SAFETY: the constant is MPI's own.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: the bytes stay where they are until the request is done: a request that is dropped before leaks them.
        unsafe {
            ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                count(bytes.len()),
                ffi::RSMPI_UINT8_T,
                rank_of(to),
                0,
                ffi::RSMPI_COMM_WORLD,
                &raw mut request,
            );
        }
        SendRequest { request, bytes }
    }

    fn is_sent(&mut self, sending: &mut SendRequest) -> Option<Vec<u8>> {
        test(&mut sending.request)?;
        Some(std::mem::take(&mut sending.bytes))
    }

    fn receive(&mut self, mut bytes: Vec<u8>, most: usize) -> ReceiveRequest {
        bytes.clear();
        bytes.reserve(most);
        // SAFETY: the constant is MPI's own.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: as for `send`; there is room for so many.
        unsafe {
            ffi::MPI_Irecv(
                bytes.as_mut_ptr().cast(),
                count(most),
                ffi::RSMPI_UINT8_T,
                ffi::RSMPI_ANY_SOURCE,
                0,
                ffi::RSMPI_COMM_WORLD,
                &raw mut request,
            );
        }
        ReceiveRequest { request, bytes }
    }

    fn has_come(&mut self, room: &mut ReceiveRequest) -> Option<(usize, Vec<u8>)> {
        let (from, length) = test(&mut room.request)?;
        let (mut bytes, length) = (std::mem::take(&mut room.bytes), place(length));
        assert!(
            length <= bytes.capacity(),
            "MPI ends the job if more comes than there is room for"
        );
        // SAFETY: there is room for so many, and MPI has written them.
        unsafe { bytes.set_len(length) };
        Some((place(from), bytes))
    }

    fn cancel(&mut self, mut room: ReceiveRequest) {
        // SAFETY: the request is active.
        unsafe { ffi::MPI_Cancel(&raw mut room.request) };
        // What is cancelled is done at once.
        while test(&mut room.request).is_none() {}
        drop(std::mem::take(&mut room.bytes));
    }

    fn barrier(&mut self) -> BarrierRequest {
        // SAFETY: the constant is MPI's own.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: all ranks do the same in the same order.
        unsafe { ffi::MPI_Ibarrier(ffi::RSMPI_COMM_WORLD, &raw mut request) };
        BarrierRequest(request)
    }

    fn is_passed(&mut self, barrier: &mut BarrierRequest) -> bool {
        test(&mut barrier.0).is_some()
    }
}

/// Ends the whole job at once, on all ranks, with this exit code.
pub(crate) fn abort(code: i32) -> ! {
    // SAFETY: it has begun; MPI allows it to be called whatever else goes on, and the program ends by it.
    unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
    std::process::abort()
}

impl Drop for SendRequest {
    fn drop(&mut self) {
        // MPI may read them yet, unless the request is done.
        std::mem::forget(std::mem::take(&mut self.bytes));
    }
}

impl Drop for ReceiveRequest {
    fn drop(&mut self) {
        // MPI may write there yet, unless the request is done.
        std::mem::forget(std::mem::take(&mut self.bytes));
    }
}
