"""What `forebay pack` reads: one file a kind of source."""
