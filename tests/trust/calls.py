"""Calls that take data: what each argument is, its valid value, and how to run it."""

from dataclasses import dataclass

# A fit computes the kernel matrix once or more; an error comes before a third of it.
MOST_VALUES = 48 * 48 // 3


@dataclass(frozen=True)
class Call:
    """A call with named arguments.

    Attributes
    ----------
    name : str
        As users write it: "SVC.fit", "capacity.spectrum".
    arguments : dict of str to (kind, function that returns the valid value)
    run : callable
        ``run(arguments, before)`` returns the result. It appends pairs of an object that an error must not change and
        its fingerprint to the list ``before``.
    library : {"mercer", "sklearn"}
    answer : callable
        Returns the part of a result that must be the same for the same values in another container.
    """

    name: str
    arguments: dict
    run: object
    library: str = "mercer"
    answer: object = lambda result: result

    def valid(self, name):
        """Return the valid value of an argument."""
        return self.arguments[name][1]()

    def kind(self, name):
        """Return the kind of an argument."""
        return self.arguments[name][0]


def call(name, function, /, **arguments):
    """Return the call of a function; each argument is a pair of a kind and a function that returns a valid value."""
    return Call(name, arguments, lambda values, _before: function(**values))
