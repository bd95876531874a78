//! Which value of a field is which data of C.
//!
//! | value                    | data                                            |
//! |--------------------------|-------------------------------------------------|
//! | integer                  | `int`, or `long` if it does not fit             |
//! | real                     | `double`                                        |
//! | string, bytes            | array of `char`, of `unsigned char`             |
//! | array of integers        | array of `int`, or of `long` if one does not fit |
//! | array of numbers         | array of `double`                               |
//! | other C types            | as they are                                     |
//!
//! What is an array or a string stays one, were it of one element. One number that a box makes is a
//! value, unless it says that it is an array; characters and unsigned ones are always several.

use std::sync::Arc;

use crate::record::{CData, CType, Value};

/// The value as data of C; a word for what it is if it has no such form.
pub(super) fn to_c(value: &Value) -> Result<CData, &'static str> {
    let one = |of, bytes: &[u8]| CData { of, array: false, bytes: bytes.to_vec() };
    Ok(match value {
        Value::Integer(number) => match i32::try_from(*number) {
            Ok(small) => one(CType::Int, &small.to_ne_bytes()),
            Err(_) => one(CType::Long, &number.to_ne_bytes()),
        },
        Value::Real(number) => one(CType::Double, &number.to_ne_bytes()),
        Value::Text(text) => {
            CData { of: CType::Char, array: true, bytes: text.as_bytes().to_vec() }
        }
        Value::Bytes(bytes) => {
            CData { of: CType::UnsignedChar, array: true, bytes: bytes.to_vec() }
        }
        Value::Array(values) => array(values)?,
        Value::C(data) => (**data).clone(),
        Value::Null | Value::Object(_) | Value::Opaque(_) => return Err(value.kind()),
    })
}

fn array(values: &[Value]) -> Result<CData, &'static str> {
    let integers: Option<Vec<i64>> = values
        .iter()
        .map(|value| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        })
        .collect();
    if let Some(integers) = integers {
        let small: Result<Vec<i32>, _> = integers.iter().map(|n| i32::try_from(*n)).collect();
        return Ok(match small {
            Ok(small) => CData {
                of: CType::Int,
                array: true,
                bytes: small.iter().flat_map(|number| number.to_ne_bytes()).collect(),
            },
            Err(_) => CData {
                of: CType::Long,
                array: true,
                bytes: integers.iter().flat_map(|number| number.to_ne_bytes()).collect(),
            },
        });
    }
    let mut bytes = Vec::with_capacity(values.len() * size_of::<f64>());
    for value in values {
        let number = match value {
            Value::Real(number) => *number,
            #[expect(clippy::cast_precision_loss, reason = "an integer among reals")]
            Value::Integer(number) => *number as f64,
            _ => return Err("an array that is not all numbers"),
        };
        bytes.extend(number.to_ne_bytes());
    }
    Ok(CData { of: CType::Double, array: true, bytes })
}

/// The data as a value.
pub(super) fn from_c(data: CData) -> Value {
    macro_rules! numbers {
        ($type:ty) => {
            data.bytes.chunks_exact(size_of::<$type>()).map(|chunk| {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(chunk);
                Value::from(<$type>::from_ne_bytes(bytes))
            })
        };
    }
    let several = |values: Vec<Value>| match (data.array, values.len()) {
        (false, 1) => values.into_iter().next().unwrap_or_default(),
        _ => Value::Array(values.into()),
    };
    match data.of {
        CType::Int => several(numbers!(i32).collect()),
        CType::Long => several(numbers!(i64).collect()),
        CType::Double => several(numbers!(f64).collect()),
        CType::Char if data.array => match String::from_utf8(data.bytes) {
            Ok(text) => Value::from(text),
            Err(error) => Value::Bytes(error.into_bytes().into()),
        },
        CType::UnsignedChar if data.array => Value::Bytes(data.bytes.into()),
        _ => Value::C(Arc::new(data)),
    }
}
