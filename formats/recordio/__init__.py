"""The RecordIO profile: framing, index, writer and reader."""
