//! Line operations.

/// One step of a [`LineEdit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOp {
    /// So many lines stay.
    Retain(u64),
    /// These lines, as they stand, are taken out.
    Delete(Vec<u8>),
    /// These lines are put in.
    Insert(Vec<u8>),
}

/// A change of one text, as line operations from its top.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineEdit {
    ops: Vec<LineOp>,
}
