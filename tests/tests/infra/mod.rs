//! What `infra/` deploys, held against the code. Terraform's tests render it: `cargo xtask infra` leaves the two examples,
//! applied to what mocks AWS, in the target directory.

mod about;
mod bounds;
mod calls;
mod cases;
mod drift;
mod mutants;
mod pages;
mod plan;
mod principals;
mod restoring;
mod requests;
mod rights;
mod told;
