"""Modules as users write them, and models of transformers, exported with torch.export: what
`propagate FILE.pt2` says of their layers' outputs and of their gradients, beside SEEDS draws of the
modules themselves. With --table, a row of docs/guide/configs.md for each, and of what is refused its
message. With --time, how long it takes to read and answer a graph of 48 layers.
usage: test_graphs.py PROGRAM [--table] [NAME...]
       test_graphs.py PROGRAM --time"""
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

import torch

import predictions as p

sys.path.insert(0, str(p.FOLDER.parent / "graphs"))
import make_graphs  # noqa: E402

SEEDS = 32
# What is asked of a model: medians of outputs and of gradients, and figures that are beyond both
# three standard errors and 15%.
OUTPUTS, GRADIENTS, FAR, SHARE = 0.03, 0.05, 0.15, 1 / 20
NAMES = ("mlp", "residual-mlp", "convnet", "gpt", "written-out", "einsum", "encoder", "dropout-mlp",
         "blocks", "gated-stack", "translator", "gpt2", "llama", "gemma2", "bert", "t5", "vit",
         "resnet", "convnext", "unet", "unet-upsample", "dit", "dit-zero")

BATCH_NORMS = ("convnet", "resnet", "resnet50", "unet", "unet-upsample")
# Held against so many passes of what was read, as the rules leave out too much in small images.
PASSES = {"convnet": 16 * SEEDS, "resnet": 16 * SEEDS, "convnext": 16 * SEEDS, "resnet50": 2 * SEEDS,
          "unet": 4 * SEEDS, "unet-upsample": 4 * SEEDS}
CONFIGS = ("gemma2", "t5", "t5-gated", "convnext", "resnet", "resnet50")
LISTS = ("convnext", "resnet", "resnet50")
# Half the squared error of what they make; a time of 1000 steps, and a label of each sample.
DITS = ("dit", "dit-zero")
# Gradients of all maps but the last are exactly 0.
ZERO = ("dit-zero",)
WORDS = (1, 64)
RANGES = {name: (WORDS, (0, 1000), (0, 11)) for name in DITS}


def inputs_like(example, range_of=WORDS):
    if isinstance(example, dict):
        return {key: inputs_like(value, range_of) for key, value in example.items()}
    if example.dtype == torch.long:
        return torch.randint(*range_of, example.shape)
    return torch.randn(example.shape)


def run(model, inputs, ranges=None):
    if isinstance(inputs, dict):
        return model(**inputs_like(inputs))
    return model(*map(inputs_like, inputs, ranges or [WORDS] * len(inputs)))


def packed(names, tensor):
    """The paths that [names] packs in a tensor."""
    for name, paths in names.items():
        found = re.fullmatch(re.escape(name).replace(r"\{i\}", r"(\d+)"), tensor)
        if found and isinstance(paths, str):
            return paths.replace("{i}", found[1] if found.groups() else "").split(" + ")
    raise KeyError(tensor)


