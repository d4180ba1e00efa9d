"""The generated Flax module, run unmodified on real Flax modules."""
import sys

import flax
import jax
import jax.numpy as jnp
import numpy
import optax
from flax import linen as nn

import predictions as p

WIDTH, HEADS, FFN, CLASSES, TOKENS, BLOCKS = 128, 4, 256, 64, 16, 4


class Attention(nn.Module):
    is_post: bool
    alpha: float

    @nn.compact
    def __call__(self, x):
        norm = nn.LayerNorm(epsilon=1e-5, name="norm")
        y = x if self.is_post else norm(x)
        q, k, v = (nn.Dense(WIDTH, name=n)(y).reshape(TOKENS, HEADS, -1) for n in "qkv")
        scores = jnp.einsum("thd,shd->hts", q, k) / jnp.sqrt(q.shape[-1])
        mix = jnp.einsum("hts,shd->thd", jax.nn.softmax(scores), v).reshape(TOKENS, WIDTH)
        x = self.alpha * x + nn.Dense(WIDTH, name="o")(mix)
        return norm(x) if self.is_post else x


class FeedForward(nn.Module):
    is_post: bool
    alpha: float

    @nn.compact
    def __call__(self, x):
        norm = nn.LayerNorm(epsilon=1e-5, name="norm")
        y = nn.Dense(FFN, name="in")(x if self.is_post else norm(x))
        y = jax.nn.relu(y) if self.is_post else jax.nn.gelu(y, approximate=False)
        x = self.alpha * x + nn.Dense(WIDTH, name="out")(y)
        return norm(x) if self.is_post else x


class Block(nn.Module):
    is_post: bool
    alpha: float

    @nn.compact
    def __call__(self, x):
        attention = Attention(self.is_post, self.alpha, name="attn")(x)
        return attention, FeedForward(self.is_post, self.alpha, name="ffn")(attention)


class Input(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.LayerNorm(epsilon=1e-5, name="norm")(x)


class Transformer(nn.Module):
    is_post: bool
    alpha: float

    @nn.compact
    def __call__(self, x):
        sites = {}
        if self.is_post:
            x = Input(name="input")(x)
        for i in range(BLOCKS):
            sites[f"block[{i}].attn"], x = Block(self.is_post, self.alpha, name=f"block_{i}")(x)
            sites[f"block[{i}].ffn"] = x
        if not self.is_post:
            x = nn.LayerNorm(epsilon=1e-5, name="final_norm")(x)
        sites["head"] = nn.Dense(CLASSES, use_bias=False, name="head")(x)
        return sites["head"], sites


def tokens(seed):
    draws = numpy.random.default_rng(seed)
    own, common = draws.standard_normal((TOKENS, WIDTH)), draws.standard_normal((1, WIDTH))
    return jnp.asarray(0.1**0.5 * common + 0.9**0.5 * own, jnp.float32)


def leaves(tree):
    return {"/".join(str(key.key) for key in path): leaf
            for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]}


def run(name, is_post):
    module = p.generated(name, "flax")
    planned = p.plan(name, "flax")
    network = Transformer(is_post, p.scale(name, "skip"))
    empty = network.init(jax.random.PRNGKey(0), tokens(0))["params"]

    @jax.jit
    def measure(params, x, targets):
        def loss(params):
            logits, sites = network.apply({"params": params}, x)
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], 1)
            return -chosen.sum(), {path: jnp.mean(value**2) for path, value in sites.items()}

        gradients, seconds = jax.grad(loss, has_aux=True)(params)
        return seconds, jax.tree_util.tree_map(lambda g: jnp.mean(g**2), gradients)

    sites, parameters = {}, {}
    for seed in range(p.SEEDS):
        params, report = module.initialize(empty, jax.random.PRNGKey(seed), strict=True)
        assert not report.unmatched and not report.missing, str(report)
        if seed == 0:
            for full, leaf in leaves(params).items():
                p.check_tensor(full, numpy.asarray(leaf), planned[full], -1)
        targets = jnp.asarray(numpy.random.default_rng(1000 + seed).integers(CLASSES, size=TOKENS))
        seconds, gradients = measure(params, tokens(seed), targets)
        for path, value in seconds.items():
            sites.setdefault(path, []).append(float(value))
        for full, value in leaves(gradients).items():
            if full.endswith("kernel"):
                parameters.setdefault(planned[full][0]["path"], []).append(float(value))
    p.check_passes(name, sites, parameters)


