"""scalecalc.torch.check on right modules and on planted mistakes, as the wheel has the package
(tools/wheel --frameworks).

usage: test_check.py [--right DRAWS]   how many of DRAWS draws of each right module pass
"""
import pathlib
import sys
import unittest

import torch
import torch.nn.functional as F

import scalecalc
import scalecalc.torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "graphs"))
import make_graphs  # noqa: E402
import modules  # noqa: E402

RIGHT = ("mlp", "residual-mlp", "convnet", "gpt", "written-out", "einsum", "encoder", "gpt2",
         "llama", "bert", "vit")


class Scaled(torch.autograd.Function):
    """Itself, with its gradient times a factor."""

    @staticmethod
    def forward(context, value, factor):
        context.factor = factor
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * context.factor, None


def drawn(name, seed=0):
    draw, inputs = make_graphs.networks()[name]
    torch.manual_seed(seed)
    module, example = draw(), inputs[0]
    if example.dtype == torch.long:
        return module, torch.randint(0, 64, (4, *example.shape[1:]))
    return module, torch.randn(4, *example.shape[1:])


class Unscaled(modules.ResidualMlp):
    """Without the factor of one of its residuals."""

    def forward(self, x):
        x = self.stem(x)
        for i, (norm, gate, out) in enumerate(zip(self.norms, self.gates, self.outs)):
            a, b = gate(norm(x)).chunk(2, dim=-1)
            x = x + (1 if i == 1 else 0.5) * out(F.silu(a) * b)
        return self.head(x)


class Planted(unittest.TestCase):
    def named(self, module, batch, first, why, **options):
        found = scalecalc.torch.check(module, batch, **options)
        self.assertFalse(found.passed)
        self.assertEqual(found.first, first, found.why)
        self.assertRegex(found.why, why)
        return found

    def test_a_weight_that_is_twice_as_large(self):
        for name, of in (("residual-mlp", "outs.1"), ("mlp", "layers.2"),
                         ("gpt", "attentions.1.out"),
                         ("gpt2", "transformer.h.1.mlp.c_proj")):
            with self.subTest(name):
                module, batch = drawn(name)
                with torch.no_grad():
                    module.get_submodule(of).weight.mul_(2)
                self.named(module, batch, of, r"weight: its std is .*, (1\.9|2)\S* times; a std of")

    def test_a_gain_of_a_half(self):
        for name, of in (("residual-mlp", "norms.2"), ("gpt", "norms.3"),
                         ("llama", "model.layers.1.input_layernorm")):
            with self.subTest(name):
                module, batch = drawn(name)
                with torch.no_grad():
                    module.get_submodule(of).weight.mul_(0.5)
                found = self.named(module, batch, of, "weight: all its values are 0.5; 1 was due")
                row = next(row for row in found.rows
                           if row["name"] == of and row["what"] == "output")
                # An output half as large has a quarter of the second moment; no norm's varies.
                self.assertAlmostEqual(row["measured"] / row["predicted"], 0.25, delta=0.02)

    def test_a_layer_of_zeros(self):
        for name, of in (("residual-mlp", "outs.2"), ("bert", "bert.encoder.layer.0.output.dense")):
            with self.subTest(name):
                module, batch = drawn(name)
                with torch.no_grad():
                    module.get_submodule(of).weight.zero_()
                self.named(module, batch, of, "weight: all its values are 0; a std of")

    def test_a_residual_without_its_scale_beside_a_right_module(self):
        torch.manual_seed(0)
        batch = torch.randn(16, 32)
        right, wrong = modules.ResidualMlp(), Unscaled()
        with torch.no_grad():
            # Branches that are larger than the stream, so that a factor of theirs is seen in it.
            for one in (*right.outs, *wrong.outs):
                one.weight.mul_(20)
        found = self.named(wrong, batch, "norms.2", "of what it is given is", model=right)
        self.assertIn("what is computed does not", found.why)


class Described(unittest.TestCase):
    """Models of transformers whose graph is not read: their config, at the lengths of the batch."""

    def test_experts_and_two_stacks(self):
        import transformers as t

        words = torch.randint(0, 64, (4, 16), generator=torch.Generator().manual_seed(1))
        small = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1,
                 "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4}
        cases = {
            "model.layers.0.self_attn.o_proj": (
                lambda: t.MixtralForCausalLM(t.MixtralConfig(**small)), words),
            "decoder.block.0.layer.1.EncDecAttention.o": (
                lambda: t.T5ForConditionalGeneration(t.T5Config(
                    vocab_size=64, d_model=64, d_kv=16, d_ff=96, num_layers=1, num_heads=4)),
                {"input_ids": words, "decoder_input_ids": words[:, :8]})}
        for name, (draw, batch) in cases.items():
            with self.subTest(name):
                torch.manual_seed(0)
                module = draw()
                found = scalecalc.torch.check(module, batch)
                self.assertIn("its graph is not read", found.remarks[0])
                self.assertTrue(found.passed, found.summary)
                self.assertIn(name, [row["name"] for row in found.rows])


