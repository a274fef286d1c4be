"""The module of the suite: its controllers and channels are those of the program in the component."""
