"""What scalecalc.torch.check measures in the pass itself, beside draws and beside sums over all cases, as the
wheel has the package (tools/wheel --frameworks). check_bands.py counts how often right modules fail."""
import itertools
import math
import statistics
import unittest

import scipy.stats
import torch

import scalecalc.torch
from scalecalc import _batch, _check, _pass, _student
from test_check import Scaled, drawn

DEVIATIONS = 4.5  # that a right test of these exceeds once in 150000


class Features(unittest.TestCase):
    def test_a_map_of_inputs_of_finite_rank(self):
        """Var ln mean y^2 = 2/n tr C^2/(tr C)^2 of Gaussian rows, C the inputs' second moments."""
        generator = torch.Generator().manual_seed(3)
        n, draws = 64, 400
        inputs = torch.randn(40, 8, generator=generator) @ torch.randn(8, 32, generator=generator)
        seconds = inputs.T @ inputs
        exact = 2 / n * (seconds.pow(2).sum() / seconds.trace()**2).item()
        logarithms, found = [], []
        for _ in range(draws):
            figure = _pass.figure(inputs @ torch.randn(32, n, generator=generator), 8)
            logarithms.append(math.log(figure.second))
            found.append(figure.features.value)
        self.assertEqual(figure.features.degrees, n - 1)
        # Next order of a mean of n terms, over the first: (5/2 k_2^2 - k_3)/(n k_2), k_2 = exact n, k_3 = 2 k_2^2.
        order = exact
        error = statistics.stdev(found) / math.sqrt(draws)
        self.assertAlmostEqual(statistics.mean(found), exact, delta=DEVIATIONS * error + order * exact)
        self.assertAlmostEqual(statistics.variance(logarithms) / exact, 1, delta=DEVIATIONS * math.sqrt(2 / draws) + order)

    def test_channels_are_features_of_images(self):
        image = torch.ones(4, 6, 5, 5) * torch.arange(1, 7).reshape(6, 1, 1).sqrt()
        figure = _pass.figure(image, 4, channels=True)
        # Mean squares 1 to 6: v = 3.5, m = 3.5.
        self.assertAlmostEqual(figure.features.value, 3.5 / (6 * 3.5**2), delta=1e-6)
        self.assertEqual(figure.samples, [figure.samples[0]] * 4)

    def test_features_of_a_head_are_no_more_than_one_draw(self):
        tensor = torch.ones(2, 8) * torch.tensor([1.0, 1, 1, 1, 2, 2, 2, 2])
        single = _pass.figure(tensor, 2).features
        heads = _pass.figure(tensor, 2, heads=2).features
        self.assertEqual((single.degrees, heads.degrees), (7, 1))
        self.assertAlmostEqual(heads.value, 4.5 / (2 * 2.5**2))

    def test_tokens_without_a_word_are_left_out(self):
        tensor = torch.randn(4, 5, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        empty = torch.zeros(4, 5, dtype=torch.bool)
        empty[0, 0] = empty[2, 3] = True
        self.assertAlmostEqual(_pass.figure(tensor, 4, empty=empty).second, tensor[~empty].pow(2).mean().item(), delta=1e-12)


class Samples(unittest.TestCase):
    def test_the_jackknife_of_the_logarithm(self):
        one, beside = _pass.Figure(2.0, 0.0, samples=[1.0, 2.0, 5.0]), _pass.Figure(1.0, 0.0, samples=[1.0, 0.5, 1.5])
        for other in (None, beside):
            without = [math.log(sum(one.samples[:i] + one.samples[i + 1:]))
                       - (math.log(sum(beside.samples[:i] + beside.samples[i + 1:])) if other else 0) for i in range(3)]
            exact = 2 / 3 * sum((value - statistics.mean(without))**2 for value in without)
            found = _pass.of_samples(one, other)
            self.assertAlmostEqual(found.value, exact, delta=1e-12)
            self.assertEqual(found.degrees, 2)

    def test_one_sample_that_has_all_says_nothing_of_the_mean(self):
        self.assertEqual(_pass.of_samples(_pass.Figure(1.0, 0.0, samples=[0.0, 4.0, 0.0])).value, math.inf)
        self.assertEqual(_pass.of_samples(_pass.Figure(1.0, 0.0, samples=[1.0])).value, 0)


class Targets(unittest.TestCase):
    def test_all_signs_of_what_samples_give(self):
        generator = torch.Generator().manual_seed(5)
        inputs = torch.randn(6, 7, generator=generator, dtype=torch.float64)
        towards = torch.randn(6, 3, generator=generator, dtype=torch.float64)
        weight = torch.zeros(7, 3, dtype=torch.float64, requires_grad=True)
        found = _pass._of_targets(inputs @ weight, towards, {"weight": weight}, 6)["weight"]
        terms = torch.einsum("bi,bo->bio", inputs, towards)
        squares = [(torch.tensor(signs, dtype=torch.float64).reshape(-1, 1, 1) * terms).sum(0).pow(2).sum().item()
                   for signs in itertools.product((-1, 1), repeat=6)]
        exact = statistics.pvariance(squares) / statistics.mean(squares)**2
        self.assertAlmostEqual(found.value, exact, delta=1e-12)
        self.assertEqual(found.degrees, 15)

    def test_sums_with_drawn_signs_keep_scalar_products(self):
        generator = torch.Generator().manual_seed(7)
        one, two = torch.randn(2, 100_000, generator=generator, dtype=torch.float64)
        two += 0.3 * one
        sketches = [_pass._sketch(each, torch.Generator().manual_seed(0)) for each in (one, two)]
        self.assertEqual(sketches[0].numel(), _pass.SKETCH)
        # Variance (|a|^2 |b|^2 + <a,b>^2)/SKETCH of each product.
        error = math.sqrt((one.pow(2).sum() * two.pow(2).sum() + (one @ two)**2).item() / _pass.SKETCH)
        self.assertAlmostEqual((sketches[0] @ sketches[1]).item(), (one @ two).item(), delta=DEVIATIONS * error)


class Student(unittest.TestCase):
    def test_quantiles(self):
        for level, degrees in itertools.product((1e-2, 1e-4, 1e-7), (1, 2, 3, 3.5, 5, 7.7, 28, 127, 1e5)):
            with self.subTest(level=level, degrees=degrees):
                self.assertAlmostEqual(_student.quantile(level, degrees) / scipy.stats.t.isf(level / 2, degrees), 1, delta=1e-5)

    def test_degrees_of_a_sum(self):
        one, two = _student.Variance(1.0, 4), _student.Variance(3.0, 6)
        self.assertAlmostEqual(_student.degrees_of(8.0, (one, two)), 64 / (1 / 4 + 9 / 6))
        self.assertEqual(_student.degrees_of(8.0, ()), math.inf)


class OfTheBatch(unittest.TestCase):
    def test_a_config_is_as_the_pass_runs(self):
        """Without its dropout, and with words as often as they are."""
        import transformers as t

        words = torch.randint(0, 64, (8, 16), generator=torch.Generator().manual_seed(1))
        module = t.T5ForConditionalGeneration(t.T5Config(vocab_size=64, d_model=64, d_kv=16, d_ff=96, num_layers=1, num_heads=4))
        batch = {"input_ids": words, "decoder_input_ids": words}
        read = scalecalc.torch.read(module, batch)
        self.assertIn("zipf = 1", read.text)
        self.assertEqual(_check._without_dropout(read.text), {"dropout": 0, "attention_dropout": 0})
        self.assertEqual(_batch.input_options(read.text, batch, 64)["zipf"], 0)

    def test_a_word_of_zeros_in_front(self):
        """Behind it the norm divides by the root of eps, 1e-3 here, and gradients are 1e6 times as large."""
        module, batch = drawn("llama")
        with torch.no_grad():
            module.get_input_embeddings().weight[0] = 0
        batch[0, 0] = batch[1, 0] = 0
        found = scalecalc.torch.check(module, batch)
        rows = {(row["name"], row["what"]): row for row in found.rows}
        self.assertTrue(rows["model.embed_tokens", "gradient of output"]["ok"])
        self.assertTrue(rows["model.embed_tokens", "output"]["ok"])


class Backward(unittest.TestCase):
    def test_a_gradient_that_is_lost_or_doubled(self):
        right, batch = drawn("gpt")
        read = scalecalc.torch.read(right, batch)
        for factor in (0.0, 2.0):
            with self.subTest(factor):
                module, _ = drawn("gpt", 1)
                module.outs[1].register_forward_hook(lambda _, __, output: Scaled.apply(output, factor))
                found = scalecalc.torch.check(module, batch, model=read)
                self.assertFalse(found.passed)
                rows = {row["name"]: row for row in found.rows if row["what"] == "gradient"}
                self.assertFalse(rows["outs.1.weight" if "outs.1.weight" in rows else "outs.1"]["ok"])


if __name__ == "__main__":
    unittest.main()
