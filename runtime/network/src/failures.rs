//! Several failures as one error.

use weir_cni::Error;

/// Returns the error of an ADD, with the failures of undoing it in its details.
pub fn with_left(error: Error, left: &[Error]) -> Error {
    error.and_details(left.iter().map(|left| format!("and then DEL: {left}")))
}

/// Fails if anything failed: with the first failure, and the others in its details.
pub fn together(failures: impl IntoIterator<Item = Error>) -> Result<(), Error> {
    let mut failures = failures.into_iter();
    match failures.next() {
        Some(first) => Err(first.and_details(failures.map(|failure| failure.to_string()))),
        None => Ok(()),
    }
}
