//! Tests of the facade.

mod spine;
