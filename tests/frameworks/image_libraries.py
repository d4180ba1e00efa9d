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
from real_images import moments as moments_of_images

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


def installed():
    return [one for one in SIZES if importlib.util.find_spec(one.partition("_")[0])]


def moments_of_tokens(stream):
    """Second moment, and cross moment of two tokens."""
    tokens, width = stream.shape[-2:]
    x = stream.detach().double().reshape(tokens, width)
    square = x.square().sum().item()
    cross = x.sum(0).square().sum().item() - square
    return square / (tokens * width), cross / (tokens * (tokens - 1) * width)


class LibraryModel:
    """What the program says of one of SIZES; `asked` runs it."""
    two_stacks = False

    def __init__(self, asked, program, model_type, folder):
        self.type, self.explained = model_type, set()
        self.is_vit = model_type.endswith("_vit")
        config = dict(SIZES[model_type], model_type=model_type, architectures=CLASSES[model_type])
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
        model, _ = made(self.type, SIZES[self.type], CLASSES[self.type][0], seed)
        model.train()
        # The first numbers of the same seed are in the patches' map.
        generator = torch.Generator().manual_seed(10**6 + seed)
        moments = moments_of_tokens if self.is_vit else moments_of_images

        def keep(path):
            def hook(_module, _arguments, output):
                values = moments(output)
                second.add(path, values[0])
                cross.add(path, values[1])
            return hook

        blocks = [one for one in model.modules() if type(one).__name__ == BLOCKS[self.type]]
        paths = self.paths()
        assert len(blocks) == len(paths), f"{len(blocks)} blocks, {len(paths)} sites behind one"
        for block, path in zip(blocks, paths):
            block.register_forward_hook(keep(path))
        logits = model(self.pixels(generator))
        targets = torch.randint(logits.shape[-1], (len(logits),), generator=generator)
        torch.nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
        for name, parameter in model.named_parameters():
            rows = self.tensors.get(name, [])
            for row, part in zip(rows, parameter.grad.chunk(max(1, len(rows)))):
                gradients.add(row["path"], part.double().square().mean().item())
