//! Requests to callgrind, in the form in which valgrind sees them: a sequence of instructions that
//! do nothing, with the request in registers (valgrind's manual, "The client request mechanism").

use std::ffi::CString;

/// The codes of callgrind's requests begin with its letters.
const CALLGRIND: u64 = (b'C' as u64) << 24 | (b'T' as u64) << 16;
const ZERO_STATS: u64 = CALLGRIND + 1;
const TOGGLE_COLLECT: u64 = CALLGRIND + 2;
const DUMP_STATS_AT: u64 = CALLGRIND + 3;

/// Forgets what was counted.
pub(super) fn zero() {
    request(ZERO_STATS, 0);
}

/// Switches counting on, or off if it is on, for this thread.
#[inline]
pub(super) fn collect() {
    request(TOGGLE_COLLECT, 0);
}

/// Writes down what was counted under a name, and starts anew.
pub(super) fn dump(name: &str) {
    if let Ok(name) = CString::new(name) {
        request(DUMP_STATS_AT, name.as_ptr() as u64);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn request(code: u64, argument: u64) {
    let words: [u64; 6] = [code, argument, 0, 0, 0, 0];
    // SAFETY: four rotations by 128 bits in all leave `rdi` as it was, and an exchange of a register
    // with itself does nothing. Valgrind reads `words`, and writes its answer to `rdx`.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") 0_u64 => _,
            options(nostack)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_code: u64, _argument: u64) {}
