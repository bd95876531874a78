//! Calling a C function as a box. All unsafe code of the crate is in this file, in `crash` and
//! `rescue`, and in `runtime/place`.
//!
//! A call hands over a handle, fields and tags. The handle points to a [`Handle`] on the stack
//! of the caller, whose layout is that of `kahn_snet_box` in the header; C calls back through
//! it, on the same thread, before it returns. Fields are [`Data`] from `malloc`, for C frees
//! them with `free`; each call has its own, so no two threads ever see one.
//!
//! A C function is called with all arguments as machine words. In the calling conventions of
//! x86-64 and `AArch64` a pointer and an `int` take one register or stack word each, of which the
//! callee reads what it needs, so that is the call that a C compiler makes. Elsewhere C boxes
//! are refused.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::CError;
use super::crash::{self, Noted};
use super::value::{from_c, to_c};
use crate::boxes::{Argument, BoxError, BoxFunction, Emitter};
use crate::plan::BoxPlan;
use crate::record::{CData, CType};
use crate::syntax::ast::LabelKind;

/// The most labels of an input tuple.
const MOST_INPUTS: usize = 16;
/// The most labels of an output tuple: `KAHN_SNET_LABELS` of the header.
const MOST_OUTPUTS: usize = 64;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
}

/// A library that stays loaded as long as a box of it may be called.
#[derive(Debug)]
pub(super) struct Library(libloading::Library);

impl Library {
    pub(super) fn load(path: &Path) -> Result<Self, CError> {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // Now, so that what it lacks is an error here, and not when a box calls it.
        // SAFETY: loading runs the library's initialisers, which the user asked for by naming it.
        let loaded = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        loaded.map(|library| Self(library.into())).map_err(|error| {
            let problem = error.to_string();
            CError::Load { path: path.to_owned(), problem }
        })
    }
}

/// A box that is a C function.
#[derive(Debug)]
pub(super) struct CBox {
    path: String,
    function: *const c_void,
    /// Keeps `function` loaded.
    _library: Arc<Library>,
    inputs: Vec<String>,
    /// For each output tuple a letter for each label.
    kinds: Vec<CString>,
}

// SAFETY: the pointer is to code, which is not written to; the function may run on any thread and
// several at once, as the header says of every box.
unsafe impl Send for CBox {}
// SAFETY: as above.
unsafe impl Sync for CBox {}

impl CBox {
    /// Finds the function of a box in a library.
    pub(super) fn find(
        library: &Arc<Library>,
        name: &str,
        plan: &BoxPlan,
    ) -> Option<Result<Self, CError>> {
        // SAFETY: the symbol is only taken as an address here, whatever it is.
        let symbol = unsafe { library.0.get::<unsafe extern "C" fn()>(name.as_bytes()) };
        let function = (*symbol.ok()?) as *const c_void;
        let inputs: Vec<String> = plan.input.iter().flatten().map(ToString::to_string).collect();
        let limit = if inputs.len() > MOST_INPUTS { MOST_INPUTS } else { MOST_OUTPUTS };
        if inputs.len() > MOST_INPUTS || plan.outputs.iter().any(|o| o.len() > MOST_OUTPUTS) {
            return Some(Err(CError::TooManyLabels { path: plan.path.clone(), limit }));
        }
        let letter = |kind| if kind == LabelKind::Field { b'f' } else { b't' };
        let kinds = plan.outputs.iter().map(|output| {
            let letters: Vec<u8> = output.iter().map(|label| letter(label.kind)).collect();
            CString::new(letters).unwrap_or_default()
        });
        let kinds = kinds.collect();
        let path = plan.path.clone();
        Some(Ok(Self { path, function, _library: Arc::clone(library), inputs, kinds }))
    }
}

/// `kahn_snet_data` of the header.
#[repr(C)]
struct Data {
    references: c_int,
    kind: c_int,
    array: c_int,
    length: usize,
    bytes: *mut c_void,
}

/// `kahn_snet_value` of the header.
#[repr(C)]
struct RawValue {
    data: *mut Data,
    tag: c_long,
}

