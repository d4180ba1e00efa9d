"""How often scalecalc.torch.check fails a right module, how wide its bands are, and which mistakes it finds:
the ten models of ten_models.py, drawn anew with a new batch each time.

usage: check_bands.py [DRAWS [MODEL...]]   default 10 draws; Markdown tables; exit 1 where more than one in
                                           a hundred right modules fails

A mistake is planted in one linear map or convolution of a draw: what it gives, or the gradient that it is
given, is multiplied (`model=` has the right module), or its weight is (the module alone).
"""
import math
import random
import statistics
import sys

import torch
import transformers

import scalecalc.torch
import ten_models as ten
from test_check import Scaled


COMPUTED = {"output x 1.19": lambda y: 1.19 * y, "output x 1.41": lambda y: 1.41 * y, "output x 0.5": lambda y: 0.5 * y,
            "output 0": lambda y: 0 * y, "gradient x 1.41": lambda y: Scaled.apply(y, 1.41),
            "gradient x 2": lambda y: Scaled.apply(y, 2.0), "gradient 0": lambda y: Scaled.apply(y, 0.0)}
WEIGHTS = {"weight x 1.41": 1.41, "weight 0": 0.0}


def drawn(name, factory, seed):
    torch.manual_seed(seed)
    module = factory(ten.WIDTH)
    torch.manual_seed(1000 + seed)
    example = ten.example_of(name)
    if torch.is_tensor(example) and example.is_floating_point():
        return module, torch.randn(example.shape)
    words = torch.randint(0, ten.WORDS, (ten.SEQUENCES, ten.TOKENS))
    return module, {"input_ids": words, "decoder_input_ids": words} if name == "T5" else words


def width(rows, what):
    """The median of what a band allows upwards, as a factor."""
    factors = [row["high"] / row["predicted"] for row in rows if row["what"] == what]
    return f"{statistics.median(factors):.3g}" if factors else ""


def planted(name, factory, draws, found):
    module, example = drawn(name, factory, 77)
    read = scalecalc.torch.read(module, example)
    maps = [part.name for part in read.parts if len(part.sites) == 1 and part.sites[0] != "head"
            and part.type in ("Linear", "Conv1D", "Conv2d")]
    places = random.Random(1)

    def count(mistake, seed, plant, **options):
        module, example = drawn(name, factory, seed)
        place = places.choice(maps)
        plant(module.get_submodule(place))
        checked = scalecalc.torch.check(module, example, **options)
        of = found.setdefault(mistake, [0, 0, 0])
        for i, more in enumerate((1, not checked.passed, checked.first == place)):
            of[i] += more

    def multiply(weight, factor):
        with torch.no_grad():
            weight.mul_(factor)

    for seed in range(draws):
        for mistake, change in COMPUTED.items():
            count(mistake, seed, lambda one, change=change: one.register_forward_hook(
                lambda _, __, output: change(output)), model=read)
        for mistake, factor in WEIGHTS.items():
            count(mistake, seed, lambda one, factor=factor: multiply(one.weight, factor))


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    every = ten.factories()
    chosen = {name: every[name] for name in sys.argv[2:] or every}
    kinds = ("input", "output", "gradient of output", "gradient")
    rows, failed, mistakes = [], 0, {}
    for name, factory in chosen.items():
        checks = [scalecalc.torch.check(*drawn(name, factory, seed)) for seed in range(draws)]
        wrong = [one for one in checks if not one.passed]
        failed += len(wrong)
        for one in wrong:
            print(f"{name}: {one.first}: {one.why}", flush=True)
        every_row = [row for one in checks for row in one.to_dict()["rows"]]
        rows.append([name, f"{len(wrong)} of {draws}", *(width(every_row, kind) for kind in kinds)])
        planted(name, factory, max(1, draws // 5), mistakes)
    ten.table("Right modules, and the median factor that a band allows upwards", ["model", "fail", *kinds], rows)
    ten.table("Planted mistakes", ["mistake", "found", "its module named"],
              [[mistake, f"{found} of {count}", str(named)] for mistake, (count, found, named) in mistakes.items()])
    sys.exit(failed > math.ceil(0.01 * draws * len(chosen)))


if __name__ == "__main__":
    main()