class Measured:
    """Second moments by path, one a seed."""

    def __init__(self, rows, names, name):
        self.name, self.outputs, self.gradients = name, {}, {}
        self.paths = {}
        for row in rows:
            self.paths.setdefault(row["name"], []).append(row)
        # In the order in which they lie.
        for tensor, parts in self.paths.items():
            if len(parts) > 1:
                parts.sort(key=lambda row, order=packed(names, tensor): order.index(row["path"]))

    def site_of(self, module_name):
        """The site that a module's output is, where its weight is one parameter."""
        rows = self.paths.get(module_name + ".weight", [])
        if len(rows) != 1:
            return None
        path = rows[0]["path"]
        return path.rsplit(".", 1)[0] if path.endswith((".weight", ".gain")) else None

    def run(self, model, inputs):
        def hook(site):
            def keep(_, __, output):
                self.outputs.setdefault(site, []).append(output.detach().pow(2).mean().item())
            return keep

        # The site of an embedding has its positions; a tied head has its matrix.
        handles = [module.register_forward_hook(hook(self.site_of(name)))
                   for name, module in model.named_modules()
                   if self.site_of(name) not in (None, "embedding")]
        output = run(model, inputs, RANGES.get(self.name))
        self.loss(getattr(output, "logits", output)).backward()
        for handle in handles:
            handle.remove()
        for name, parameter in model.named_parameters():
            self.add_gradient(name, parameter.grad)

    def loss(self, logits):
        if self.name in DITS:
            return 0.5 * (logits - torch.randn(logits.shape)).pow(2).sum()
        if logits.dim() == 4:  # a class for each pixel
            logits = logits.permute(0, 2, 3, 1)
        logits = logits.reshape(-1, logits.shape[-1])
        targets = torch.randint(0, logits.shape[-1], logits.shape[:1])
        return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")

    def add_gradient(self, name, gradient):
        rows = self.paths.get(name, [])
        if not rows or gradient is None:
            return
        sizes = [int(row["shape"].split("x")[-1]) for row in rows]
        # Parts lie side by side along the outputs, first or, as Conv1D has it, last.
        axis = 0 if gradient.shape[0] == sum(sizes) else gradient.dim() - 1
        parts = gradient.split(sizes, axis) if len(rows) > 1 else [gradient]
        for row, part in zip(rows, parts):
            self.gradients.setdefault(row["path"], []).append(part.pow(2).mean().item())


def as_large_as(model, first):
    """Its parameters with the mean squares of another draw, whose stds the program has read: heads of
    few entries differ by more than what is compared."""
    with torch.no_grad():
        for parameter, other in zip(model.parameters(), first.parameters()):
            size, due = parameter.pow(2).mean(), other.pow(2).mean()
            if size > 0:
                parameter.mul_((due / size).sqrt())
    return model


def compare(predicted, measured):
    """(path, measured / predicted, standard error of that)."""
    found = []
    for path, values in measured.items():
        if path not in predicted or predicted[path] <= 1e-20:
            continue
        mean = statistics.fmean(values)
        error = statistics.stdev(values) / math.sqrt(len(values))
        found.append((path, mean / predicted[path], error / predicted[path]))
    return found


def place_of(path):
    """Without which repeats a layer stands in: a config has one for each stage, a graph the longest."""
    return re.sub(r"\d+", "", re.sub(r"repeat\[\d+\]\[\d+\]\.", "", path))


def options_like_config(name, inputs):
    """What the config does not say and the graph does."""
    values = list(inputs.values() if isinstance(inputs, dict) else inputs)
    if name in LISTS:
        return ["--sequence", str(values[0].shape[-1] ** 2)], []
    if name == "vit":
        return [], ["--cross", "0"]
    size = ["--sequence", str(values[-1].shape[-1])]
    size += ["--memory-sequence", str(values[0].shape[-1])] if len(values) > 1 else []
    return size, ["--zipf", "0"]


def planned(path):
    """By the tensor's name in the module."""
    rows = json.loads(p.program("init", path, "--format", "json"))["results"]["parameters"]
    return {row["name"]: row for row in rows}


def without_stds(path):
    """The model file that `import` makes of it, without what a graph has rounded."""
    text = p.program("import", path)
    kept = [line for line in text.splitlines()
            if not line.startswith(("std =", "bias_std =", "distribution ="))]
    out = pathlib.Path(path + ".toml")
    out.write_text("\n".join(kept) + "\n")
    return str(out)


