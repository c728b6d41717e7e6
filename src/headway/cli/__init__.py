"""The command line: parsing and printing, nothing else. One file a command."""
