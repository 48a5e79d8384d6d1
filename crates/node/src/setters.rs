//! Options that are said one by one, in types whose fields may become more.

/// A method for each optional field of a type, which sets it.
macro_rules! setters {
    ($($method:ident: $field:ident, $value:ty;)+) => {$(
        #[doc = concat!("With this as [`Self::", stringify!($field), "`].")]
        #[must_use]
        pub fn $method(mut self, $field: $value) -> Self {
            self.$field = Some($field);
            self
        }
    )+};
}

pub(crate) use setters;