def same_as_config(name, folder):
    """With every parameter exactly as large as config.json says, the graph's model and the config's
    are the same numbers. Of ResNets the stds are no round numbers: they agree within the 1% that a
    graph's are rounded by, and all else is the same."""
    draw, inputs = make_graphs.networks()[name]
    torch.manual_seed(0)
    model = draw().eval()
    values = {key: 0.0 if "drop" in key and isinstance(value, float) else value
              for key, value in model.config.to_dict().items()}
    config = pathlib.Path(folder) / "config.json"
    config.write_text(json.dumps(dict(values, architectures=[type(model).__name__])))
    due = planned(str(config))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            size = parameter.pow(2).mean().sqrt()
            if key in due and size > 0 and due[key]["std"] > 0:
                parameter.mul_(due[key]["std"] / size)
    graph = str(pathlib.Path(folder) / "exact.pt2")
    make_graphs.save(model, inputs, graph)
    size, both = options_like_config(name, inputs)
    paths = [graph, str(config)]
    if name in BATCH_NORMS:
        for key, row in planned(graph).items():
            a, b = row["std"], due[key]["std"]
            assert abs(a - b) <= 0.01 * b, f"{name}: {key} has a std of {a}, by its config {b}"
        paths = [without_stds(path) for path in paths]
    found = [json.loads(p.program("propagate", path, "--format", "json", "--batch", "2", *both,
                                  *options))["results"]
             for path, options in zip(paths, ([], size))]
    worst = 0.0
    for kind, figures in (("sites", ("second", "cross")), ("parameters", ("grad_second",))):
        places = [[place_of(row["path"]) for row in one[kind]] for one in found]
        assert places[0] == places[1], f"{name}: {kind} differ from those of the config"
        for one, other in zip(found[0][kind], found[1][kind]):
            for figure in figures:
                a, b = one[figure], other[figure]
                assert (a is None) == (b is None), f"{name}: {one['path']}"
                if a is not None and max(abs(a), abs(b)) > 1e-12:
                    worst = max(worst, abs(a - b) / max(abs(a), abs(b)))
    return worst


class Row:
    """What is printed of one."""

    def __init__(self, name):
        self.name, self.operations, self.refusal, self.same = name, 0, "", None
        self.outputs, self.gradients = [], []
        self.not_zero = []  # gradients where 0 is predicted
        self.exported = "both"

    def far(self):
        return [row for row in self.outputs + self.gradients
                if abs(row[1] - 1) > max(FAR, 3 * row[2])]

    def medians(self):
        return [(statistics.median(abs(row[1] - 1) for row in rows),
                 # Figures of one seed move together: their median is as uncertain as one of them.
                 statistics.median(row[2] for row in rows))
                for rows in (self.outputs, self.gradients)]

    def text(self):
        if self.refusal:
            return f"| {self.name} | {self.operations} | {self.refusal} | | | |"
        (a, b), (c, d) = self.medians()
        same = "" if self.same is None else f"{self.same:.0e}"
        return (f"| {self.name} | {self.operations} | {a:.1%} ± {b:.1%} | {c:.1%} ± {d:.1%} | "
                f"{len(self.far())} of {len(self.outputs + self.gradients)} | {same} |")


def measured_row(name):
    row = Row(name)
    draw, inputs = make_graphs.networks()[name]
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / f"{name}.pt2")
        make_graphs.export(name, path)
        row.operations = make_graphs.operations(path)
        read = subprocess.run([sys.argv[1], "import", path], capture_output=True, text=True,
                              check=False)
        assert read.returncode in (0, 2), f"{name}: {read.stderr}"
        if read.returncode == 2:
            row.refusal = read.stderr.strip().replace(folder + "/", "")
            return row
        strict = str(pathlib.Path(folder) / "strict.pt2")
        make_graphs.export(name, strict, strict=True)
        again = p.program("import", strict)
        row.exported = "both" if body_of(again) == body_of(read.stdout) else "they differ"
        if name in CONFIGS:
            row.same = same_as_config(name, folder)
        passes = PASSES.get(name, 0)
        engine = ["--engine", "passes", "--seeds", str(passes)] if passes else []
        said = json.loads(p.program("propagate", path, "--format", "json", *engine))["results"]
        rows = json.loads(p.program("init", path, "--format", "json"))["results"]["parameters"]
    measured = Measured(rows, tomllib.loads(read.stdout)["names"], name)
    torch.manual_seed(0)  # as make_graphs.export() draws it
    first = draw()
    for seed in range(1, SEEDS + 1):
        torch.manual_seed(seed)
        model = as_large_as(draw(), first)
        # Batch norms are those of training.
        model.train(name in BATCH_NORMS or name in make_graphs.TRAINED)
        measured.run(model, inputs)
    row.outputs = compare({site["path"]: site["second"] for site in said["sites"]},
                          measured.outputs)
    predicted = {one["path"]: one["grad_second"] for one in said["parameters"]}
    if "encoder.embedding.weight" in predicted:  # one tensor of the module
        predicted["embedding.weight"] += predicted.pop("encoder.embedding.weight")
    row.gradients = compare(predicted, measured.gradients)
    row.not_zero = [path for path, values in measured.gradients.items()
                    if predicted.get(path) == 0 and max(values) > 0]
    return row


