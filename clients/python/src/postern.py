"""The former name of `postern_auth`. On PyPI, `postern` is another project.

One module and no package: pip overwrites no file of a package named `postern`, and Python prefers such a package.
"""

raise ImportError(
    "the Python client of Postern is imported as `postern_auth`, and installed as `postern-auth`: "
    "replace `postern` by `postern_auth` in the imports, as in `from postern_auth import Client`",
    name=__name__,
)
