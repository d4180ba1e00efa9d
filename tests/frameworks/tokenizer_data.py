#!/usr/bin/env python3
"""Writes what tests/train/tokenizer_test.cpp holds the tokens to, and the classes of code points.

usage: tests/frameworks/tokenizer_data.py [--classes]

tests/cli/tokenizer.json: one of its files.
tests/train/tokenizer_data.hpp: a tokenizer.json that the library tokenizers has trained, texts, and the
ids that it makes of them. With --classes also src/train/unicode_classes.hpp, by what the library's
own pattern takes for a letter, a number and white space.
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = [
    "The quick brown fox isn't here; they've gone, I'll say we'd'VE 'tis 's",
    "  two  spaces\tand\n\n lines \r\n\n   at the end   \n",
    "a\u00a0b \u2003c\u3000 d\u0085e\u200bf \ufeff g",
    "12 345,67 \u00bd \u0663\u0664 x2y \u2167 \u00b2",
    "\u00c9t\u00e9 na\u00efve \u4f60\u597d\u3002 \u0928\u092e\u0938\u094d\u0924\u0947 \U0001f600\U0001f469\u200d\U0001f52c e\u0301",
    "<|end|>text<|end|><|en New  word <|mark|> x<|mark|>  y <|end|>",
    "\x00\x01\x7f\u0100\u01ff\U0010ffff ''' '' 't're",
    " ", "x", " 's", "\n", "aaaaaaaaaaaaaaaa bbbbbbbbb ababab",
]


def trained(prefix, whole):
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    texts = ["The quick brown fox they've gone aaaa bbbb abab the there then" * 3, "12 345 lines lines"]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=296, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<|end|>"], show_progress=False))
    tokenizer.add_tokens([AddedToken("New", normalized=True), "the",
                          AddedToken("<|mark|>", lstrip=True, rstrip=True, special=True)])
    return tokenizer


def raw(text):
    return 'R"json(' + text + ')json"'


def escaped(text):
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def data():
    lines = ["#pragma once", "", "#include <cstdint>", "#include <string>", "#include <vector>", "",
             "/// Made by tests/frameworks/tokenizer_data.py.", "namespace scalecalc::testing {", "",
             "struct TokenizedText {", "  std::string text;", "  std::vector<std::int32_t> ids;", "};",
             "struct TokenizerCase {", "  std::string json;", "  std::vector<TokenizedText> texts;",
             "};", "", "// clang-format off",
             "inline const std::vector<TokenizerCase>& tokenizer_cases() {",
             "  static const std::vector<TokenizerCase> cases = {"]
    for prefix, whole in ((False, False), (True, True)):
        tokenizer = trained(prefix, whole)
        file = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=True, separators=(",", ":"))
        if not prefix:
            (ROOT / "tests/cli/tokenizer.json").write_text(file + "\n")
        parts = [file[i:i + 90] for i in range(0, len(file), 90)]
        lines.append("{" + "\n".join(raw(part) for part in parts) + ", {")
        for text in TEXTS:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            lines.append(f"  {{std::string({escaped(text)}, {len(text.encode())}),")
            lines.append("   {" + ",".join(map(str, ids)) + "}},")
        lines.append("}},")
    lines += ["  };", "  return cases;", "}", "// clang-format on", "", "}  // namespace scalecalc::testing"]
    (ROOT / "tests/train/tokenizer_data.hpp").write_text("\n".join(lines) + "\n")


def probe(codes, before, after):
    """Those that go with the letter, number or sign in front of them."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found = []
    for begin in range(0, len(codes), 20000):
        part = codes[begin:begin + 20000]
        text = "".join(before + chr(code) + after for code in part)
        ends = {first: last for _, (first, last) in cut.pre_tokenize_str(text)}
        found += [code for i, code in enumerate(part) if ends.get(4 * i + 1) == 4 * i + 3]
    return found


def ranges(codes):
    made = []
    for code in codes:
        if made and made[-1][1] == code - 1:
            made[-1][1] = code
        else:
            made.append([code, code])
    return made


def classes():
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    lists = []
    for name, before, after, comment in (("kLetters", "!a", "!", "\\p{L}: letters."),
                                         ("kNumbers", "!1", "!", "\\p{N}: numbers.")):
        found = set(probe(codes, before, after))
        lists.append((name, comment, ranges(sorted(found))))
        codes = [code for code in codes if code not in found]
    others = set(probe(codes, "a!", "a"))
    lists.append(("kSpaces", "\\s: white space.", ranges([c for c in codes if c not in others])))
    path = ROOT / "src/train/unicode_classes.hpp"
    head, tail = path.read_text().split("// clang-format off\n")[0], "// clang-format on\n"
    end = path.read_text().split(tail)[1]
    text = head + "// clang-format off\n"
    for name, comment, found in lists:
        text += f"/// {comment}\ninline constexpr CodeRange {name}[] = {{\n"
        line = "   "
        for first, last in found:
            item = f" {{0x{first:X}, 0x{last:X}}},"
            if len(line) + len(item) > 100:
                text, line = text + line + "\n", "   "
            line += item
        text += line + "\n};\n" + ("\n" if name != "kSpaces" else "")
    path.write_text(text + tail + end)


if __name__ == "__main__":
    data()
    if "--classes" in sys.argv[1:]:
        classes()
