"""The packages of a wheel: treelab, and the viewer's files that it writes into pages.

They stand in ``assets/viewer`` here and in ``treelab/figures/viewer/assets`` there.
"""

from setuptools import find_packages, setup

VIEWER = "treelab.figures.viewer.assets"

setup(
    packages=[*find_packages(include=["treelab", "treelab.*"]), VIEWER],
    package_dir={VIEWER: "assets/viewer"},
    package_data={VIEWER: ["*.js", "*.css", "*.json"]},
)
