"""The training engine: batches and a module that turns a batch into a loss, of any model."""
