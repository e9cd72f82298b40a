//! What `infra/` deploys, held against the code. Terraform's tests render it: `cargo xtask infra` leaves the two examples,
//! applied to what mocks AWS, in the target directory.

mod bounds;
mod calls;
mod drift;
mod pages;
mod plan;
mod requests;
mod rights;
mod told;
