//! The project itself: its layers, its infrastructure, and what its documents say.

mod glossary;
mod infra;
mod layering;
mod operations;
mod threats;
