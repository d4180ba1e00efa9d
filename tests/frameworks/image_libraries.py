"""Models of images of torchvision and timm, for real_models.py: drawn by their own code beside
`scalecalc propagate` of their configs (make_models.py has their keys).

ViTs read patches with half of their variance in common, and are judged by the class token; ConvNeXts
read standard normal pixels. Compared is what real_models.py compares. The head of torchvision's ViT
starts at zero: its own gradient is the only one.
"""
import importlib.util
import json
import math
import pathlib

import torch

from make_models import CLASSES, made
from real_images import IMAGES, SIDE, behind_blocks
from stream_moments import keep_behind, of_positions, of_tokens

WIDTH, PATCH, POSITIONS = 256, 8, 7  # patches of a row
STAGES = dict(dims=[32, 64, 128, 256], depths=[2, 2, 2, 2], num_classes=64)
SIZES = {
    "timm_vit": dict(img_size=PATCH * POSITIONS, patch_size=PATCH, depth=4, num_heads=4,
                     embed_dim=WIDTH, num_classes=128),
    "torchvision_vit": dict(image_size=PATCH * POSITIONS, patch_size=PATCH, num_layers=4, num_heads=4,
                            hidden_dim=WIDTH, mlp_dim=512, num_classes=128),
    "timm_convnext": STAGES,
    "torchvision_convnext": STAGES,
}
BLOCKS = {"timm_vit": "Block", "torchvision_vit": "EncoderBlock", "timm_convnext": "ConvNeXtBlock",
          "torchvision_convnext": "CNBlock"}


# Branches as large as the stream, so that samples differ by those that they lose.
DROPS = {"timm_convnext": dict(drop_path_rate=0.2, ls_init_value=1.0),
         "torchvision_convnext": dict(stochastic_depth_prob=0.2, layer_scale=1.0)}


def installed():
    every = list(SIZES) + [one + "+drop" for one in DROPS]
    return [one for one in every if importlib.util.find_spec(one.partition("_")[0])]


class LibraryModel:
    """What the program says of one of SIZES, TYPE+drop with branches that drop path takes; `asked`
    runs it."""
    two_stacks = False

    def __init__(self, asked, program, model_type, folder):
        self.type, self.explained = model_type, set()
        self.library, _, drops = model_type.partition("+")
        self.is_vit = self.library.endswith("_vit")
        self.sizes = dict(SIZES[self.library])
        if drops:
            self.sizes.update(DROPS[self.library])
        config = dict(self.sizes, model_type=self.library, architectures=CLASSES[self.library])
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        size = [] if self.is_vit else ["--sequence", str(SIDE * SIDE), "--batch", str(IMAGES)]
        self.predicted = asked(program, "propagate", str(path), *size)
        self.tensors = {}
        for row in asked(program, "init", str(path), "--names", "hf", *size)["parameters"]:
            self.tensors.setdefault(row["name"], []).append(row)
        for rows in self.tensors.values():
            rows.sort(key=lambda row: "qkv".find(row["role"]))

    def pixels(self, generator):
        if not self.is_vit:
            return torch.randn(IMAGES, 3, SIDE, SIDE, generator=generator)
        own = torch.randn(1, 3, PATCH * POSITIONS, PATCH * POSITIONS, generator=generator)
        common = torch.randn(1, 3, PATCH, PATCH, generator=generator)
        return (own + common.repeat(1, 1, POSITIONS, POSITIONS)) / math.sqrt(2)

    def paths(self):
        """Behind every block."""
        sites = self.predicted["sites"]
        if not self.is_vit:
            return behind_blocks(sites)
        known = {site["path"] for site in sites}
        return [path for i in range(len(known)) for path in [f"block[{i}].ffn"] if path in known]

    def run(self, seed, second, cross, gradients):
        model, _ = made(self.library, self.sizes, CLASSES[self.library][0], seed)
        model.train()
        # The first numbers of the same seed are in the patches' map.
        generator = torch.Generator().manual_seed(10**6 + seed)
        moments = of_tokens if self.is_vit else of_positions
        blocks = [one for one in model.modules() if type(one).__name__ == BLOCKS[self.library]]
        paths = self.paths()
        assert len(blocks) == len(paths), f"{len(blocks)} blocks, {len(paths)} sites behind one"
        for block, path in zip(blocks, paths):
            keep_behind(block, path, moments, second, cross)
        logits = model(self.pixels(generator))
        targets = torch.randint(logits.shape[-1], (len(logits),), generator=generator)
        torch.nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
        for name, parameter in model.named_parameters():
            rows = self.tensors.get(name, [])
            for row, part in zip(rows, parameter.grad.chunk(max(1, len(rows)))):
                gradients.add(row["path"], part.double().square().mean().item())
