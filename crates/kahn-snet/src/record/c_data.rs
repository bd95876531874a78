//! Data of C types, as C boxes take and make them.

/// The types that data of a C box may have; the numbers are those of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
#[expect(missing_docs, reason = "each is named after the C type")]
pub enum CType {
    UnsignedChar = 1,
    Char = 2,
    UnsignedShort = 3,
    Short = 4,
    UnsignedInt = 5,
    Int = 6,
    UnsignedLong = 7,
    Long = 8,
    Float = 9,
    Double = 10,
    LongDouble = 11,
    Pointer = 12,
}

/// All types with their names in C and their sizes in bytes.
const TYPES: &[(CType, &str, usize)] = &[
    (CType::UnsignedChar, "unsigned char", 1),
    (CType::Char, "char", 1),
    (CType::UnsignedShort, "unsigned short", 2),
    (CType::Short, "short", 2),
    (CType::UnsignedInt, "unsigned int", 4),
    (CType::Int, "int", 4),
    (CType::UnsignedLong, "unsigned long", 8),
    (CType::Long, "long", 8),
    (CType::Float, "float", 4),
    (CType::Double, "double", 8),
    (CType::LongDouble, "long double", 16),
    (CType::Pointer, "void *", 8),
];

impl CType {
    /// Finds a type by its number.
    pub fn from_number(number: i32) -> Option<Self> {
        TYPES.iter().map(|entry| entry.0).find(|known| *known as i32 == number)
    }

    /// Finds a type by its name in C.
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|entry| entry.1 == name).map(|entry| entry.0)
    }

    /// Returns its name in C.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|entry| entry.0 == self).map_or("", |entry| entry.1)
    }

    /// Returns its size in bytes.
    pub fn size(self) -> usize {
        TYPES.iter().find(|entry| entry.0 == self).map_or(0, |entry| entry.2)
    }
}

/// One value of a C type, or an array of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CData {
    /// The type of each element.
    pub of: CType,
    /// Whether it is an array, be it of one element.
    pub array: bool,
    /// The elements, as they lie in memory.
    pub bytes: Vec<u8>,
}

impl CData {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.of.size()
    }

    /// Returns whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the elements as text, as C prints them.
    pub fn texts(&self) -> Vec<String> {
        self.bytes.chunks_exact(self.of.size()).map(|bytes| self.text_of(bytes)).collect()
    }

    fn text_of(&self, bytes: &[u8]) -> String {
        macro_rules! read {
            ($type:ty) => {{
                let mut array = [0; size_of::<$type>()];
                array.copy_from_slice(&bytes[..size_of::<$type>()]);
                <$type>::from_ne_bytes(array).to_string()
            }};
        }
        match self.of {
            CType::UnsignedChar => read!(u8),
            CType::Char => read!(i8),
            CType::UnsignedShort => read!(u16),
            CType::Short => read!(i16),
            CType::UnsignedInt => read!(u32),
            CType::Int => read!(i32),
            CType::UnsignedLong | CType::Pointer => read!(u64),
            CType::Long => read!(i64),
            CType::Float => read!(f32),
            CType::Double => read!(f64),
            CType::LongDouble => "?".to_owned(),
        }
    }

    /// Reads one element of a type from text; `None` if it is none.
    pub fn bytes_of(of: CType, text: &str) -> Option<Vec<u8>> {
        macro_rules! bytes {
            ($type:ty) => {
                text.parse::<$type>().ok()?.to_ne_bytes().to_vec()
            };
        }
        Some(match of {
            CType::UnsignedChar => bytes!(u8),
            CType::Char => bytes!(i8),
            CType::UnsignedShort => bytes!(u16),
            CType::Short => bytes!(i16),
            CType::UnsignedInt => bytes!(u32),
            CType::Int => bytes!(i32),
            CType::UnsignedLong => bytes!(u64),
            CType::Long => bytes!(i64),
            CType::Float => bytes!(f32),
            CType::Double => bytes!(f64),
            CType::LongDouble | CType::Pointer => return None,
        })
    }
}