/// `kahn_snet_box` of the header.
#[repr(C)]
struct Handle {
    context: *mut c_void,
    variants: c_int,
    kinds: *const *const c_char,
    emit: extern "C" fn(*mut c_void, c_int, *const RawValue, c_int),
    fail: extern "C" fn(*mut c_void, *const c_char),
}

/// What the callbacks find behind `context`.
struct Call<'a, 'b> {
    out: &'a mut Emitter<'b>,
    kinds: &'a [CString],
    problem: Option<BoxError>,
}

impl BoxFunction for CBox {
    fn call(&self, inputs: Vec<Argument>, out: &mut Emitter<'_>) -> Result<(), BoxError> {
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return Err(BoxError::new("C boxes are not called on this kind of machine"));
        }
        let mut words = [0_usize; MOST_INPUTS];
        // Everything is checked before the first block is given away.
        let mut prepared = Vec::with_capacity(inputs.len());
        for (argument, label) in inputs.iter().zip(&self.inputs) {
            prepared.push(prepare(argument, label)?);
        }
        for (word, argument) in words.iter_mut().zip(prepared) {
            *word = match argument {
                Prepared::Tag(tag) => tag.cast_unsigned(),
                Prepared::Field(data) => give(&data)?.expose_provenance(),
            };
        }
        let kinds: Vec<*const c_char> = self.kinds.iter().map(|kind| kind.as_ptr()).collect();
        let mut call = Call { out, kinds: &self.kinds, problem: None };
        let mut handle = Handle {
            context: (&raw mut call).cast(),
            variants: c_int::try_from(kinds.len()).unwrap_or(0),
            kinds: kinds.as_ptr(),
            emit,
            fail,
        };
        let watched = Noted::call(&self.path, &self.inputs, &inputs);
        invoke(self.function, (&raw mut handle).cast(), &words);
        drop(watched);
        if call.problem.is_none() && crash::closed_the_output() {
            return Err(BoxError::new(
                "descriptor 1, the standard output, was open before and is closed now; a box that \
                 ran at the same time may have done that as well",
            ));
        }
        call.problem.map_or(Ok(()), Err)
    }
}

/// An argument that can be handed over.
enum Prepared {
    Tag(isize),
    Field(CData),
}

fn prepare(argument: &Argument, label: &str) -> Result<Prepared, BoxError> {
    match argument {
        Argument::Tag(value) => {
            let small = c_int::try_from(*value).map_err(|_| {
                BoxError(format!("the tag `{label}` is {value}, which does not fit an `int` of C"))
            })?;
            Ok(Prepared::Tag(small as isize))
        }
        Argument::Field(value) => to_c(value).map(Prepared::Field).map_err(|kind| {
            BoxError(format!("the field `{label}` is {kind}, which has no form in C"))
        }),
    }
}

/// Makes data that C owns.
fn give(data: &CData) -> Result<*mut Data, BoxError> {
    let none = || BoxError::new("no memory for its arguments");
    // SAFETY: `malloc` may be called with any size that is not 0.
    let bytes = unsafe { malloc(data.bytes.len().max(1)) };
    if bytes.is_null() {
        return Err(none());
    }
    // SAFETY: as above.
    let block = unsafe { malloc(size_of::<Data>()) }.cast::<Data>();
    if block.is_null() {
        return Err(none());
    }
    // SAFETY: the block is that large, fresh, and aligned for everything.
    unsafe { bytes.cast::<u8>().copy_from_nonoverlapping(data.bytes.as_ptr(), data.bytes.len()) };
    let head = Data {
        references: 1,
        kind: data.of as c_int,
        array: c_int::from(data.array),
        length: data.len(),
        bytes,
    };
    // SAFETY: the block is as large as a `Data`, fresh, and aligned for everything.
    unsafe { block.write(head) };
    Ok(block)
}

