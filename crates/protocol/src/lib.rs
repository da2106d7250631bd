//! The mailbox protocol as a small state machine: one Lead, two teammates, three messages, crashes at
//! every point. A checker walks every interleaving. It shares no code with the engine: it checks the
//! rules, and each seeded [`Mistake`] shows that the checker would see them broken.

mod machine;
mod state;

pub use machine::{Act, Mailbox, Mistake, Path};
pub use state::{Driver, State};
