"""What the reader must read: golden vectors of the engine, and the golden repository."""
