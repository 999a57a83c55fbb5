"""Lists of texts as a caller hands them over, checked: what is wrong is said with the argument's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def texts(argument: str, given: Iterable[str]) -> list[str]:
    """A list of texts.

    Args:
        argument: its name, for messages.
        given: texts in any iterable: a list, a column of a table, an array.

    Returns:
        Them as a list.

    Raises:
        TypeError: it is one text, or no iterable of texts; the message names the first that is none.

    Example:
        >>> texts("reports", ("Clear.", "Small effusion."))
        ['Clear.', 'Small effusion.']
    """
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{argument} is one text; give a list of texts, [{argument}]")
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{argument} is {type(given).__name__}; give a list of texts")
    found = list(given)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(
                f"{argument}[{place}] is {type(text).__name__}, not text: leave missing reports out"
            )
    return found


def require_equal(lengths: Mapping[str, int]) -> None:
    """Refuse lists of which one has another length.

    Args:
        lengths: by argument.

    Raises:
        ValueError: naming each with its length.
    """
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{argument} has {length}" for argument, length in lengths.items())
        raise ValueError(f"lists of different length: {said}; give one of each a report")
