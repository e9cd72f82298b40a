//! Allocator: one thread allocates entries and blocks, another frees them. With the allocators of glibc and musl,
//! threads then wait for each other (decision 0024). Other systems keep their own allocator.

#[cfg(target_os = "linux")]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
