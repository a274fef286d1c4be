"""Why a component cannot be made."""


class BuildError(Exception):
    """The message names the file and the line where there are such."""
