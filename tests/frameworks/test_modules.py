"""scalecalc.torch.read and predict on the modules of tests/graphs, as the wheel has the package
(tools/wheel --frameworks)."""
import pathlib
import sys
import unittest

import torch

import scalecalc
import scalecalc.torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "graphs"))
import make_graphs  # noqa: E402


def drawn(name, seed=0):
    draw, inputs = make_graphs.networks()[name]
    torch.manual_seed(seed)
    return draw(), inputs


class Reading(unittest.TestCase):
    def test_a_module_is_a_model_of_the_functions_in_its_own_names(self):
        module, inputs = drawn("residual-mlp")
        module.train()
        model = scalecalc.torch.read(module, inputs)
        self.assertTrue(module.training)
        self.assertEqual(model.source, "graph")
        became = {part.name: part.sites for part in model.parts}
        self.assertEqual(became["head"], ("head",))
        self.assertEqual(len(became["gates.1"]), 2)  # the gate and what it multiplies
        self.assertIn("LayerNorm", repr(model))
        self.assertIn("remark: stds are those of the weights in the file", repr(model))
        sites = [site.path for site in scalecalc.propagate(model).sites]
        self.assertTrue({site for part in model.parts for site in part.sites} <= set(sites))
        self.assertEqual(scalecalc.verify(model, seeds=2).inputs.model, str(model.path))

    def test_rows_of_predict_have_names_of_the_module(self):
        module, inputs = drawn("residual-mlp")
        found = scalecalc.torch.predict(module, inputs, second=4)
        self.assertEqual({row.name for row in found.parameters},
                         {name for name, _ in module.named_parameters()})
        self.assertEqual(found.sites[0].second, 4)
        of = {site.module: site.second for site in found.sites}
        # LayerNorm with a gain of 1: the variance of 64 features and 1e-5 below the root.
        self.assertAlmostEqual(of["norms.2"], 1, delta=1e-3)

    def test_a_model_of_transformers_whose_graph_is_not_read_is_its_config(self):
        import transformers as t

        config = t.T5Config(d_model=32, d_ff=64, d_kv=8, num_layers=2, num_heads=4, vocab_size=50)
        model = scalecalc.torch.read(t.T5EncoderModel(config), torch.zeros(1, 8, dtype=torch.long))
        self.assertEqual(model.source, "config")
        self.assertIn("its graph is not read", model.remarks[0])

    def test_what_is_not_known_is_named_with_its_line(self):
        module, inputs = drawn("unknown")
        with self.assertRaisesRegex(ValueError, "aten.cumsum.default"):
            scalecalc.torch.read(module, inputs)
        with self.assertRaisesRegex(ValueError, "is not exported"):
            scalecalc.torch.read(torch.nn.Linear(3, 3), torch.zeros(2, 4))


if __name__ == "__main__":
    unittest.main()
