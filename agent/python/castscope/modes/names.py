"""The names of the modes. Apart, so that a command line is checked before PyTorch is imported."""

MODES = ("eager", "script", "trace", "compile", "export")
