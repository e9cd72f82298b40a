//! What decoders and jobs allocate, counted by the allocator: one test at a time.

#[path = "../../engine/examples/scale/counting.rs"]
mod counting;
mod fuzz;
mod job_memory;
mod service_memory;
