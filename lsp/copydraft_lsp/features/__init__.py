"""What an editor can ask for, one feature a module."""
