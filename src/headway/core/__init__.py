"""The pure core: what a scheduler decides, without a clock, I/O, a host or global state."""
