"""A second implementation of the format: reads a repository, written from docs/format.md alone."""
