"""The generated Keras module, run unmodified on a real Keras model."""
import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from keras import layers, ops  # noqa: E402

import predictions as p  # noqa: E402

WIDTH, HEADS, FFN, CLASSES, TOKENS, BLOCKS = 128, 4, 256, 64, 16, 4


class Attention(layers.Layer):
    def __init__(self):
        super().__init__(name="attn")
        self.norm = layers.LayerNormalization(epsilon=1e-5, name="norm")
        self.q, self.k, self.v, self.o = (layers.Dense(WIDTH, name=n) for n in "qkvo")

    def call(self, x):
        y = self.norm(x)
        q, k, v = (ops.reshape(f(y), (TOKENS, HEADS, -1)) for f in (self.q, self.k, self.v))
        scores = ops.einsum("thd,shd->hts", q, k) / (WIDTH // HEADS)**0.5
        mix = ops.reshape(ops.einsum("hts,shd->thd", ops.softmax(scores), v), (TOKENS, WIDTH))
        return x + self.o(mix)


class FeedForward(layers.Layer):
    def __init__(self):
        super().__init__(name="ffn")
        self.norm = layers.LayerNormalization(epsilon=1e-5, name="norm")
        self.first, self.out = layers.Dense(FFN, name="in"), layers.Dense(WIDTH, name="out")

    def call(self, x):
        return x + self.out(ops.gelu(self.first(self.norm(x)), approximate=False))


class Block(layers.Layer):
    def __init__(self, index):
        super().__init__(name=f"block_{index}")
        self.attn, self.ffn = Attention(), FeedForward()

    def call(self, x):
        attention = self.attn(x)
        return attention, self.ffn(attention)


class Transformer(keras.Model):
    def __init__(self):
        super().__init__(name="outer_model")
        self.blocks = [Block(i) for i in range(BLOCKS)]
        self.final_norm = layers.LayerNormalization(epsilon=1e-5, name="final_norm")
        self.head = layers.Dense(CLASSES, use_bias=False, name="head")

    def call(self, x):
        sites = {}
        for i, block in enumerate(self.blocks):
            sites[f"block[{i}].attn"], x = block(x)
            sites[f"block[{i}].ffn"] = x
        sites["head"] = self.head(self.final_norm(x))
        return sites


def tokens(seed):
    draws = numpy.random.default_rng(seed)
    own, common = draws.standard_normal((TOKENS, WIDTH)), draws.standard_normal((1, WIDTH))
    return torch.tensor(0.1**0.5 * common + 0.9**0.5 * own, dtype=torch.float32)


def transferred(optimizer, *options):
    """The module of a transferred model, and by path what `transfer` says of each parameter."""
    sizes = ("--from", f"width={WIDTH // 4}", "--to", f"width={WIDTH}")
    module = p.generated("pre", "keras", "--transfer-from", f"width={WIDTH // 4}", "--optimizer",
                         optimizer, *options)
    answer = p.results("transfer", "pre", *sizes, "--optimizer", optimizer, "--all", *options)
    return module, {one["path"]: one for one in answer["parameters"]}


def moves(module, network, gradients, *arguments, **numbers):
    """By path: each weight before a first step of the module's optimizer, and what it moves by."""
    module.initialize(network, seed=1, strict=True)
    before = [ops.convert_to_numpy(v) + 0.0 for v in network.trainable_variables]
    made = module.make_optimizer(network, *arguments, **numbers)
    made.apply([torch.tensor(g) for g in gradients], network.trainable_variables)
    names = p.plan("pre", "keras")
    return {names[module._match(v.path)[0]][0]["path"]: (old, ops.convert_to_numpy(v) - old, gradient)
            for v, old, gradient in zip(network.trainable_variables, before, gradients)}


def check_adamw(path, one, moved, lr, decay, eps):
    """AdamW by hand, each multiplier taken into theta. Keras puts eps beside its biased average of
    the square, which for a first step is sqrt(1 - 0.999) of it."""
    old, move, gradient = moved
    factor = {key: one[key]["factor"] for key in ("multiplier", "lr", "decay", "eps")}
    own_lr = lr * factor["lr"] * factor["multiplier"]
    own_decay = decay * factor["decay"] / factor["multiplier"]
    own_eps = eps * factor["eps"] / factor["multiplier"]
    wanted = -own_lr * (gradient / (abs(gradient) + own_eps / (1 - 0.999)**0.5) + own_decay * old)
    # Single precision: 1 - 0.999 of the average's weight, some ten roundings, and one of theta.
    scale = own_lr * (1 + own_decay * abs(old).max())
    bound = (10 + 1 / (1 - 0.999)) * 2**-24 * scale + 2**-23 * abs(old).max()
    off = abs(move - wanted).max()
    assert off <= bound, (path, off, bound)


def check_optimizer():
    """A first step of the optimizer that the module makes, beside the numbers of `transfer`."""
    network = Transformer()
    network(tokens(0))
    draws = numpy.random.default_rng(3)
    gradients = [1e-3 * draws.standard_normal(v.shape).astype("float32")
                 for v in network.trainable_variables]
    lr, decay, eps = 3e-3, 0.1, 1e-4
    module, planned = transferred("adamw")
    schedule = keras.optimizers.schedules.ExponentialDecay(lr, 10, 0.5)
    for rate in (lr, schedule):
        found = moves(module, network, gradients, keras.optimizers.AdamW, rate, weight_decay=decay,
                      eps=eps)
        for path, moved in found.items():
            check_adamw(path, planned[path], moved, lr, decay, eps)

    module, planned = transferred("muon+adamw", "--muon-scale", "match_rms")
    steps = {rule.step.rule for rule in module.RULES}
    assert steps == {"muon", "adamw"}, steps
    numbers = {"weight_decay": {"muon": 0.0, "adamw": decay}, "eps": eps}
    one, half = (moves(module, network, gradients, keras.optimizers.Muon,
                       {"muon": muon, "adamw": lr}, **numbers) for muon in (0.02, 0.01))
    rules = {path: part for v in network.trainable_variables
             for path, part in [(p.plan("pre", "keras")[module._match(v.path)[0]][0]["path"],
                                 module._match(v.path)[1][1].step.rule)]}
    for path, moved in one.items():
        if rules[path] == "adamw":
            check_adamw(path, planned[path], moved, lr, decay, eps)
        else:  # an orthogonal step has no size of its own but the rate, of two singular values near 1
            old, move, _ = moved
            off = abs(move - 2 * half[path][1]).max()
            assert off <= 2**-22 * abs(old).max(), (path, off)
            factor = planned[path]["lr"]["factor"] * planned[path]["multiplier"]["factor"]
            # Keras' Newton-Schulz leaves singular values within 0.3 of 1 (its own coefficients).
            size = (move**2).mean()**0.5 / (0.02 * factor * 0.2)
            assert 0.6 < size < 1.4, (path, size)

    network.head.trainable = False
    for wrong in ("head", None):
        if wrong is None:
            network = keras.Sequential([layers.Input((4,)), layers.Dense(4, name="other")])
        try:
            module.make_optimizer(network, keras.optimizers.AdamW, lr)
        except ValueError as error:
            assert (wrong or "other") in str(error), error
        else:
            raise AssertionError("a model with other weights was accepted")


def main():
    check_optimizer()
    module = p.generated("pre", "keras")
    planned = p.plan("pre", "keras")
    network = Transformer()
    network(tokens(0))
    sites, gradients = {}, {}
    for seed in range(p.SEEDS):
        report = module.initialize(network, seed=seed, strict=True)
        assert not report.unmatched and not report.missing, str(report)
        if seed == 0:
            for variable in network.trainable_variables:
                stem = module._match(variable.path)[0]
                p.check_tensor(stem, ops.convert_to_numpy(variable), planned[stem], -1)
        network.zero_grad()
        values = network(tokens(seed))
        targets = torch.randint(CLASSES, (TOKENS,), generator=torch.Generator().manual_seed(seed))
        torch.nn.functional.cross_entropy(values["head"], targets, reduction="sum").backward()
        for path, value in values.items():
            sites.setdefault(path, []).append(float(value.detach().square().mean()))
        for variable in network.trainable_variables:
            if variable.path.endswith("kernel"):
                path = planned[module._match(variable.path)[0]][0]["path"]
                gradients.setdefault(path, []).append(float(variable.value.grad.square().mean()))
    p.check_passes("pre", sites, gradients)

    name = "block_0/ffn/in/kernel"
    dense = layers.Dense(FFN, kernel_initializer=module.initializer(name, seed=5))
    dense.build((1, WIDTH))
    p.check_tensor(name, ops.convert_to_numpy(dense.kernel), planned[name], -1)
    for start in ("deepnorm", "encoder", "mlp"):
        for stem, parts in p.plan(start, "keras").items():
            values = p.generated(start, "keras").initializer(stem)(
                tuple(int(n) for n in parts[0]["shape"].split("x")))
            p.check_tensor(stem, ops.convert_to_numpy(values), parts, -1)
    print(f"Keras {keras.__version__} on {keras.backend.backend()}: all as planned")


if __name__ == "__main__":
    sys.exit(main())
