"""scalecalc.jax on trees of Flax linen and on modules of nnx, and scalecalc.keras on a model of Keras, as
the wheel has the package (tools/wheel --frameworks)."""
import os
import pathlib
import tempfile
import unittest

os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import keras
import numpy
import optax
from flax import linen, nnx
from keras import layers

import scalecalc.jax
import scalecalc.keras

WIDTH, FEATURES, CLASSES = 128, 32, 10
MODEL = f"""[model]
kind = "mlp"
layers = 2
width = {WIDTH}
features = {FEATURES}
classes = {CLASSES}
activation = "relu"
bias = true
"""


class Layer(linen.Module):
    features: int

    @linen.compact
    def __call__(self, x):
        return jax.nn.relu(linen.Dense(self.features, name="linear")(x))


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x):
        for i in range(2):
            x = Layer(WIDTH, name=f"layer_{i}")(x)
        return linen.Dense(CLASSES, use_bias=False, name="head")(x)


class NnxLayer(nnx.Module):
    def __init__(self, before, after, rngs):
        self.linear = nnx.Linear(before, after, rngs=rngs)

    def __call__(self, x):
        return jax.nn.relu(self.linear(x))


class Nnx(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.layer_0 = NnxLayer(FEATURES, WIDTH, rngs)
        self.layer_1 = NnxLayer(WIDTH, WIDTH, rngs)
        self.head = nnx.Linear(WIDTH, CLASSES, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return self.head(self.layer_1(self.layer_0(x)))


class KerasLayer(layers.Layer):
    def __init__(self, name):
        super().__init__(name=name)
        self.linear = layers.Dense(WIDTH, activation="relu", name="linear")

    def call(self, x):
        return self.linear(x)


def keras_model():
    model = keras.Sequential([KerasLayer("layer_0"), KerasLayer("layer_1"),
                              layers.Dense(CLASSES, use_bias=False, name="head")], name="outer")
    model(numpy.zeros((1, FEATURES), "float32"))
    return model


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.folder.name) / "mlp.toml"
        cls.model.write_text(MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def has_std_of(self, values, fan_in):
        """The default scheme of the model file, 1/fan_in; a normal's std has the relative standard
        error 1/sqrt(2n)."""
        values = numpy.asarray(values, dtype="float64")
        due = fan_in**-0.5
        self.assertAlmostEqual(values.std(), due, delta=5 * due / (2 * values.size)**0.5)


class Jax(Case):
    def params(self):
        return Linen().init(jax.random.PRNGKey(0), jnp.zeros((1, FEATURES)))

    def test_a_tree_of_linen_is_drawn_and_audited(self):
        params, report = scalecalc.jax.initialize(self.params(), model=self.model, strict=True,
                                                  scheme="lecun")
        self.assertEqual(len(report.set), 5)
        self.has_std_of(params["params"]["layer_1"]["linear"]["kernel"], WIDTH)
        self.assertTrue(scalecalc.jax.audit(params, model=self.model, scheme="lecun").passed)
        params["params"]["layer_1"]["linear"]["kernel"] *= 1.5
        found = scalecalc.jax.audit(params, model=self.model, scheme="lecun")
        self.assertFalse(found.passed)
        self.assertEqual([finding.first for finding in found.findings], ["layer_1/linear/kernel"])

    def test_a_module_of_nnx_is_filled_in_place(self):
        module = Nnx()
        before = numpy.asarray(module.head.kernel[...])
        report = scalecalc.jax.init_(module, jax.random.PRNGKey(3), model=self.model, strict=True)
        self.assertEqual(len(report.set), 5)
        self.assertFalse(numpy.array_equal(before, numpy.asarray(module.head.kernel[...])))
        self.assertTrue(scalecalc.jax.audit(module, model=self.model).passed)
        self.assertEqual(module(jnp.ones((2, FEATURES))).shape, (2, CLASSES))

    def test_labels_have_the_factors_of_mup(self):
        options = {"model": self.model, "base": {"width": WIDTH // 4}}
        tree, factors = scalecalc.jax.labels(self.params(), **options)
        of = tree["params"]
        for leaf, factor in ((of["layer_0"]["linear"]["kernel"], 1), (of["head"]["kernel"], 1 / 4),
                             (of["layer_1"]["linear"]["kernel"], 1 / 4),
                             (of["layer_1"]["linear"]["bias"], 1)):
            self.assertAlmostEqual(factors[leaf]["lr"], factor, delta=1e-12)
            self.assertEqual(factors[leaf]["rule"], "adamw")
        # optax with these labels is the transformation that multi_transform makes.
        made = scalecalc.jax.multi_transform(self.params(), optax.adamw, 1e-2, **options)
        mine = optax.multi_transform(
            {name: optax.adamw(1e-2 * one["lr"], eps=1e-8 * (one["eps"] or 1), weight_decay=0.0)
             for name, one in factors.items()}, tree)
        gradients = jax.tree.map(jnp.ones_like, self.params())
        moved = [one.update(gradients, one.init(self.params()), self.params())[0]
                 for one in (made, mine)]
        for a, b in zip(*map(jax.tree.leaves, moved)):
            self.assertTrue(numpy.array_equal(a, b))
        # The first step of Adam is its rate.
        step = moved[0]["params"]["layer_1"]["linear"]["kernel"]
        self.assertTrue(numpy.allclose(step, -1e-2 / 4, rtol=1e-5))

    def test_a_module_of_nnx_is_stepped(self):
        module = Nnx()
        optimizer = nnx.Optimizer(module, scalecalc.jax.multi_transform(
            nnx.state(module, nnx.Param), optax.adamw, 1e-2, model=self.model,
            base={"width": WIDTH // 4}), wrt=nnx.Param)
        before = numpy.asarray(module.layer_1.linear.kernel[...])
        gradients = jax.tree.map(jnp.ones_like, nnx.state(module, nnx.Param))
        optimizer.update(module, gradients)
        moved = abs(numpy.asarray(module.layer_1.linear.kernel[...]) - before)
        self.assertAlmostEqual(float(moved.max()), 1e-2 / 4, delta=1e-5)

    def test_an_unknown_leaf_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no rule has a learning rate for other"):
            scalecalc.jax.labels({"other": jnp.zeros(3)}, model=self.model, base={"width": 64})
        with self.assertRaisesRegex(ValueError, "give model"):
            scalecalc.jax.initialize(self.params(), model=None)


class Keras(Case):
    def test_a_model_is_filled_and_audited(self):
        network = keras_model()
        report = scalecalc.keras.init_(network, model=self.model, strict=True)
        self.assertEqual(len(report.set), 5)
        self.has_std_of(network.layers[1].linear.kernel, WIDTH)
        self.assertTrue(scalecalc.keras.audit(network, model=self.model).passed)
        network.layers[1].linear.kernel.assign(network.layers[1].linear.kernel * 1.5)
        found = scalecalc.keras.audit(network, model=self.model)
        self.assertEqual([finding.first for finding in found.findings], ["layer_1/linear/kernel"])

    def test_an_optimizer_has_the_rates_of_mup(self):
        network = keras_model()
        made = scalecalc.keras.make_optimizer(network, keras.optimizers.AdamW, 1e-2, model=self.model,
                                              base={"width": WIDTH // 4})
        before = [numpy.asarray(one) for one in network.trainable_variables]
        made.apply([jnp.ones(one.shape) for one in before], network.trainable_variables)
        moved = {one.path.partition("/")[2]: float(abs(numpy.asarray(one) - old).mean())
                 for one, old in zip(network.trainable_variables, before)}
        for part, factor in (("layer_0/linear/kernel", 1), ("layer_1/linear/kernel", 1 / 4),
                             ("head/kernel", 1 / 4), ("layer_1/linear/bias", 1)):
            step = next(value for path, value in moved.items() if part in "outer/" + path)
            # Keras' eps of 1e-7 beside gradients of 1, and single precision of weights below 1.
            self.assertAlmostEqual(step, 1e-2 * factor, delta=1e-5, msg=part)

    def test_a_weight_without_a_rule_is_refused(self):
        network = keras.Sequential([layers.Input((4,)), layers.Dense(4, name="other")])
        with self.assertRaisesRegex(ValueError, "no rule has a learning rate for .*other"):
            scalecalc.keras.make_optimizer(network, keras.optimizers.AdamW, 1e-2, model=self.model,
                                           base={"width": 64})


if __name__ == "__main__":
    unittest.main()
