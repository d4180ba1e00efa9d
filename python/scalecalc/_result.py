"""Results: fields named as the keys of the program's JSON, and how they are shown."""

from __future__ import annotations

import keyword

TYPE_CHECKING = False  # typing's, which takes a third of the import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, ClassVar


class MapOf:
    """Of a member whose keys are data: what its values are."""

    def __init__(self, kind: type[Record]) -> None:
        self.kind = kind


class Formula(str):
    """A formula as text, and in the notation of LaTeX."""

    __slots__ = ()

    @property
    def latex(self) -> str:
        """Raises InputError for a text that is no formula of the language."""
        from ._core import latex

        return latex(self)

    def _repr_latex_(self) -> str | None:
        try:
            return f"${self.latex}$"
        except ValueError:
            return None


def _is_formula(key: str) -> bool:
    return key.endswith("_formula") or key in ("formula", "equation")


def _wrapped(key: str, value: Any, kind: type[Record] | MapOf | None) -> Any:
    if isinstance(value, list):
        return [_wrapped(key, element, kind) for element in value]
    if isinstance(value, dict):
        if isinstance(kind, MapOf):
            return {name: _wrapped(name, member, kind.kind) for name, member in value.items()}
        return value if kind is None else kind(value)
    if isinstance(value, str) and _is_formula(key):
        return Formula(value)
    return value


class Record:
    """Fields by name, as attributes or as record["lambda"]; a word reserved by Python ends in `_`."""

    __slots__ = ("_data",)
    _of: ClassVar[Mapping[str, type[Record] | MapOf]] = {}
    _may_miss: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        key = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
        try:
            return self[key]
        except KeyError:
            if key in self._may_miss:
                return None
        known = ", ".join(self._data)
        raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {known}")

    def __getitem__(self, key: str) -> Any:
        return _wrapped(key, self._data[key], self._of.get(key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> list[str]:
        fields = [key + "_" if keyword.iskeyword(key) else key for key in self._data]
        return sorted({*object.__dir__(self), *fields})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data,)

    def __repr__(self) -> str:
        from ._display import shown

        return f"{type(self).__name__}({', '.join(f'{k}={shown(v)}' for k, v in self._data.items())})"

    def _repr_html_(self) -> str:
        from ._display import html

        return html(self._data)

    def to_dict(self) -> dict[str, Any]:
        """A copy, of dicts, lists, texts and numbers alone."""
        import copy

        return copy.deepcopy(self._data)

    def to_pandas(self, field: str | None = None) -> Any:
        """A pandas.DataFrame of a field that is a list of records, by default the longest; of a
        result without one, its numbers and words as one row. Needs pandas."""
        from ._display import table

        return table(self._data, field)


class Figure:
    """The figure of plot=True, which a notebook shows."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg[self.svg.find("<svg"):]


class Result(Record):
    """What a command found.

    `inputs`: what was asked, with its defaults; `messages`: what the program would say on stderr;
    `text`: code or another text of the command's own; `exit_code`: 0, or 1 where a check failed;
    `svg`: the figure, of plot=True; `figure`: the same, as a notebook shows it; `sampled`: None, or where
    an activation is a function that was sampled, `functions`, what stands in for each and how far it is
    off, and `errors`, how far that may move each number of the result, in its shape.
    """

    __slots__ = ("command", "exit_code", "inputs", "messages", "sampled", "svg", "text")
    command: str
    inputs: Record
    exit_code: int
    text: str
    messages: list[str]
    svg: str
    sampled: Record | None

    def __init__(self, data: dict[str, Any], command: str = "", inputs: dict[str, Any] | None = None,
                 exit_code: int = 0, text: str = "", messages: list[str] | None = None,
                 svg: str = "", sampled: Record | None = None) -> None:
        super().__init__(data)
        self.command = command
        self.inputs = Record(inputs or {})
        self.exit_code, self.text, self.svg = exit_code, text, svg
        self.messages = messages or []
        self.sampled = sampled

    @property
    def figure(self) -> Figure | None:
        """The figure alone, where there is one."""
        return Figure(self.svg) if self.svg else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data, self.command, self.inputs._data, self.exit_code, self.text,
                            self.messages, self.svg, self.sampled)

    def to_dict(self) -> dict[str, Any]:
        """What the program prints with --format json."""
        import copy

        from ._core import version

        return {"scalecalc": version(), "command": self.command,
                "inputs": copy.deepcopy(self.inputs._data), "results": super().to_dict()}

    def __repr__(self) -> str:
        if not self._data and self.text:
            return f"{type(self).__name__}(text={self.text[:60]!r}...)"
        return super().__repr__()

    def _repr_html_(self) -> str:
        from ._display import html

        return html(self._data, self.text, self.messages, self.svg)
