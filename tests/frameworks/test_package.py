"""scalecalc.torch on models of transformers, as the wheel has it (tools/wheel --frameworks)."""
import unittest

import torch
import transformers

import scalecalc
import scalecalc.torch

SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "vocab_size": 100}
GROUPED = {**SMALL, "num_key_value_heads": 2}


def made(name):
    t = transformers
    torch.manual_seed(0)
    return {
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(
            n_layer=2, n_embd=64, n_head=4, vocab_size=100, n_positions=32)),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**GROUPED)),
        "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**GROUPED, head_dim=16)),
        "gemma2": lambda: t.Gemma2ForCausalLM(t.Gemma2Config(**GROUPED, head_dim=16)),
        "mixtral": lambda: t.MixtralForCausalLM(t.MixtralConfig(**GROUPED, num_local_experts=4)),
        "bert": lambda: t.BertForMaskedLM(t.BertConfig(**SMALL)),
        "t5": lambda: t.T5ForConditionalGeneration(t.T5Config(
            d_model=64, d_ff=128, d_kv=16, num_layers=2, num_heads=4, vocab_size=100)),
        "vit": lambda: t.ViTForImageClassification(t.ViTConfig(
            hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            image_size=32, patch_size=8)),
    }[name]()


ALL = ("gpt2", "llama", "qwen3", "gemma2", "mixtral", "bert", "t5", "vit")


class OfConfigs(unittest.TestCase):
    def test_audit_passes_what_the_library_draws(self):
        for name in ALL:
            with self.subTest(name):
                found = scalecalc.torch.audit(made(name))
                self.assertTrue(found.passed, found.summary)

    def test_init_fills_every_parameter_and_passes_its_audit(self):
        for name in ALL:
            with self.subTest(name):
                model = made(name)
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.fill_(7.0)
                report = scalecalc.torch.init_(model, strict=True)
                self.assertEqual(len(report.set), len(list(model.parameters())))
                self.assertTrue(scalecalc.torch.audit(model).passed)

    def test_audit_names_what_was_changed(self):
        model = made("llama")
        with torch.no_grad():
            model.model.layers[1].self_attn.o_proj.weight *= 1.5
        found = scalecalc.torch.audit(model)
        self.assertFalse(found.passed)
        self.assertEqual([finding.first for finding in found.findings],
                         ["model.layers.1.self_attn.o_proj.weight"])

    def test_half_floats_are_audited(self):
        for kind in (torch.bfloat16, torch.float16):
            self.assertTrue(scalecalc.torch.audit(made("gpt2").to(kind)).passed)


