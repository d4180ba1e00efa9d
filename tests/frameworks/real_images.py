"""Models of images that are lists of layers, for real_models.py: drawn by their own code, in
training mode (batch norms), beside `scalecalc propagate` of their configs.

Pixels are standard normal. Compared are the second moment of the
stream behind every block, the cosine between positions of one image, and the mean square of the
gradient of every tensor, by the names that `init` gives. TYPE+passes is held against passes of the
program's own description instead of its rules, TYPE+drop loses branches by drop path.
"""
import json
import pathlib

import torch
import transformers

from stream_moments import keep_behind, of_positions

SIDE, IMAGES = 64, 4
# Branches that are as large as the stream, whose samples then differ by those that they lose.
DROPS = {"convnext": dict(drop_path_rate=0.2, layer_scale_init_value=1.0)}
PASSES = 256  # seeds of our own passes, whose noise is a third of that of 32
CONFIGS = {
    "resnet": dict(embedding_size=64, hidden_sizes=[64, 128, 256], depths=[2, 2, 2],
                   layer_type="basic", num_labels=64),
    "convnext": dict(hidden_sizes=[64, 128, 256], depths=[2, 2, 2], num_stages=3, num_labels=64,
                     image_size=SIDE),
}
# What the rules are known to miss of batch norms.
MISSED = {"resnet": {"norm[0].shift"}}
BLOCKS = ("ResNetBasicLayer", "ResNetBottleNeckLayer", "ConvNextLayer")


def behind_blocks(sites):
    """Paths behind each residual, and behind the activation of the sum where there is one."""
    paths = []
    for site, following in zip(sites, sites[1:]):
        if site["kind"] == "residual":
            is_act = following["kind"] == "activation"
            paths.append((following if is_act else site)["path"])
    return paths


class ListModel:
    """What the program says of one of CONFIGS; `asked` runs it."""
    two_stacks = False

    def __init__(self, asked, program, model_type, folder):
        self.type, self.explained = model_type, MISSED.get(model_type, set())
        model_type, _, engine = model_type.partition("+")
        kind = transformers.CONFIG_MAPPING[model_type]
        drops = DROPS[model_type] if engine == "drop" else {}
        self.config = kind(**CONFIGS[model_type], **drops)
        self.made = transformers.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING[kind]
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(dict(self.config.to_dict(), architectures=[self.made.__name__])))
        size = ["--sequence", str(SIDE * SIDE), "--batch", str(IMAGES)]
        own = ["--engine", "passes", "--seeds", str(PASSES)] if engine == "passes" else []
        self.predicted = asked(program, "propagate", str(path), *size, *own)
        planned = asked(program, "init", str(path), "--names", "hf", *size)["parameters"]
        self.paths = {row["name"]: row["path"] for row in planned}

    def run(self, seed, second, cross, gradients):
        torch.manual_seed(seed)
        model = self.made(self.config).train()
        generator = torch.Generator().manual_seed(seed)
        blocks = [m for m in model.modules() if type(m).__name__ in BLOCKS]
        paths = behind_blocks(self.predicted["sites"])
        assert len(blocks) == len(paths), f"{len(blocks)} blocks, {len(paths)} residuals"
        for block, path in zip(blocks, paths):
            keep_behind(block, path, of_positions, second, cross)
        logits = model(torch.randn(IMAGES, 3, SIDE, SIDE, generator=generator)).logits
        targets = torch.randint(logits.shape[-1], (IMAGES,), generator=generator)
        torch.nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
        for name, parameter in model.named_parameters():
            gradients.add(self.paths[name], parameter.grad.double().square().mean().item())