def body_of(model):
    """A model file without the line that says what it is from."""
    return model[model.index("[model]"):]


def check(name):
    row = measured_row(name)
    assert not row.refusal, f"{name}: {row.refusal}"
    few = len(row.gradients) < len(row.outputs) - 1 and name not in ZERO
    assert row.outputs and row.gradients and not few, f"{name}: little to compare"
    assert name not in ZERO or not row.not_zero, f"{name}: gradients of {row.not_zero} are not 0"
    assert row.exported == "both", f"{name}: strict exports are read as another model"
    (outputs, of_outputs), (gradients, of_gradients) = row.medians()
    same = "" if row.same is None else f"; config {row.same:.1e}"
    print(f"{name}: {len(row.outputs)} outputs, median {outputs:.1%} +- {of_outputs:.1%}; "
          f"{len(row.gradients)} gradients, median {gradients:.1%} +- {of_gradients:.1%}; "
          f"{len(row.far())} far{same}"
          + "".join(f"\n  {one[0]}: {one[1]:.3f} +- {one[2]:.3f}" for one in row.far()), flush=True)
    assert outputs <= OUTPUTS + 2 * of_outputs, f"{name}: outputs"
    assert gradients <= GRADIENTS + 2 * of_gradients, f"{name}: gradients"
    assert len(row.far()) <= SHARE * (len(row.outputs) + len(row.gradients)), (
        f"{name}: {len(row.far())} far figures")
    # The same double arithmetic, but for numbers that are written in their shortest form.
    assert row.same is None or row.same <= 1e-6, f"{name}: {row.same} beside its config"


def shortest(command, turns=20):
    """Milliseconds of the fastest of so many runs, by the clock and of processor time."""
    clock, processor = [], []
    for _ in range(turns):
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        clock.append(1e3 * (time.perf_counter() - begin))
        processor.append(1e3 * (used.ru_utime + used.ru_stime))
        assert child.returncode == 0, command
    return min(clock), min(processor)


def print_times():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gpt2-48", "llama-48"):
            path = str(pathlib.Path(folder) / f"{name}.pt2")
            make_graphs.export(name, path)
            for command in ("import", "propagate"):
                clock, processor = shortest([sys.argv[1], command, path])
                print(f"{command} {name}.pt2, {make_graphs.operations(path)} operations: "
                      f"{clock:.0f} ms, {processor:.0f} ms of processor time", flush=True)


def main():
    torch.set_num_threads(1)
    if "--time" in sys.argv[2:]:
        print_times()
        return
    if "--table" in sys.argv[2:]:
        for name in [one for one in sys.argv[2:] if one != "--table"] or NAMES:
            print(measured_row(name).text(), flush=True)
        return
    failures = []
    for name in sys.argv[2:] or NAMES:
        try:
            check(name)
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "; ".join(failures)


if __name__ == "__main__":
    main()
