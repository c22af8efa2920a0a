//! How settings are made by programs that must not depend on which ones there are: a default, and a
//! method for each setting. Assigning a field does the same.

/// Setters of a struct, each for the field that it names.
macro_rules! setters {
    ($on:ident { $($field:ident: $type:ty => $with:ident,)* }) => {
        impl $on {
            $(
                #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
                #[must_use]
                pub fn $with(mut self, $field: $type) -> $on {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
