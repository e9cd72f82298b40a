//! What must stay true of trees.

mod diffs;
mod kit;
mod lists;
mod pages;
mod taken;
mod trees;
mod walks;
