"""The compiled core; all else stands in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup

setup(
    ext_modules=cythonize(
        [Extension("resonate_lab._fastcron", ["_fastcron.pyx"], extra_compile_args=["-O3"])],
        build_dir="build",
    )
)
