"""The version, which the package knows without being installed."""

__version__ = "0.1.0"
