"""What a wheel holds beside the library: the dashboard, in ``treelab/dashboard``.

The app's files stay where Streamlit looks for them in a checkout. ``requirements.txt``
pins torch to what was tested; an installed library takes its later versions, too.
"""

import re
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

DASHBOARD = ("app.py", "pages", "assets", ".streamlit/config.toml")
REQUIREMENTS = Path("requirements.txt").read_text("utf-8").split()


class BuildWithDashboard(build_py):
    """Copies the dashboard beside the built packages."""

    def run(self) -> None:
        """Build the packages, then copy."""
        super().run()
        if self.editable_mode:
            return
        home = Path(self.build_lib, "treelab", "dashboard")
        for name in DASHBOARD:
            source, target = Path(name), home / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)


setup(
    packages=find_packages(include=["treelab", "treelab.*"]),
    package_data={"treelab.trees.code": ["carried.c"]},
    install_requires=[
        re.sub(r"^torch==(.+)$", r"torch>=\1,<3", line) for line in REQUIREMENTS
    ],
    cmdclass={"build_py": BuildWithDashboard},
)
