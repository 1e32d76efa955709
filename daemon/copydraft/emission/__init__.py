"""From text to what the model would print for it, and back: one module per answer format."""
