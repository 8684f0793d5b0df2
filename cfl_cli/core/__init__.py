"""What everybody may know: arrays, blocks of CFs, cells and what they say, settings, messages."""
