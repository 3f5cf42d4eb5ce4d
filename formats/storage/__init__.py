"""Where bytes come from: one ByteSource a store."""
