"""Training knows batches and a module that turns a batch into a loss; not which model it is."""