class Groups(unittest.TestCase):
    def test_groups_have_every_parameter_once_and_the_factors_of_mup(self):
        for name in ("gpt2", "llama", "bert"):
            with self.subTest(name):
                model = made(name)
                groups = scalecalc.torch.param_groups(model, 1e-3, base={"width": 16},
                                                      weight_decay=0.1)
                parameters = [one for group in groups for one in group["params"]]
                self.assertEqual(sorted(map(id, parameters)), sorted(map(id, model.parameters())))
                matrix = next(one for one in model.parameters()
                              if one.dim() == 2 and min(one.shape) == 64 and max(one.shape) != 100
                              and 32 not in one.shape and 512 not in one.shape)
                group = next(group for group in groups if any(one is matrix for one in group["params"]))
                # Adam under muP: lr of a hidden matrix goes as 1/width.
                self.assertAlmostEqual(group["lr"], 1e-3 / 4, delta=1e-12)
                torch.optim.AdamW(groups)

    def test_a_mixture_has_matrices_and_the_rest(self):
        model = made("gpt2")
        options = {"base": {"width": 32}, "optimizer": "muon+adamw"}
        muon = scalecalc.torch.param_groups(model, 0.02, rule="muon", **options)
        rest = scalecalc.torch.param_groups(model, 3e-4, rule="adamw", **options)
        self.assertTrue(all(one.dim() == 2 for group in muon for one in group["params"]))
        parameters = [one for group in muon + rest for one in group["params"]]
        self.assertEqual(sorted(map(id, parameters)), sorted(map(id, model.parameters())))

    def test_every_architecture_has_groups(self):
        """Of Adam under muP from half the width: hidden maps and readouts 1/2, tables, gains and
        biases 1."""
        cases = {
            "qwen3": {"layers.0.self_attn.q_norm": 1, "layers.1.self_attn.k_norm": 1,
                      "layers.0.mlp.up_proj": 0.5, "embed_tokens": 1, "lm_head": 0.5},
            "gemma2": {"layers.0.post_feedforward_layernorm": 1, "layers.1.mlp.down_proj": 0.5,
                       "embed_tokens": 1},
            "mixtral": {"experts.gate_up_proj": 0.5, "experts.down_proj": 0.5, "layers.0.mlp.gate": 0.5,
                        "layers.1.input_layernorm": 1},
            "t5": {"shared": 1, "encoder.block.0.layer.0.SelfAttention.q": 0.5,
                   "decoder.block.1.layer.1.EncDecAttention.o": 0.5, "relative_attention_bias": 1,
                   "decoder.final_layer_norm": 1},
            "vit": {"cls_token": 1, "projection.weight": 1, "attention.q_proj.weight": 0.5,
                    "classifier.weight": 0.5, "classifier.bias": 1}}
        for name, factors in cases.items():
            with self.subTest(name):
                model = made(name)
                groups = scalecalc.torch.param_groups(model, 1e-3, base={"width": 32})
                of = {id(one): group["lr"] for group in groups for one in group["params"]}
                self.assertEqual(len(of), len(list(model.parameters())))
                for part, factor in factors.items():
                    found = {round(of[id(one)] / 1e-3, 9) for key, one in model.named_parameters()
                             if part in key}
                    self.assertEqual(found, {factor}, part)
                torch.optim.AdamW(groups)

    def test_numbers_that_are_no_rates_are_refused_by_name(self):
        model = made("llama")
        for name, value in (("lr", -1.0), ("lr", "x"), ("eps", float("nan")), ("weight_decay", True)):
            with self.subTest(name=name, value=value), \
                 self.assertRaisesRegex(ValueError, f"^{name} = .* is not a number of 0 or more$"):
                scalecalc.torch.param_groups(model, **{"lr": 1e-3, "base": {"width": 32}, name: value})

    def test_a_parameter_without_a_rule_is_refused_by_name(self):
        model = made("llama")
        model.model.layers[0].extra = torch.nn.Linear(64, 64)
        with self.assertRaisesRegex(ValueError, r"no rule has a learning rate for .*extra\.weight"):
            scalecalc.torch.param_groups(model, 1e-3, base={"width": 32})

    def test_a_head_that_is_tied_behind_the_configs_back_is_seen_in_the_graph(self):
        model = made("llama")
        model.lm_head.weight = model.model.embed_tokens.weight
        groups = scalecalc.torch.param_groups(model, 1e-3, base={"width": 32})
        of = {id(one): group["lr"] for group in groups for one in group["params"]}
        self.assertAlmostEqual(of[id(model.lm_head.weight)], 1e-3, delta=1e-12)
        factors = scalecalc.torch.forward_factors(model, base={"width": 32})
        self.assertIn(("output", "head", 0.5), [factor[:3] for factor in factors])

    def test_factors_of_the_forward_pass_are_listed(self):
        factors = scalecalc.torch.forward_factors(made("llama"), base={"width": 16})
        what, _, value, _ = factors[0]
        self.assertEqual(what, "attention")
        self.assertAlmostEqual(value, 4**-0.5 / 4)  # of the base's heads of 4, by 1/width


class Others(unittest.TestCase):
    def test_a_module_without_a_config_needs_a_model(self):
        module = torch.nn.Sequential(torch.nn.Linear(4, 4))
        with self.assertRaisesRegex(ValueError, "Sequential has no config"):
            scalecalc.torch.audit(module)

    def test_a_preset_describes_a_module_of_its_names(self):
        model = torch.nn.Module()
        sizes = [(512, 512)] * 2
        model.layer = torch.nn.ModuleList()
        for rows, columns in sizes:
            block = torch.nn.Module()
            block.linear = torch.nn.Linear(columns, rows, bias=False)
            model.layer.append(block)
        model.head = torch.nn.Linear(512, 10, bias=False)
        report = scalecalc.torch.init_(model, model="mlp-relu", layers=2)
        self.assertEqual(report.unmatched, [])
        # He's std; of 2^18 draws the relative standard error is 1/sqrt(2^19).
        std = model.layer[0].linear.weight.std().item()
        self.assertAlmostEqual(std, (2 / 512) ** 0.5, delta=5 * (2 / 512) ** 0.5 / 2**9.5)


class Activations(unittest.TestCase):
    """Modules as activations: those that cannot be followed are sampled."""

    def test_within_the_stated_error(self):
        for module, text in ((torch.nn.ELU(), "max(x, 0) + exp(min(x, 0)) - 1"),
                             (torch.nn.GELU(), "gelu(x)"), (torch.nn.Softplus(), "log(1 + exp(x))"),
                             (torch.nn.PReLU(init=0.2), "max(0.2*x, x)")):
            with self.subTest(text):
                found = scalecalc.activation(expr=module, time_limit=60)
                known = scalecalc.activation(expr=text, time_limit=60)
                for name in ("mean", "second", "slope_second"):
                    # A few hundred roundings on the way to a moment.
                    self.assertLessEqual(abs(found[name] - known[name]), found.sampled.errors[name] + 1e-13)

    def test_draws_are_refused(self):
        with self.assertRaisesRegex(ValueError, "the numbers beside it, or is drawn"):
            scalecalc.activation(expr=torch.nn.Dropout())


if __name__ == "__main__":
    unittest.main()
