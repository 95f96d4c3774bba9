"""The errors of Kerneton, each also a subclass of a built-in error."""

from __future__ import annotations

import importlib
from typing import Any


class KernetonError(Exception):
    """Base of every error that Kerneton raises on purpose."""


class DataError(KernetonError, ValueError):
    """Recordings that cannot be used: wrong shape, no frames, values that are not numbers."""


class HeldOutError(DataError):
    """Too few recordings or subjects to hold some out, which choices and probabilities need."""


class FormatError(DataError):
    """A file whose content is not what its format promises."""


class ParameterError(KernetonError, ValueError):
    """A parameter outside its range, or two parameters that contradict each other."""


class ModelFileError(KernetonError, ValueError):
    """A model file that is damaged, hostile or of another version."""


class MissingDataError(KernetonError, FileNotFoundError):
    """A data set or file that was not found."""


class CoreError(KernetonError, ImportError):
    """The compiled core is missing, damaged, of another version, or does not suit the processor."""


class KernetonWarning(UserWarning):
    """What Kerneton assumed or left out; every warning of the package is of this class."""


class OutdatedWarning(KernetonWarning, FutureWarning):
    """A call as in the version before, which the next version refuses."""


class NoProbabilitiesWarning(KernetonWarning):
    """A recogniser was fitted without probabilities, since nobody could be held out to learn
    them.
    """


class MissingExtraError(KernetonError, ImportError):
    """An optional dependency that the requested feature needs."""


def import_extra(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module, or raise an error that names the extra to install.

    >>> import_extra("math", extra="none", purpose="an example").pi > 3
    True
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.partition('.')[0]}: pip install 'kerneton[{extra}]'"
        ) from error
