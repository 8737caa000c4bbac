"""The one training loop and its progress reports."""

from treelab.training.events import Callback, Monitor, Progress, notify

__all__ = ["Callback", "Monitor", "Progress", "notify"]
