//! How settings are made by programs that must not depend on which ones there are: a default, and a
//! method for each setting. Assigning a field does the same.

/// For each `with_name, name: type` a method that sets the field.
macro_rules! setters {
    ($of:ident: $($with:ident, $field:ident: $type:ty;)+) => {
        impl $of {
            $(
                #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
                #[must_use]
                pub fn $with(mut self, $field: $type) -> $of {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;
