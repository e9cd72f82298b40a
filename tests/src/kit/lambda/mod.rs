//! Lambda: runs the real compiled functions as AWS does: a process for each execution environment, which asks the Runtime
//! API for invocations; a queue that delivers at least once; events that the bucket's own state makes; schedules.

pub mod endpoint;
pub mod environment;
pub mod function;
pub mod event;
pub mod queue;
pub mod url;
pub mod cloud;
pub mod team;
pub mod world;
pub mod webhook;
pub mod work;

pub use cloud::{Cloud, Deployment};
pub use environment::{Environment, Outcome};
pub use function::{Function, Settings};
pub use queue::{Faults, Queue};
pub use team::Team;
pub use webhook::Webhook;
pub use world::World;
