//! The lines of a source on which there is code.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::RangeInclusive;

use anyhow::{Result, anyhow};
use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::Item;
use syn::spanned::Spanned;

use super::sources::is_for_tests;

/// Returns how many lines of a source have code that is not for tests only.
pub(crate) fn lines(text: &str) -> Result<usize> {
    let tokens: TokenStream = text.parse().map_err(|e| anyhow!("not Rust: {e}"))?;
    let mut code = BTreeSet::new();
    add(tokens, &mut code);
    for tests in tests(&syn::parse_file(text)?.items) {
        code.retain(|line| !tests.contains(line));
    }
    Ok(code.len())
}

fn add(tokens: TokenStream, code: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_sign(&token, '#') && skip_comment(&mut tokens) {
            continue;
        }
        if let TokenTree::Group(group) = token {
            code.extend(lines_of(group.span_open()).chain(lines_of(group.span_close())));
            add(group.stream(), code);
        } else {
            code.extend(lines_of(token.span()));
        }
    }
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn lines_of(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// Skips what follows a `#` if that makes it a doc comment, which is the attribute `doc` to the parser.
fn skip_comment(tokens: &mut Peekable<IntoIter>) -> bool {
    let mut ahead = tokens.clone();
    ahead.next_if(|token| is_sign(token, '!'));
    let is_doc = matches!(ahead.next(), Some(TokenTree::Group(group)) if is_doc(group.stream()));
    if is_doc {
        *tokens = ahead;
    }
    is_doc
}

/// Whether this is `doc = "text"`.
fn is_doc(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let [TokenTree::Ident(name), sign, TokenTree::Literal(_)] = &tokens[..] else {
        return false;
    };
    name == "doc" && is_sign(sign, '=')
}

/// The lines of the items that are for tests only.
fn tests(items: &[Item]) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    for item in items {
        if is_for_tests(item) {
            found.push(lines_of(item.span()));
        } else if let Item::Mod(module) = item
            && let Some((_, inner)) = &module.content
        {
            found.extend(tests(inner));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[track_caller]
    fn assert_lines(text: &str, expected: usize) {
        assert_eq!(lines(text).unwrap(), expected, "{text}");
    }

    #[test]
    fn comments_and_blank_lines_do_not_count() {
        assert_lines(
            "//! What it is.\n\n// Why.\n/* Long,\n\nlonger. */\nuse a::b;\n",
            1,
        );
        assert_lines(
            "/// Doc.\n#[derive(Debug)] // Why.\nstruct A {\n    /// Doc.\n    b: u8, /* c */\n}\n",
            4,
        );
    }

    #[test]
    fn what_looks_like_a_comment_in_a_string_counts() {
        assert_lines("const A: &str = \"\n// one\n\n/* two */\n\";\n", 5);
        assert_lines("const A: &str = r#\"//\"#;\n", 1);
    }

    #[test]
    fn tests_do_not_count_and_what_only_looks_like_them_does() {
        assert_lines(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n",
            2,
        );
        assert_lines(
            "mod a {\n    #[cfg(test)]\n    use b::c;\n    fn d() {}\n}\n",
            3,
        );
        assert_lines(
            "#[cfg(not(test))]\nfn a() {}\n#[cfg(feature = \"test\")]\nfn b() {}\n",
            4,
        );
    }

    #[test]
    fn a_macros_arguments_count() {
        assert_lines("a! {\n    /// Doc.\n    b,\n\n    // Why.\n    c\n}\n", 4);
    }

    #[test]
    fn what_is_not_rust_is_an_error() {
        assert!(lines("fn a( {").is_err());
        assert!(lines("neither }").is_err());
    }
}
