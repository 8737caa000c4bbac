"""The one training loop and what it tells its listeners."""

from treelab.training.events import Callback, Progress, stop_asked

__all__ = ["Callback", "Progress", "stop_asked"]
