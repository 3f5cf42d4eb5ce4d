"""Image decoders: one file a backend."""
