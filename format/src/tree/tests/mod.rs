//! What must stay true of trees.

mod diffs;
mod kit;
mod lists;
mod pages;
mod trees;
mod walks;
