#!/usr/bin/env python3
"""What a newcomer wants to know, each by one line of a shell, and what the answer must show.

usage: newcomer_tasks.py PROGRAM [--times]

Questions are those of the threads that the guide answers; each line runs in an empty folder with
CONFIG in config.json. With --times it prints the seconds of each.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

CONFIG = '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 100,' \
         ' "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 32}'
CLAIM = '[[claim]]\nname = "relu keeps half"\nlet = { x = "normal(0, 1)" }\n' \
        'assert = "E[relu(x)^2] == 1/2"\n'

# The question, the line, patterns that its output has, the exit code.
TASKS = [
    ("Where do I begin?", "scalecalc --help", ["deepnorm", "propagate"], 0),
    ("Which alpha and lambda does a post-norm of 1000 layers want under adam?",
     "scalecalc deepnorm --layers 1000 --optimizer adam", ["44.72136", r"\(2\*N\)\^\(1/2\)"], 0),
    ("Why these?", "scalecalc deepnorm --layers 24 --optimizer sgd --explain", ["scalar probe"], 0),
    ("Do real passes agree?",
     "scalecalc deepnorm --layers 16 --optimizer adam --verify --width 16 --heads 2 --seeds 4",
     ["passed"], 0),
    ("How does the pair change from adam to muon, at three depths?",
     "scalecalc deepnorm --layers 12,24,48 --optimizer adam,muon", ["muon", "48"], 0),
    ("I train matrices by muon and the rest by adamw: which pair?",
     "scalecalc deepnorm --layers 24 --optimizer Muon+AdamW", ["muon", "embedding"], 0),
    ("What is DeepNet's constant, and what is derived?",
     "scalecalc deepnorm --layers 18 --rule deepnet", ["published"], 0),
    ("Which gain does gelu want?", "scalecalc activation gelu", [r"1\.5335"], 0),
    ("Why is PyTorch's gain of tanh 5/3?", "scalecalc activation tanh", [r"5/3", r"1\.5925"], 0),
    ("Which gain does my own activation want, to 20 digits?",
     "scalecalc activation 'x*sigmoid(1.7*x)' --digits 20", ["gain"], 0),
    ("Which of four activations keeps gradients?",
     "scalecalc activation gelu silu tanh mish", ["gain_backward|backward"], 0),
    ("Where do selu's constants come from?", "scalecalc solve self-normalizing", [r"1\.0507"], 0),
    ("What std did nn.Linear(256, 1024) really draw?",
     "scalecalc convention 'nn.Linear(256, 1024)'", [r"0\.0360"], 0),
    ("Does the stream of my transformer grow?", "scalecalc propagate pre-ln-12 --layers 6",
     ["block"], 0),
    ("Is a prediction right for my model?",
     "scalecalc verify mlp-relu --layers 4 --width 64 --seeds 8", ["Passed"], 0),
    ("Where does a plain stack of 50 tanh layers go?", "scalecalc propagate mlp-tanh --layers 50",
     ["second"], 0),
    ("Post, pre or DeepNorm: what is different?",
     "scalecalc propagate pre-ln-12 --layers 4 --placement post,pre,deepnorm", ["x \\d"], 0),
    ("What does my config.json say?", "scalecalc init config.json", ["up_proj", "0.02"], 0),
    ("Give me the model file of it.", "scalecalc import config.json | scalecalc propagate -",
     ["block"], 0),
    ("Write my init in PyTorch.", "scalecalc init gpt2 --target pytorch", ["import torch"], 0),
    ("Was the init of these weights applied?",
     "scalecalc init mlp-relu --layers 3 --weights w.safetensors > log; "
     "scalecalc audit w.safetensors --model mlp-relu --layers 3", ["(?i)passed|right"], 0),
    ("Does an exponent hold in my passes?",
     "scalecalc sweep --layers 2,4,8 --optimizer adam --width 16 --heads 2 --seeds 4",
     ["exponent"], 0),
    ("Check a derivation in CI.",
     f"printf '{CLAIM}' > c.toml; scalecalc check c.toml --junit j.xml", ["holds"], 0),
    ("I do not know what to ask.",
     "scalecalc choose --goal pair --layers 48 --placement post --defaults", ["deepnorm"], 0),
    ("Which keys does the JSON have?", "scalecalc schema deepnorm", ["json-schema.org"], 0),
]


def main():
    program = os.path.abspath(sys.argv[1])
    wrong = []
    for question, line, patterns, code in TASKS:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                file.write(CONFIG)
            start = time.monotonic()
            done = subprocess.run(["sh", "-c", f"scalecalc() {{ '{program}' \"$@\"; }}; {line}"],
                                  cwd=folder, capture_output=True, text=True, timeout=600)
            seconds = time.monotonic() - start
        if "--times" in sys.argv:
            print(f"{seconds:6.2f} s  {question}")
        missing = [one for one in patterns if not re.search(one, done.stdout)]
        if done.returncode != code or missing:
            wrong.append(f"{question}\n  {line}\n  exit {done.returncode}, without {missing}\n"
                         f"  {done.stdout[-600:]}{done.stderr}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
