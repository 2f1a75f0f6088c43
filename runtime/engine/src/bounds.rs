//! How many parts a component may have: the memory that the engine takes for its instances is not the plugin's memory, which a
//! grant limits.

use wasmtime::component::Component;
use wasmtime::{Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result};

use super::settings_to_load;

/// Instances of core modules, including those of nested components. A plugin of the standard tools has fewer than ten; one with
/// an interpreter and its libraries some forty.
pub const INSTANCES: u32 = 128;
/// Linear memories of all instances.
pub const MEMORIES: u32 = 32;
/// Tables of all instances.
pub const TABLES: u32 = 128;
/// Bytes that the engine takes for all instances: globals, imports, references to functions.
pub const INSTANCES_SIZE: usize = 4 << 20;

/// Fails if a component exceeds the bounds of this module. An engine with these bounds loads the code, and runs nothing.
///
/// # Safety
///
/// The bytes must be the output of `weir-compiler`.
pub unsafe fn check(code: &[u8]) -> Result<()> {
    let mut config = settings_to_load();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(bounds()));
    let engine = Engine::new(&config)?;
    // SAFETY: the caller's.
    unsafe { Component::deserialize(&engine, code) }.map(drop)
}

fn bounds() -> PoolingAllocationConfig {
    let mut bounds = PoolingAllocationConfig::default();
    bounds
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_memories_per_module(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .max_core_instance_size(INSTANCES_SIZE)
        .max_component_instance_size(INSTANCES_SIZE)
        // The grant limits what is in a table.
        .table_elements(u32::MAX as usize >> 4)
        // Nothing is instantiated.
        .total_component_instances(1)
        .total_core_instances(1)
        .total_memories(1)
        .total_tables(1)
        .total_stacks(1);
    bounds
}
