//! Native plugins: what runs outside the sandbox, and only where it is listed.

mod answers;
mod bounds;
mod calls;
mod listing;
mod reference;
mod world;
