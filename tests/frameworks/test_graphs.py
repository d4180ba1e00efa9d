"""Modules as users write them, and models of transformers, exported with torch.export: what
`propagate FILE.pt2` says of their layers' outputs and of their gradients, beside SEEDS draws of the
modules themselves.
usage: test_graphs.py PROGRAM [NAME...]"""
import json
import math
import pathlib
import statistics
import sys
import tempfile

import torch

import predictions as p

sys.path.insert(0, str(p.FOLDER.parent / "graphs"))
import make_graphs  # noqa: E402

SEEDS = 32
# What is asked of a model: medians of outputs and of gradients, and figures that are beyond both
# three standard errors and 15%.
OUTPUTS, GRADIENTS, FAR, SHARE = 0.03, 0.05, 0.15, 1 / 20
NAMES = ("mlp", "residual-mlp", "convnet", "gpt", "written-out", "einsum", "encoder",
         "gpt2", "llama", "bert", "vit", "resnet")

IMAGES = ("convnet", "resnet")  # with batch norms


def inputs_like(example, vocab=64):
    if example.dtype == torch.long:
        return torch.randint(1, vocab, example.shape)
    return torch.randn(example.shape)


class Measured:
    """Second moments by path, one a seed."""

    def __init__(self, rows):
        self.outputs, self.gradients = {}, {}
        self.paths = {}
        for row in rows:
            self.paths.setdefault(row["name"], []).append(row)

    def site_of(self, module_name):
        """The site that a module's output is, where its weight is one parameter."""
        rows = self.paths.get(module_name + ".weight", [])
        if len(rows) != 1:
            return None
        path = rows[0]["path"]
        return path.rsplit(".", 1)[0] if path.endswith((".weight", ".gain")) else None

    def run(self, model, example):
        def hook(site):
            def keep(_, __, output):
                self.outputs.setdefault(site, []).append(output.detach().pow(2).mean().item())
            return keep

        # The site of an embedding has its positions; a tied head has its matrix.
        handles = [module.register_forward_hook(hook(self.site_of(name)))
                   for name, module in model.named_modules()
                   if self.site_of(name) not in (None, "embedding")]
        output = model(inputs_like(example))
        logits = getattr(output, "logits", output)
        logits = logits.reshape(-1, logits.shape[-1])
        targets = torch.randint(0, logits.shape[-1], logits.shape[:1])
        torch.nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
        for handle in handles:
            handle.remove()
        for name, parameter in model.named_parameters():
            self.add_gradient(name, parameter.grad)

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


def check_config(config, graph, example):
    """The list of layers of config.json is that of the graph. Behind a batch norm the stds of
    weights, which a graph has from one draw, count by eps over a variance alone: 1e-3 is far above
    that."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config.to_dict()))
        size = ["--batch", str(example.shape[0]), "--sequence", str(example.shape[-1] ** 2)]
        rows = [json.loads(p.program("propagate", model, "--format", "json", *options))["results"]
                for model, options in ((graph, []), (str(path), size))]
    assert ([row["path"] for row in rows[0]["parameters"]]
            == [row["path"] for row in rows[1]["parameters"]]), "parameters differ"
    for one, other in zip(rows[0]["sites"], rows[1]["sites"]):
        assert one["path"] == other["path"], f"{one['path']} is {other['path']} of the config"
        if one["kind"] in ("norm", "activation", "residual", "max_pool"):
            ratio = one["second"] / other["second"]
            assert abs(ratio - 1) < 1e-3, f"{one['path']}: {ratio:.4f} of the config's"


def check(name):
    draw, inputs = make_graphs.networks()[name]
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / f"{name}.pt2")
        make_graphs.export(name, path)
        # The rule of batch norms leaves out what their gradients share in a small image: what is
        # read from a graph is held against passes of the same model.
        engine = ["--engine", "passes", "--seeds", str(16 * SEEDS)] if name in IMAGES else []
        said = json.loads(p.program("propagate", path, "--format", "json", *engine))["results"]
        rows = json.loads(p.program("init", path, "--format", "json"))["results"]["parameters"]
        if name == "resnet":
            check_config(draw().config, path, inputs[0])
    measured = Measured(rows)
    torch.manual_seed(0)  # as make_graphs.export() draws it
    first = draw()
    for seed in range(1, SEEDS + 1):
        torch.manual_seed(seed)
        model = as_large_as(draw(), first)
        # Batch norms are those of training, and nothing is dropped.
        model.train(name in IMAGES)
        measured.run(model, inputs[0])
    outputs = compare({site["path"]: site["second"] for site in said["sites"]}, measured.outputs)
    gradients = compare({row["path"]: row["grad_second"] for row in said["parameters"]},
                        measured.gradients)
    assert outputs and len(gradients) >= len(outputs) - 1, f"{name}: little to compare"
    far = [row for row in outputs + gradients if abs(row[1] - 1) > max(FAR, 3 * row[2])]
    medians = [statistics.median(abs(row[1] - 1) for row in rows) for rows in (outputs, gradients)]
    # Figures of one seed move together, so that their median is as uncertain as one of them.
    errors = [statistics.median(row[2] for row in rows) for rows in (outputs, gradients)]
    print(f"{name}: {len(outputs)} outputs, median {medians[0]:.1%} +- {errors[0]:.1%}; "
          f"{len(gradients)} gradients, median {medians[1]:.1%} +- {errors[1]:.1%}; {len(far)} far"
          + "".join(f"\n  {row[0]}: {row[1]:.3f} +- {row[2]:.3f}" for row in far))
    assert medians[0] <= OUTPUTS + 2 * errors[0], f"{name}: outputs"
    assert medians[1] <= GRADIENTS + 2 * errors[1], f"{name}: gradients"
    assert len(far) <= SHARE * (len(outputs) + len(gradients)), f"{name}: {len(far)} far figures"


def main():
    torch.set_num_threads(1)
    failures = []
    for name in sys.argv[2:] or NAMES:
        try:
            check(name)
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "; ".join(failures)


if __name__ == "__main__":
    main()
