"""Names of functions, which a cursor holds."""

from __future__ import annotations

import functools

import pytest

from forebay.dataloader.decode.user_code import NAME, name_of


def function(sample):
    return sample


class Callable:
    def __call__(self, sample):
        return sample

    def method(self, sample):
        return sample


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (function, f"{__name__}.function"),
        (Callable(), f"{__name__}.Callable"),
        (Callable().method, f"{__name__}.Callable.method"),
        (functools.partial(function, 1), f"functools.partial({__name__}.function)"),
        (functools.partial(Callable()), f"functools.partial({__name__}.Callable)"),
        (lambda sample: sample, f"{__name__}.<lambda>"),
        (len, "builtins.len"),
        (str, "builtins.str"),
    ],
)
def test_names(code, name):
    assert name_of(code) == name


def test_a_name_is_bounded():
    function = lambda sample: sample  # noqa: E731 - a function whose name can be chosen
    function.__qualname__ = "x" * 5000
    assert len(name_of(function)) == NAME
