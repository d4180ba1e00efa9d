"""How results look in a notebook and in a REPL."""

from __future__ import annotations

from html import escape
from typing import Any

ROWS = 40  # of a table, at most
LEFT = ' style="text-align: left"'  # of words: notebooks set all to the right, as numbers are
PANDAS = "to_pandas() needs pandas: pip install pandas"


def shown(value: Any) -> str:
    """Short, for a repr."""
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        return f"[{len(value)}]" if any(isinstance(one, (dict, list)) for one in value) else repr(value)
    return repr(value)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.7g}"
    if isinstance(value, (dict, list)):
        return escape(shown(value))
    return escape(str(value))


def _is_words(value: Any) -> bool:
    return isinstance(value, str)


def _latex(value: Any) -> str:
    """As a notebook typesets it."""
    return f"${escape(str(value))}$" if value else ""


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _table(rows: list[dict[str, Any]]) -> str:
    columns = _columns(rows)
    side = {column: LEFT if any(_is_words(row.get(column)) for row in rows) else "" for column in columns}
    head = "".join(f"<th{side[column]}>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(
        f"<td{side[column]}>{(_latex if column == 'latex' else _cell)(row.get(column))}</td>"
        for column in columns) + "</tr>" for row in rows[:ROWS])
    left = len(rows) - ROWS
    more = f"<p>... and {left} more</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def html(data: dict[str, Any], text: str = "", messages: list[str] | None = None, svg: str = "") -> str:
    """Numbers and words as one table, lists of records as one each, a figure, a text."""
    facts = {key: value for key, value in data.items() if not isinstance(value, (dict, list))}
    parts = []
    if facts:
        rows = "".join(f"<tr><th{LEFT}>{escape(key)}</th><td{LEFT}>{_cell(value)}</td></tr>"
                       for key, value in facts.items() if value is not None)
        parts.append(f"<table><tbody>{rows}</tbody></table>")
    for key, value in data.items():
        if _is_table(value):
            parts.append(f"<details open><summary>{escape(key)}</summary>{_table(value)}</details>")
        elif isinstance(value, dict) and value:
            parts.append(f"<details><summary>{escape(key)}</summary>{html(value)}</details>")
        elif isinstance(value, list) and value:
            listed = ", ".join(_cell(one) for one in value[:ROWS])
            parts.append(f"<p><b>{escape(key)}</b>: {listed}</p>")
    if text:
        parts.append(f"<pre>{escape(text)}</pre>")
    parts += [f"<p>{escape(message)}</p>" for message in messages or []]
    if svg:
        parts.append(svg[svg.find("<svg"):])
    return "".join(parts)


def table(data: dict[str, Any], field: str | None) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError(PANDAS) from None
    tables = {key: value for key, value in data.items() if _is_table(value)}
    if field is None and tables:
        field = max(tables, key=lambda key: len(tables[key]))
    if field is None:
        return pandas.json_normalize([data])
    if field not in tables:
        raise ValueError(f"{field!r} is no list of records; there are: {', '.join(tables) or 'none'}")
    return pandas.json_normalize(tables[field])


def columns(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Lines of a table in a terminal, its numbers as they are given."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, tuple("-" * width for width in widths), *rows]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in lines]
