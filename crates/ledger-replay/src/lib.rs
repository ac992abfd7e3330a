//! The state at any event, and the way back to it.
//!
//! A state is rebuilt from the nearest snapshot at or before its event, and the edits after it, along
//! the event's own line of parents ([`State`], [`file_at`]). Every content is checked against the
//! digest that was recorded with it before anybody sees it.
//!
//! A workspace is brought from one state to another by a journaled move ([`Mover`]): files are
//! exchanged, never overwritten, and what comes back is looked at before it goes.

mod base;
mod file;
mod mover;
mod recipe;
mod state;

pub use base::{Base, BaseError, SnapshotSource};
pub use file::{Contents, FileAt, NoContents, file_at, may_have_below};
pub use mover::{
    BoxError, Host, Journal, MoveError, Mover, Obstacle, Purpose, Step, obstacles, plan,
};
pub use recipe::RebuildError;
pub use state::{State, TreeOrigin};
