//! The macro that declares a rule and the table of its fields together: a field that is not described does not compile.

/// Declares the rule of a capability.
///
/// ```text
/// rule! {
///     /// `sysctl:` in a grant.
///     pub struct SysctlRule: Sysctl for r: Requirement, which may read Read, write Write {
///         /// Globs, segment by segment.
///         keys: Keys = One((r.namespace, &r.key));
///         => verbs = r.verb();
///         /// Values that may be written, exactly.
///         values: Exact = Has::if_any(r.value.as_deref()), only_for(&[Verb::Write]);
///     } says |rule| format!("{} parameters", rule.verbs())
/// }
/// ```
///
/// Each verb has its word in a sentence. Fields are matched in this order, so a rule that misses in a
/// later field is closer. A field has its type, the value of a requirement `r` for it, and options of [`Field`].
/// `says` makes the rule's sentence. In its place, braces may hold the items of the implementation of [`Rule`].
///
/// [`Field`]: crate::field::Field
/// [`Rule`]: crate::Rule
macro_rules! rule {
    (
        $(#[$meta:meta])*
        pub struct $rule:ident: $capability:ident for $r:ident: $requirement:ty, which may $($word:literal $verb:ident),+ {
            $($fields:tt)*
        } says |$sentence:ident| $said:expr
    ) => {
        $crate::rule::declare::rule! {
            $(#[$meta])*
            pub struct $rule: $capability for $r: $requirement, which may $($word $verb),+ {
                $($fields)*
            } {
                fn sentence($sentence: &mut $crate::rule::Sentence<'_>) -> String {
                    $said
                }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $rule:ident: $capability:ident for $r:ident: $requirement:ty, which may $($word:literal $verb:ident),+ {
            $($(#[$before_meta:meta])* $before:ident: $before_type:ty = $before_has:expr $(, $before_say:ident($($before_said:expr),*))*;)*
            => $(#[$verbs_meta:meta])* verbs = $of_verb:expr;
            $($(#[$after_meta:meta])* $after:ident: $after_type:ty = $after_has:expr $(, $after_say:ident($($after_said:expr),*))*;)*
        } { $($more:tt)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $rule {
            $($(#[$before_meta])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $before: Option<<$before_type as $crate::field::FieldType>::Values>,)*
            $($(#[$after_meta])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $after: Option<<$after_type as $crate::field::FieldType>::Values>,)*
            /// What may be done; everything, when left out.
            $(#[$verbs_meta])*
            #[serde(default, skip_serializing_if = "Option::is_none", with = "Verbs")]
            pub verbs: Option<Vec<$crate::Verb>>,
        }

        type Verbs = $crate::field::Verbs<$rule>;

        impl $crate::VerbSet for $rule {
            const CAPABILITY: $crate::Capability = $crate::Capability::$capability;
            const VERBS: &'static [$crate::Verb] = &[$($crate::Verb::$verb),+];
            const VERB_WORDS: &'static [&'static str] = &[$($crate::Verb::$verb.word()),+];
        }

        impl $crate::Rule for $rule {
            type Requirement = $requirement;
            const DONE: &'static [&'static str] = &[$($word),+];
            const FIELDS: &'static [$crate::field::Field] = &[
                $($crate::field::Field::new::<$before_type>(stringify!($before))$(.$before_say($($before_said),*))*,)*
                $crate::field::Field::new::<Verbs>("verbs"),
                $($crate::field::Field::new::<$after_type>(stringify!($after))$(.$after_say($($after_said),*))*,)*
            ];

            fn miss(&self, $r: &$requirement, invocation: &$crate::Invocation) -> Option<$crate::rule::Miss> {
                let matched = $crate::rule::Matched::default();
                $(let matched = matched.field::<$before_type>(
                    stringify!($before), self.$before.as_ref(), $before_has, invocation);)*
                let matched = matched.field::<Verbs>(
                    "verbs", self.verbs.as_ref(), $crate::field::Has::One($of_verb), invocation);
                $(let matched = matched.field::<$after_type>(
                    stringify!($after), self.$after.as_ref(), $after_has, invocation);)*
                matched.miss()
            }

            fn draft($r: &$requirement, seen: &$crate::field::Seen<'_>) -> $crate::rule::Draft {
                let mut draft = $crate::rule::Draft::new::<Self>();
                $(draft.set::<$before_type>(stringify!($before), $before_has, seen);)*
                draft.set::<Verbs>("verbs", $crate::field::Has::One($of_verb), seen);
                $(draft.set::<$after_type>(stringify!($after), $after_has, seen);)*
                draft
            }

            fn facts($r: &$requirement) -> $crate::rule::Facts {
                let mut facts = $crate::rule::Facts::new::<Self>();
                $(facts.set::<$before_type>(stringify!($before), $before_has);)*
                facts.set::<Verbs>("verbs", $crate::field::Has::One($of_verb));
                $(facts.set::<$after_type>(stringify!($after), $after_has);)*
                facts
            }

            $($more)*
        }
    };
}
pub(crate) use rule;
