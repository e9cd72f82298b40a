//! Allocator: entries and blocks are made by one thread and freed by another; the allocators of glibc and musl have threads
//! wait for each other then (decision 0024). Other systems keep their own.

#[cfg(target_os = "linux")]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
