"""What the reader must read: golden vectors of the format, and the golden repository."""