/// Takes data over from C, and gives up one of its owners.
fn take(block: *mut Data) -> Result<CData, String> {
    if block.is_null() {
        return Err("a field that is NULL".to_owned());
    }
    // SAFETY: C emits data from `kahn_snet_alloc` or from `give` that it owns; it is on this
    // thread and waits for us.
    let data = unsafe { &mut *block };
    let of = CType::from_number(data.kind).ok_or("a field of an unknown type")?;
    let length = data.length.saturating_mul(of.size());
    if data.references < 1 || data.bytes.is_null() || length > isize::MAX as usize {
        return Err("a field that was freed".to_owned());
    }
    // SAFETY: the block behind `bytes` is that large, by the way it was made.
    let bytes = unsafe { std::slice::from_raw_parts(data.bytes.cast::<u8>(), length) }.to_vec();
    let taken = CData { of, array: data.array != 0, bytes };
    data.references -= 1;
    if data.references == 0 {
        let bytes = data.bytes;
        // SAFETY: it has no owner any more; it came from `malloc`.
        unsafe { free(bytes) };
        // SAFETY: as above.
        unsafe { free(block.cast()) };
    }
    Ok(taken)
}

extern "C" fn emit(context: *mut c_void, variant: c_int, values: *const RawValue, count: c_int) {
    // SAFETY: `context` is the `Call` of the call that C is in, on this thread; C got it with the
    // handle and may not use it afterwards.
    let call = unsafe { &mut *context.cast::<Call<'_, '_>>() };
    // A panic must not cross C.
    let result = catch_unwind(AssertUnwindSafe(|| emit_checked(call, variant, values, count)));
    let problem = match result {
        Ok(Ok(())) => return,
        Ok(Err(problem)) => problem,
        Err(_) => BoxError::new("the run-time system panicked while it emitted"),
    };
    call.problem.get_or_insert(problem);
}

fn emit_checked(
    call: &mut Call<'_, '_>,
    variant: c_int,
    values: *const RawValue,
    count: c_int,
) -> Result<(), BoxError> {
    if call.problem.is_some() {
        return Ok(());
    }
    let variant = usize::try_from(variant).unwrap_or(0);
    let known = variant.checked_sub(1).and_then(|index| call.kinds.get(index));
    let kinds = known.map_or(&[][..], |kinds| kinds.as_bytes());
    let given = usize::try_from(count).unwrap_or(0);
    if known.is_some() && given != kinds.len() {
        // The number alone is wrong: the emitter says so, and looks at no value.
        return call.out.emit(variant, vec![Argument::Tag(0); given]);
    }
    let mut arguments = Vec::with_capacity(kinds.len());
    for (index, kind) in kinds.iter().enumerate() {
        // SAFETY: the header fills one value for each letter of the tuple, `count` in all.
        let value = unsafe { values.add(index) };
        // SAFETY: as above.
        let value = unsafe { &*value };
        arguments.push(if *kind == b'f' {
            let data = take(value.data).map_err(|what| BoxError(format!("it emits {what}")))?;
            Argument::Field(from_c(data))
        } else {
            #[expect(clippy::useless_conversion, reason = "a `long` has 32 bits on some systems")]
            Argument::Tag(i64::from(value.tag))
        });
    }
    call.out.emit(variant, arguments)
}

extern "C" fn fail(context: *mut c_void, reason: *const c_char) {
    // SAFETY: as in `emit`.
    let call = unsafe { &mut *context.cast::<Call<'_, '_>>() };
    let reason = if reason.is_null() {
        "no reason given".into()
    } else {
        // SAFETY: the header asks for a string that ends with a zero.
        unsafe { CStr::from_ptr(reason) }.to_string_lossy()
    };
    call.problem.get_or_insert_with(|| BoxError(reason.into_owned()));
}

/// Calls the function with the handle and all words; it takes those that it declares.
fn invoke(function: *const c_void, handle: *mut c_void, words: &[usize; MOST_INPUTS]) {
    type Word = usize;
    type Function = extern "C" fn(
        *mut c_void,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
        Word,
    ) -> *mut c_void;
    // SAFETY: the address is that of a function with the signature of the box, as the user says
    // by its name. Words beyond its arguments are not looked at in these calling conventions:
    // the caller makes room for them and takes it away.
    let function: Function = unsafe { std::mem::transmute(function) };
    let w = words;
    function(
        handle, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
        w[13], w[14], w[15],
    );
}
