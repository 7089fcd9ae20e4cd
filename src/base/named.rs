//! Enums whose variants have the same name in options, files and messages.

use strum::VariantArray;

use crate::text::either;

/// Declares an enum whose variants are words in kebab-case: `named! { "an interpolation"; pub enum Interpolation { … } }`. They
/// are its form in texts and in files, `VARIANTS` lists them, and the error of another word contains the article and the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __named {
    ($what:literal; $(#[$meta:meta])* $visible:vis enum $Name:ident { $($variants:tt)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = $Name::unknown)]
        $(#[$meta])*
        $visible enum $Name { $($variants)* }

        impl $Name {
            /// Returns its name on the command line and in files.
            pub fn name(self) -> &'static str {
                self.into()
            }

            fn unknown(text: &str) -> String {
                $crate::named::unknown::<Self>($what, text)
            }
        }
    };
}

#[doc(inline)]
pub use __named as named;

/// Returns the error of a word that no variant has.
pub fn unknown<T: VariantArray + Copy>(what: &str, text: &str) -> String
where
    &'static str: From<T>,
{
    let names: Vec<&str> = T::VARIANTS.iter().map(|variant| (*variant).into()).collect();
    format!("'{text}' is not {what}; use {}", either(&names))
}

#[cfg(test)]
mod tests {
    use super::named;

    named! {
        "a colour";
        #[derive(Default)]
        enum Colour { DarkRed, #[default] Green, #[serde(rename = "azure")] #[strum(serialize = "azure")] Blue }
    }

    #[test]
    fn a_word_has_one_spelling_everywhere() {
        assert_eq!("dark-red".parse(), Ok(Colour::DarkRed));
        assert_eq!(Colour::default().to_string(), "green");
        assert_eq!(serde_json::to_string(&Colour::Blue).unwrap(), "\"azure\"");
        assert_eq!(Colour::Blue.name(), "azure");
        assert_eq!("blue".parse::<Colour>(), Err("'blue' is not a colour; use dark-red, green or azure".into()));
    }
}
