"""How far measured means over seeds are from what is predicted: the rows of real_models.py."""
import math
import re
import statistics

import torch

STREAM, MEDIAN, WORST, ERRORS = 0.03, 0.05, 0.15, 3
# Times as many seeds, where few have all of what is rare, tokens that go to an expert, or where one
# token of each image alone has a gradient.
MORE_SEEDS = {"mixtral": 2, "t5": 2, "t5+gated": 2, "qwen3_moe": 8, "olmo2": 8, "qwen2_moe": 10,
              "dinov2": 8, "vit": 4, "timm_vit": 4, "clip_text_model": 4, "siglip_text_model": 4}
RESAMPLED = 200
# Why a row has figures outside, in docs/guide/configs.md.
CAUSES = {"qwen3": "overlaps of normed keys", "siglip_text_model": "words", "resnet": "batch norms"}


class Measured:
    """One list of values over the seeds for each path."""

    def __init__(self):
        self.values = {}

    def add(self, path, value):
        self.values.setdefault(path, []).append(value)

    def deviation(self, path, predicted):
        """Relative, and in standard errors."""
        values = self.values[path]
        mean = statistics.fmean(values)
        error = statistics.stdev(values) / math.sqrt(len(values))
        return mean / predicted - 1, (mean - predicted) / error if error > 0 else 0.0


def noise_of(values, seeds):
    """Of the median deviation of exact predictions, what so many seeds leave: over resampled seeds, as
    gradients of one seed move together."""
    rows = [path for path in values.values() if len(path) == seeds and any(path)]
    if not rows:
        return 0.0
    rows = torch.tensor(rows, dtype=torch.double)
    means = rows.mean(1)
    generator = torch.Generator().manual_seed(0)
    medians = []
    for _ in range(RESAMPLED):
        drawn = torch.randint(seeds, (seeds,), generator=generator)
        medians.append((rows[:, drawn].mean(1) / means - 1).abs().median().item())
    return statistics.median(medians)


class Row:
    """One architecture beside its predictions."""

    def __init__(self, model, seeds):
        seeds *= MORE_SEEDS.get(model.type, 1)
        second, cross, gradients = Measured(), Measured(), Measured()
        for seed in range(seeds):
            model.run(seed, second, cross, gradients)
        self.type, self.explained = model.type, model.explained
        sites = {site["path"]: site for site in model.predicted["sites"]}
        self.stream = {path: second.deviation(path, sites[path]["second"])
                       for path in second.values}
        self.cosine = {}
        for path in cross.values:
            found = statistics.fmean(cross.values[path]) / statistics.fmean(second.values[path])
            self.cosine[path] = found - sites[path]["cosine"]
        predicted = {p["path"]: p["grad_second"] for p in model.predicted["parameters"]}
        if "encoder.embedding.weight" in predicted:
            predicted["embedding.weight"] += predicted.pop("encoder.embedding.weight")
        self.gradients = {path: gradients.deviation(path, predicted[path])
                          for path in gradients.values if predicted.get(path)}
        self.unmeasured = sorted(set(predicted) - set(gradients.values))
        self.noise = noise_of(gradients.values, seeds)

    def worst(self, values):
        return max((abs(value[0]) for value in values.values()), default=0.0)

    def median(self):
        return statistics.median(abs(value[0]) for value in self.gradients.values())

    def outside(self):
        kinds = {}
        for path, (deviation, errors) in self.gradients.items():
            if abs(deviation) > WORST and abs(errors) > ERRORS:
                kind = re.sub(r"^.*block\[\d+\]\.|^repeat\[\d+\]\[\d+\]\.", "", path)
                kinds[kind] = max(kinds.get(kind, 0.0), deviation, key=abs)
        return kinds

    def figures(self):
        """(all, outside): second moments of the stream by more than 3% and 3 standard errors, gradients
        by more than 15% and as many, and the median of the gradients by more than 5%."""
        stream = sum(abs(value) > STREAM and abs(errors) > ERRORS
                     for value, errors in self.stream.values())
        far = sum(abs(value) > WORST and abs(errors) > ERRORS
                  for value, errors in self.gradients.values())
        return len(self.stream) + len(self.gradients) + 1, stream + far + (self.median() > MEDIAN)

    def text(self):
        outside = ", ".join(f"{kind} {100 * value:+.0f}%" for kind, value in self.outside().items())
        cosine = max(self.cosine.values(), key=abs)
        count, beyond = self.figures()
        cause = f"{CAUSES[self.type]}: " if beyond and self.type in CAUSES else ""
        return (f"| {self.type} | {100 * self.worst(self.stream):.1f}% | {cosine:+.3f} | "
                f"{100 * self.median():.1f}% ({100 * self.noise:.1f}%) | "
                f"{100 * self.worst(self.gradients):.0f}% | {beyond} of {count} | {cause}{outside} |")

    def passes(self):
        is_off = any(abs(deviation) > STREAM and abs(errors) > ERRORS
                     for deviation, errors in self.stream.values())
        return not is_off and self.median() <= MEDIAN and not set(self.outside()) - self.explained
