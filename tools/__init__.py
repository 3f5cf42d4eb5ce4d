"""The forebay command: one file a verb."""
