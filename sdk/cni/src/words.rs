//! The macro that declares an enum together with the specification's word for each value.

/// Declares an enum of words, the list of its values, and how they are written.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of_value:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$of_value])* $value,)+
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// Returns the word, as the specification spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;
