//! The contract, on every backend.

use crate::place::Place;
use longboat_store::contract::Home;
use longboat_store::{MemoryStore, Store, store_contract};
use std::sync::Arc;

struct Memory(MemoryStore);

#[async_trait::async_trait]
impl Home for Memory {
    fn new() -> Self {
        Self(MemoryStore::new())
    }

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }
}

struct File(Place);

#[async_trait::async_trait]
impl Home for File {
    fn new() -> Self {
        Self(Place::new())
    }

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.open())
    }
}

store_contract!(memory, Memory);
store_contract!(sqlite, File);