def check_initializers():
    """Each initialiser where Flax takes one, and a tree with "params" in front."""
    module = p.generated("pre", "flax", "--seed", "3")
    name = "block_0/ffn/in/kernel"
    dense = nn.Dense(FFN, kernel_init=module.initializer(name))
    drawn = dense.init(jax.random.PRNGKey(1), jnp.ones((1, WIDTH)))["params"]["kernel"]
    p.check_tensor(name, numpy.asarray(drawn), p.plan("pre", "flax")[name], -1)
    tree, report = module.initialize({"params": {"head": {"kernel": jnp.ones((WIDTH, CLASSES))}}})
    assert list(report.set) == ["head/kernel"] and report.missing
    try:
        module.initialize({"head": {"kernel": jnp.ones((2, 2))}})
    except ValueError as error:
        assert "head/kernel" in str(error)
    else:
        raise AssertionError("a wrong shape was accepted")


def check_groups():
    """A step of optax.adamw in groups is AdamW by hand with the numbers that `transfer` has, each
    multiplier taken into theta."""
    module = p.generated("pre", "flax", "--transfer-from", f"width={WIDTH // 4}", "--optimizer",
                         "adamw")
    network = Transformer(False, p.scale("pre", "skip"))
    empty = network.init(jax.random.PRNGKey(0), tokens(0))["params"]
    params, _ = module.initialize(empty, jax.random.PRNGKey(1), strict=True)
    answer = p.results("transfer", "pre", "--from", f"width={WIDTH // 4}", "--to", f"width={WIDTH}",
                       "--optimizer", "adamw", "--all")
    planned = {one["path"]: one for one in answer["parameters"]}
    lr, decay, eps = 3e-3, 0.1, 1e-3
    for rate in (lr, lambda count: lr):
        steps = module.multi_transform(params, optax.adamw, rate, weight_decay=decay, eps=eps)
        gradients = jax.tree_util.tree_map(
            lambda leaf: jax.random.normal(jax.random.PRNGKey(leaf.size), leaf.shape) * 1e-3, params)
        updates, _ = steps.update(gradients, steps.init(params), params)
        names = p.plan("pre", "flax")
        for name, update in leaves(updates).items():
            path = names[name][0]["path"]
            factor = {key: planned[path][key]["factor"]
                      for key in ("multiplier", "lr", "decay", "eps")}
            own_lr = lr * factor["lr"] * factor["multiplier"]
            own_decay = decay * factor["decay"] / factor["multiplier"]
            own_eps = eps * factor["eps"] / factor["multiplier"]
            gradient, theta = leaves(gradients)[name], leaves(params)[name]
            # The averages of the first step, unbiased, are the gradient and its square.
            wanted = -own_lr * (gradient / (jnp.abs(gradient) + own_eps) + own_decay * theta)
            # Single precision: 1 - 0.999 of the average's weight, and some ten roundings.
            scale = own_lr * (1 + own_decay * float(jnp.abs(theta).max()))
            off = float(jnp.abs(update - wanted).max())
            assert off <= (10 + 1 / (1 - 0.999)) * 2**-24 * scale, (name, off, scale)
    for wrong in ({**params, "extra": {"kernel": jnp.ones((2, 2))}},
                  {key: leaf for key, leaf in params.items() if key != "head"}):
        try:
            module.multi_transform(wrong, optax.adamw, lr)
        except ValueError as error:
            assert "extra/kernel" in str(error) or "head/kernel" in str(error), error
        else:
            raise AssertionError("a tree with another parameter was accepted")


def main():
    run("pre", False)
    run("deepnorm", True)
    check_initializers()
    check_groups()
    print(f"JAX {jax.__version__}, Flax {flax.__version__}: all as planned")


if __name__ == "__main__":
    sys.exit(main())
