"""The generated PyTorch modules, run unmodified on real modules."""
import math
import re
import sys

import numpy
import torch
from torch import nn

import predictions as p

WIDTH, HEADS, FFN, CLASSES, TOKENS, BLOCKS = 128, 4, 256, 64, 16, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).view(TOKENS, HEADS, -1).transpose(0, 1) for f in (self.q, self.k, self.v))
        mix = nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
        return self.o(mix.transpose(0, 1).reshape(TOKENS, WIDTH))


class FeedForward(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.add_module("in", nn.Linear(WIDTH, FFN))
        self.out = nn.Linear(FFN, WIDTH)
        self.activation = activation

    def forward(self, x):
        return self.out(self.activation(getattr(self, "in")(x)))


class Block(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.attn, self.ffn = Attention(), FeedForward(activation)


class Transformer(nn.Module):
    """Names as the program's own paths."""

    def __init__(self, is_post, alpha, activation, blocks=BLOCKS):
        super().__init__()
        self.is_post, self.alpha = is_post, alpha
        self.block = nn.ModuleList(Block(activation) for _ in range(blocks))
        self.head = nn.Linear(WIDTH, CLASSES, bias=False)
        if is_post:
            self.input = nn.ModuleDict({"norm": nn.LayerNorm(WIDTH)})
        else:
            self.final_norm = nn.LayerNorm(WIDTH)

    def forward(self, x, sites):
        if self.is_post:
            x = self.input["norm"](x)
        for i, block in enumerate(self.block):
            for name, branch in (("attn", block.attn), ("ffn", block.ffn)):
                if self.is_post:
                    x = branch.norm(self.alpha * x + branch(x))
                else:
                    x = self.alpha * x + branch(branch.norm(x))
                sites[f"block[{i}].{name}"] = x
        if not self.is_post:
            x = self.final_norm(x)
        sites["head"] = self.head(x)
        return sites["head"]


class Mlp(nn.Module):
    def __init__(self, layers=6):
        super().__init__()
        self.layer = nn.ModuleList(
            nn.ModuleDict({"linear": nn.Linear(WIDTH, WIDTH, bias=False)}) for _ in range(layers))
        self.head = nn.Linear(WIDTH, CLASSES, bias=False)

    def forward(self, x, sites):
        for i, layer in enumerate(self.layer):
            x = torch.tanh(layer["linear"](x))
            sites[f"layer[{i}].act"] = x
        sites["head"] = self.head(x)
        return sites["head"]


class Encoder(nn.Module):
    """torch.nn.TransformerEncoder between an input norm and a head."""

    def __init__(self):
        super().__init__()
        self.input_norm = nn.LayerNorm(WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FFN, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES, bias=False)

    def forward(self, x, sites):
        x = self.input_norm(x)[None]
        for i, layer in enumerate(self.encoder.layers):
            x = layer(x)
            sites[f"block[{i}].ffn"] = x[0]
        sites["head"] = self.head(x[0])
        return sites["head"]


def tokens(count, cross, seed):
    """Gaussian tokens of second moment 1 and this cross moment."""
    draws = numpy.random.default_rng(seed)
    own, common = draws.standard_normal((count, WIDTH)), draws.standard_normal((1, WIDTH))
    return torch.tensor(cross**0.5 * common + (1 - cross)**0.5 * own, dtype=torch.float32)


def run(name, network, naming, path_of, count=TOKENS, cross=0.1):
    module = p.generated(name, "pytorch", "--names", naming)
    planned = p.plan(name, naming)

    def planned_name(full):
        return next(bare for bare in module._names(full) if bare in planned)

    sites, gradients = {}, {}
    for seed in range(p.SEEDS):
        report = module.initialize_(network, torch.Generator().manual_seed(seed), strict=True)
        assert not report.unmatched and not report.missing, str(report)
        if seed == 0:
            for full, parameter in network.named_parameters():
                p.check_tensor(full, parameter.detach().numpy(), planned[planned_name(full)], 0)
        network.zero_grad()
        values = {}
        logits = network(tokens(count, cross, seed), values)
        targets = torch.randint(CLASSES, (count,), generator=torch.Generator().manual_seed(seed))
        nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
        for path, value in values.items():
            sites.setdefault(path, []).append(float(value.detach().square().mean()))
        for full, parameter in network.named_parameters():
            for path, gradient in path_of(planned_name(full), parameter.grad, planned):
                gradients.setdefault(path, []).append(float(gradient.square().mean()))
    p.check_passes(name, sites, gradients)


def matrices(stem, gradient, planned):
    """(path, gradient) of each matrix that a tensor holds."""
    parts = planned[stem]
    if gradient.dim() == 1:
        return []
    return zip((part["path"] for part in parts), gradient.chunk(len(parts)))


def check_refusals():
    module = p.generated("mlp", "pytorch", "--seedless")
    assert module.SEED is None
    report = module.initialize_(nn.Linear(3, 3))
    assert report.unmatched == ["weight", "bias"] and "head.weight" in report.missing, str(report)
    wrong = Mlp()
    wrong.head = nn.Linear(WIDTH, 3, bias=False)
    try:
        module.initialize_(wrong)
    except ValueError as error:
        assert "head.weight" in str(error)
    else:
        raise AssertionError("a wrong shape was accepted")
    half = Mlp().to(torch.bfloat16)
    module.initialize_(half, strict=True)
    assert half.head.weight.dtype == torch.bfloat16
    first, second = Mlp(), Mlp()
    seeded = p.generated("mlp", "pytorch", "--seed", "7")
    seeded.initialize_(first), seeded.initialize_(second)
    assert torch.equal(first.head.weight, second.head.weight), "a seed gives two networks"


def refused(module, network):
    """What strict says of it."""
    try:
        module.initialize_(network, strict=True)
    except ValueError as error:
        return str(error)
    raise AssertionError("a network that is not set as a whole was accepted")


def check_strict():
    """Every parameter that is trained must be set, and every rule find its parameters."""
    module = p.generated("mlp", "pytorch")
    more = Mlp()
    more.extra = nn.Linear(2, 2)
    assert "not matched: extra.weight, extra.bias" in refused(module, more)
    more.extra.requires_grad_(False)
    module.initialize_(more, strict=True)
    module = p.generated("pre", "pytorch")
    for blocks in (BLOCKS - 1, BLOCKS + 1):
        network = Transformer(False, 1.0, nn.functional.gelu, blocks)
        found = f"block.{{i}}.attn.q.weight ({blocks}, planned {BLOCKS})"
        assert found in refused(module, network)
    # T5's other stack is known by name, and is not part of the plan.
    module = p.generated("pre", "pytorch", "--names", "hf-t5")
    other = nn.Module()
    other.decoder = nn.Linear(3, 3)
    assert "left alone: decoder.weight" in refused(module, other)


def check_prefixes():
    """A name counts as it is, and without what wrappers put in front of it."""
    module = p.generated("named", "pytorch", "--names", "hf-llama")
    whole = nn.Module()
    whole.model = Mlp()
    for network in (whole, nn.ModuleDict({"module": whole})):
        module.initialize_(network, strict=True)


def check_groups():
    """Groups of parameters from a base a quarter as wide: each parameter in one, with the numbers
    that `transfer` has, its multiplier taken into theta (of adam's rule: lr * multiplier)."""
    module = p.generated("pre", "pytorch", "--transfer-from", f"width={WIDTH // 4}",
                         "--optimizer", "adamw")
    network = Transformer(False, 1.0, nn.functional.gelu)
    module.initialize_(network, strict=True)
    groups = module.param_groups(network, 3e-3, weight_decay=0.1, eps=1e-6)
    answer = p.results("transfer", "pre", "--from", f"width={WIDTH // 4}", "--to", f"width={WIDTH}",
                       "--optimizer", "adamw", "--all")
    planned = {one["path"]: one for one in answer["parameters"]}
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    seen = set()
    for group in groups:
        for parameter in group["params"]:
            path = names[id(parameter)]
            seen.add(path)
            path = re.sub(r"\.(\d+)\.", r"[\1].", path)
            path = path.replace("norm.weight", "norm.gain").replace("norm.bias", "norm.shift")
            factor = {key: planned[path][key]["factor"]
                      for key in ("multiplier", "lr", "decay", "eps")}
            expected = {"lr": 3e-3 * factor["lr"] * factor["multiplier"],
                        "weight_decay": 0.1 * factor["decay"] / factor["multiplier"],
                        "eps": 1e-6 * factor["eps"] / factor["multiplier"]}
            for key, value in expected.items():
                assert math.isclose(group[key], value, rel_tol=1e-12), (path, key, group[key], value)
    assert seen == set(names.values()), set(names.values()) - seen
    before = [parameter.clone() for parameter in network.parameters()]
    optimizer = torch.optim.AdamW(groups)
    network(torch.randn(TOKENS, WIDTH), {}).square().sum().backward()
    optimizer.step()
    assert not any(map(torch.equal, before, network.parameters()))
    network.extra = nn.Linear(2, 2)
    try:
        module.param_groups(network, 1e-3)
    except ValueError as error:
        assert "extra.weight" in str(error)
    else:
        raise AssertionError("a parameter without a rule was accepted")


def check_mixture():
    """Muon steps the hidden matrices and AdamW all else, each in groups of its own."""
    module = p.generated("pre", "pytorch", "--transfer-from", f"width={WIDTH // 4}",
                         "--optimizer", "muon+adamw", "--muon-scale", "shape")
    network = Transformer(False, 1.0, nn.functional.gelu)
    module.initialize_(network, strict=True)
    hidden = {name for name, parameter in network.named_parameters()
              if parameter.ndim == 2 and not name.startswith("head")}
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    before = {name: parameter.clone() for name, parameter in network.named_parameters()}
    muon = torch.optim.Muon(module.param_groups(network, 2e-2, rule="muon"))
    adamw = torch.optim.AdamW(module.param_groups(network, 1e-3, rule="adamw"))
    network(torch.randn(TOKENS, WIDTH), {}).square().sum().backward()
    for optimizer, own in ((muon, hidden), (adamw, set(before) - hidden)):
        assert {names[id(one)] for group in optimizer.param_groups for one in group["params"]} == own
        unmoved = {name for name, parameter in network.named_parameters()
                   if torch.equal(before[name], parameter)}
        optimizer.step()
        for name in own:
            assert name in unmoved
            assert not torch.equal(before[name], network.get_parameter(name)), name
    for rule in (None, "sgd"):
        try:
            module.param_groups(network, 1e-3, rule=rule)
        except ValueError as error:
            assert "adamw and muon" in str(error)
        else:
            raise AssertionError(f"groups of {rule} were given")


def main():
    torch.set_num_threads(1)
    run("pre", Transformer(False, 1.0, nn.functional.gelu), "torch", matrices)
    run("deepnorm", Transformer(True, p.scale("deepnorm", "skip"), nn.functional.relu), "torch",
        matrices)
    run("encoder", Encoder(), "torch-encoder", matrices)
    run("mlp", Mlp(), "torch", matrices, count=8, cross=0.2)
    check_refusals()
    check_strict()
    check_prefixes()
    check_groups()
    check_mixture()
    print(f"PyTorch {torch.__version__}: all as planned")


if __name__ == "__main__":
    sys.exit(main())
