"""Copal and its peers, measured on the same data on the same machine."""
