#!/usr/bin/env python3
"""Tokens of `scalecalc train --tokenizer` beside those of the library tokenizers, which wrote the file.

The first line of a run's log has a hash of all ids of a text: the same one is made here of the library's.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import (AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors,
                        trainers)

ROOT = pathlib.Path(__file__).resolve().parents[2]
MASK = (1 << 64) - 1


def fingerprint(ids):
    """src/train/hash.hpp of ids of 4 bytes."""
    data = b"".join(i.to_bytes(4, "little") for i in ids)
    state = 0
    for at in range(0, len(data), 8):
        part = data[at:at + 8]
        word = int.from_bytes(part, "little")
        if len(part) < 8:
            word ^= len(part) << 56
        state = ((state ^ word) + 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ (state >> 33)) * 0xFF51AFD7ED558CCD) & MASK
        state = ((state ^ (state >> 33)) * 0xC4CEB9FE1A85EC53) & MASK
        state ^= state >> 33
    return state


def run(folder, tokenizer, text, *more):
    (folder / "text.txt").write_bytes(text.encode())
    (folder / "tokenizer.json").write_text(tokenizer if isinstance(tokenizer, str) else tokenizer.to_str())
    return subprocess.run(
        [sys.argv[1], "train", "--text", "text.txt", "--tokenizer", "tokenizer.json", "-o", "runs",
         "--placements", "pre", "--depths", "1", "--seeds", "1", "--steps", "1", "--width", "8", "--heads",
         "2", "--sequence", "8", "--batch", "2", "--validation-batches", "1", "--format", "json", *more],
        cwd=folder, capture_output=True, text=True, check=False)


def check(name, tokenizer, text):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        done = run(folder, tokenizer, text)
        assert done.returncode == 0, (name, done.stderr)
        log = (folder / "runs/pre-1-seed0.jsonl").read_text().split("\n")[0]
        corpus = json.loads(log)["configuration"]["corpus"]
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids = encoding.ids
        assert corpus["tokens"] == len(ids), (name, corpus["tokens"], len(ids))
        assert corpus["fingerprint"] == fingerprint(ids), name
        assert corpus["vocab"] == tokenizer.get_vocab_size(), name
        result = json.loads(done.stdout)["results"]["corpus"]
        # A token may begin within a character of up to 4 bytes, and offsets leave a space out.
        split = min(len(ids) - len(ids) // 10, len(ids) - 1)
        left = len(text[encoding.offsets[split][0]:].encode())
        assert abs(result["bytes_per_token"] * (len(ids) - split) - left) < 5, (name, left)
    print(f"{name}: {len(ids)} tokens")


def refused(name, change, field):
    tokenizer = trained(300)
    file = json.loads(tokenizer.to_str())
    change(file)
    with tempfile.TemporaryDirectory() as place:
        done = run(pathlib.Path(place), json.dumps(file), "a text " * 100)
    lines = done.stderr.strip().split("\n")
    assert done.returncode == 2 and len(lines) == 1 and field in lines[0], (name, done.stderr)
    print(f"{name}: {lines[0]}")


def texts():
    return [path.read_text() for path in sorted((ROOT / "docs/guide").glob("*.md"))]


def trained(size, prefix=False, whole=False, pattern=True):
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=pattern)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<|endoftext|>"], show_progress=False))
    return tokenizer


def unicode_text():
    """Each code point that has a character, beside letters, numbers, spaces and signs."""
    draw = random.Random(7)
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x33400 or c % 997 == 0)]
    draw.shuffle(codes)
    return "".join(chr(c) + draw.choice(["", "a", "1", " ", "  ", "\n", ".", "'s", " '", "\u3000"])
                   for c in codes[:150000])


def main():
    code = (ROOT / "src/train/train.cpp").read_text() + (ROOT / "CHANGELOG.md").read_text()
    check("code", trained(1000), code)
    check("code, a space in front", trained(600, prefix=True), code)
    check("code, whole words", trained(600, whole=True), code)
    check("code, no pattern", trained(400, pattern=False), code[:50000])
    check("all of Unicode", trained(500), unicode_text())
    added = trained(400)
    added.add_special_tokens(["<|im_start|>", AddedToken("<mask>", lstrip=True, rstrip=True)])
    added.add_tokens(["const", AddedToken("constexpr", normalized=False), "  "])
    check("added tokens", added, code.replace("if", " <mask> \n").replace("return", "<|im_start|>"))

    def put(key, value):
        return lambda file: file.update({key: value})
    refused("unigram", put("model", {"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0]]}), "model.type")
    refused("wordpiece", put("model", {"type": "WordPiece", "vocab": {"a": 0}}), "model.type")
    refused("NFC", put("normalizer", {"type": "NFC"}), "normalizer")
    refused("words", put("pre_tokenizer", {"type": "Whitespace"}), "pre_tokenizer")
    refused("another pattern", put("pre_tokenizer", {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}),
        "pre_tokenizer")
    refused("truncation", put("truncation", {"max_length": 8, "strategy": "LongestFirst", "stride": 0,
                                             "direction": "Right"}), "truncation")


main()
