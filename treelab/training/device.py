"""Where a learner computes."""

import torch


def resolve_device(device: str | torch.device) -> torch.device:
    """Turn a ``device`` setting into a torch device.

    "auto" takes CUDA when torch sees it, else the CPU. A device that is asked for
    by name and is not there is refused, never replaced.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        if found.type not in ("cpu", "cuda"):
            raise TypeError(f"nothing here is compiled for {found.type}")
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {device!r}."
        ) from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r}, but torch sees no CUDA GPU here; use 'cpu' or 'auto'."
        )
    return found


def device_name(device: torch.device) -> str:
    """Return what a device is called: the GPU's name, or CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return device.type.upper()


def free_memory(device: torch.device) -> str:
    """Write how much of a GPU's memory is free to all processes; "" for the CPU."""
    if device.type != "cuda":
        return ""
    free, total = torch.cuda.mem_get_info(device)  # bytes
    return f"{free / 2**30:.0f} of {total / 2**30:.0f} GiB free"
