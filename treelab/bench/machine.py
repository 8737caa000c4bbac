"""What a benchmark ran on."""

import os
import platform
from pathlib import Path


def machine() -> str:
    """Name of the processor and the number of its cores that may be used."""
    name = platform.processor() or platform.machine()
    listed = Path("/proc/cpuinfo")
    if listed.is_file():
        for line in listed.read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    return f"{name}, {os.cpu_count()} cores"