class Passing(unittest.TestCase):
    def test_a_right_module_passes_and_is_as_it_was(self):
        module, batch = drawn("convnet")
        module.train()
        module.head.weight.grad = torch.ones_like(module.head.weight)
        before = {name: value.clone() for name, value in module.state_dict().items()}
        found = scalecalc.torch.check(module, batch)
        self.assertTrue(found.passed, found)
        self.assertIsNone(found.first)
        self.assertTrue(all(one.training for one in module.modules()))
        self.assertTrue(torch.equal(module.head.weight.grad, torch.ones_like(module.head.weight)))
        self.assertIsNone(module.stem.weight.grad)
        self.assertTrue(all(torch.equal(before[key], value)
                            for key, value in module.state_dict().items()))
        self.assertFalse(any(one._forward_hooks or one._forward_pre_hooks
                             for one in module.modules()))

    def test_wrapped_compiled_and_hooked_modules(self):
        module, batch = drawn("residual-mlp")
        seen = []

        def hooked(one):
            one.stem.register_forward_hook(lambda *_: seen.append("forward"))
            one.stem.register_full_backward_hook(lambda *_: seen.append("backward"))
            return one

        def in_place(one):
            one.compile()
            return one

        wanted = scalecalc.torch.check(module, batch).to_dict()
        for name, wrap in {"compile": torch.compile, "DataParallel": torch.nn.DataParallel,
                           "compile in place": in_place, "hooks": hooked}.items():
            with self.subTest(name):
                self.assertEqual(scalecalc.torch.check(wrap(drawn("residual-mlp")[0]), batch).to_dict(), wanted)
        self.assertEqual(set(seen), {"forward", "backward"})
        for name, mode in {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode}.items():
            with self.subTest(name), mode():
                self.assertEqual(scalecalc.torch.check(module, batch).to_dict(), wanted)
        for dtype in (torch.float64, torch.bfloat16):
            with self.subTest(dtype):
                self.assertTrue(scalecalc.torch.check(drawn("residual-mlp")[0].to(dtype), batch.to(dtype)).passed)

    def test_what_cannot_be_checked_is_refused(self):
        module, batch = drawn("residual-mlp")
        frozen = drawn("residual-mlp")[0].requires_grad_(False)
        cases = {"stem.weight is on the device meta, and has no values": (drawn("residual-mlp")[0].to("meta"), {}),
                 "confidence must be a number above 0 and below 1": (module, {"confidence": 2}),
                 "loss must return a tensor of one number": (module, {"loss": lambda output, _: output}),
                 "depends on no parameter of the module that is trained": (frozen, {}),
                 r"must be a torch.nn.Module \(got int\)": (3, {})}
        for why, (one, options) in cases.items():
            with self.subTest(why), self.assertRaisesRegex(scalecalc.InputError, why):
                scalecalc.torch.check(one, batch, **options)

    def test_the_scale_of_the_loss_is_no_matter(self):
        module, batch = drawn("residual-mlp")
        found = scalecalc.torch.check(module, batch,
                                      loss=lambda output, _: 1e3 * output.pow(2).mean())
        self.assertTrue(found.passed, found)

    def test_labels_masks_and_half_floats(self):
        module, batch = drawn("gpt2")
        given = {"input_ids": batch, "attention_mask": torch.ones_like(batch), "labels": batch}
        found = scalecalc.torch.check(module.to(torch.bfloat16), given)
        self.assertTrue(found.passed, found)

    def test_shown_as_tables(self):
        module, batch = drawn("mlp")
        found = scalecalc.torch.check(module, batch)
        self.assertIn("second moment of", repr(found))
        self.assertIn("<table>", found._repr_html_())
        self.assertEqual(set(found.to_dict()),
                         {"passed", "first", "why", "rows", "parameters", "remarks"})
        names = [row["name"] for row in found.rows if row["what"] == "output"]
        self.assertEqual(names, ["layers.0", "layers.2", "layers.4"])


def right(draws):
    torch.set_num_threads(1)
    failed = 0
    for name in RIGHT:
        found = [scalecalc.torch.check(*drawn(name, seed)) for seed in range(1, draws + 1)]
        wrong = [one.summary for one in found if not one.passed]
        failed += len(wrong)
        print(f"{name}: {draws - len(wrong)} of {draws} pass", *wrong, sep="\n  ", flush=True)
    print(f"{failed} of {draws * len(RIGHT)} right modules fail")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--right"]:
        right(int(sys.argv[2]))
    else:
        unittest.main()
