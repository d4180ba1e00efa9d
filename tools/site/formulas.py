"""Formulas of the pages as MathML, so that the site needs no script and no network. A formula that
does not parse stops the build."""

import html
import re

import latex2mathml.converter
from mkdocs.exceptions import PluginError

FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.S)


def on_page_content(content, page, **_):
    def convert(match):
        display = "block" if match[3] is not None else "inline"
        text = html.unescape(match[3] if match[3] is not None else match[2]).strip()
        if "$" in text:
            raise PluginError(f"{page.file.src_path}: two formulas without an empty line: {text}")
        # The converter knows two primes in a row.
        text = re.sub("'{3,}", lambda primes: "^{" + r"\prime" * len(primes[0]) + "}", text)
        try:
            found = latex2mathml.converter.convert(text, display=display)
        except Exception as error:
            raise PluginError(f"{page.file.src_path}: {text}: {error}") from error
        unknown = re.search(r"<m[ion]>(\\[A-Za-z]+)</m[ion]>", found)
        if unknown:
            raise PluginError(f"{page.file.src_path}: {text}: {unknown[1]} is not known")
        return found

    content = FORMULA.sub(convert, content)
    if 'class="arithmatex"' in content:
        raise PluginError(f"{page.file.src_path}: a formula is left as it was")
    text = re.sub(r"<(pre|code)\b.*?</\1>|<math\b.*?</math>", "", content, flags=re.S)
    if "$" in re.sub(r"<[^>]*>", "", text):
        raise PluginError(f"{page.file.src_path}: a $ that begins no formula")
    return content
