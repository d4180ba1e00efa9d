"""scalecalc.torch.coordinates, transfer and param_groups on modules that are trained, as the wheel has
the package (tools/wheel --frameworks)."""
import math
import os
import re
import unittest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import torch.nn as nn
import torch.nn.functional as F
import transformers

import scalecalc
import scalecalc.torch


class Net(nn.Module):
    """A list of layers with two widths, one four times the other."""

    def __init__(self, width=64, depth=2):
        super().__init__()
        self.stem = nn.Linear(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(F.gelu(up(norm(x))))
        return self.head(x)


def gpt2(width, layers=2, heads=4):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=heads, vocab_size=100, n_positions=32, bos_token_id=0,
        eos_token_id=0))


BATCH = torch.randn(16, 32, generator=torch.Generator().manual_seed(1))
WIDTHS = (32, 64, 128)
# The corrections of width 32, where downs has 16 samples in 32 features: 1/32 + 16/128 over log 4;
# two standard errors of the fit stand beside it.
POWER = 0.1


def level(point, features, seeds):
    """Of a movement: what the prediction leaves out, and two standard errors of the root of a mean square
    of Gaussian features, which all samples may share."""
    return point["predicted_truncation"] / point["predicted_change"] + math.sqrt(2 / (features * seeds))


def checked(**options):
    torch.manual_seed(0)
    return scalecalc.torch.coordinates(Net, widths=WIDTHS, batch=BATCH, seeds=1, **options)


def as_predicted(case, found):
    for site in found.sites:
        power, error = site["moves_first"]
        case.assertAlmostEqual(power, site["predicted"][0], delta=POWER + 2 * error, msg=site["name"])


class Coordinates(unittest.TestCase):
    def test_one_rate_names_the_first_matrix_and_what_is_due(self):
        found = checked(optimizer="adamw", lr=1e-3)
        self.assertFalse(found.passed)
        self.assertEqual(found.culprit, "ups.0")
        self.assertRegex(found.why, r"learning rate of ups\.0\.weight goes from 0\.001 to 0\.001, and "
                                    r"0\.00025 is due")
        sites = {site["name"]: site for site in found.sites}
        self.assertEqual(list(sites)[:3], ["stem", "norms.0", "ups.0"])
        self.assertEqual(sites["stem"]["trend"], "steady")
        as_predicted(self, found)
        # Size and movement beside their prediction, of one draw: a site of 16 samples and n features.
        point = sites["ups.0"]["points"][2]
        self.assertAlmostEqual(point["rms"][0] / point["predicted_rms"], 1, delta=0.1)
        self.assertAlmostEqual(point["change"][1] / point["predicted_change"], 1, delta=0.1)
        self.assertIn("moves ever more", repr(found))

    def test_mup_passes_as_it_is_predicted(self):
        for optimizer, lr in (("adamw", 1e-3), ("sgd", 1e-2)):
            with self.subTest(optimizer):
                found = checked(optimizer=optimizer, lr=lr, parametrization="mup")
                self.assertTrue(found.passed, found)
                self.assertIsNone(found.culprit)
                as_predicted(self, found)

    def test_the_users_groups_leave_the_std_of_the_head(self):
        def made(module):
            return torch.optim.AdamW(scalecalc.torch.param_groups(
                module, 1e-3, base={"width": WIDTHS[0]}, example=BATCH))

        found = checked(optimizer=made)
        self.assertEqual(found.culprit, "head")
        self.assertRegex(found.why, r"the std of head\.weight goes from")
        as_predicted(self, found)
        self.assertEqual(found.remarks, [])

    def test_steps_of_the_users_groups_are_predicted(self):
        """Rates that are no parametrization's, and a parameter that stays; each optimizer's first step
        by its own options."""
        def grouped(kind, **options):
            def made(module):
                names = dict(module.named_parameters())
                slow = [one for name, one in names.items() if name.startswith(("ups", "head"))]
                fast = [one for name, one in names.items()
                        if name.startswith(("downs", "norms")) or name == "stem.weight"]
                return kind([{"params": slow, "lr": 2e-4}, {"params": fast, "lr": 1e-3}], **options)
            return made

        def muon(module):
            is_hidden = {name: one.dim() == 2 and not name.startswith("head")
                         for name, one in module.named_parameters()}
            hidden, rest = ([one for name, one in module.named_parameters() if is_hidden[name] == which]
                            for which in (True, False))
            return [torch.optim.Muon(hidden, lr=1e-3, weight_decay=0.0),
                    torch.optim.AdamW([{"params": rest[:2], "lr": 2e-3}, {"params": rest[2:], "lr": 3e-4}],
                                      weight_decay=0.0)]

        cases = {"adam": grouped(torch.optim.Adam), "sgd": grouped(torch.optim.SGD, momentum=0.9, nesterov=True),
                 "nadam": grouped(torch.optim.NAdam), "radam": grouped(torch.optim.RAdam),
                 "rmsprop": grouped(torch.optim.RMSprop, alpha=0.9), "adagrad": grouped(torch.optim.Adagrad),
                 "eps": grouped(torch.optim.Adam, eps=1e-2), "muon": muon}
        for name, optimizer in cases.items():
            with self.subTest(name):
                torch.manual_seed(0)
                found = scalecalc.torch.coordinates(Net, widths=WIDTHS, batch=BATCH, seeds=2, steps=1,
                                                    optimizer=optimizer)
                self.assertEqual(found.remarks, [])
                as_predicted(self, found)
                for site in found.sites:
                    point = site["points"][-1]
                    features = {"head": 10}.get(site["name"], WIDTHS[-1])
                    self.assertAlmostEqual(point["change"][1] / point["predicted_change"], 1,
                                           delta=level(point, features, seeds=2), msg=site["name"])

    def test_decay_is_remarked(self):
        found = scalecalc.torch.coordinates(
            Net, widths=WIDTHS[:2], batch=BATCH, seeds=1, steps=1,
            optimizer=lambda module: torch.optim.AdamW(module.parameters(), weight_decay=0.1))
        self.assertEqual(found.remarks, ["the decay of weights, 0.1, is not in the prediction"])

    def test_steps_without_a_rule_are_remarked(self):
        cases = {r"the first step of ASGD has no rule": lambda module: torch.optim.ASGD(module.parameters()),
                 r"centered=True has no rule":
                     lambda module: torch.optim.RMSprop(module.parameters(), centered=True),
                 r"Muon steps head\.weight":
                     lambda module: torch.optim.Muon([one for one in module.parameters() if one.dim() == 2]),
                 r"Muon with AdamW \(got adam and sgd\)":
                     lambda module: [torch.optim.SGD(module.head.parameters(), lr=1e-3),
                                     torch.optim.Adam(module.stem.parameters())]}
        for why, optimizer in cases.items():
            with self.subTest(why):
                found = scalecalc.torch.coordinates(Net, widths=WIDTHS[:2], batch=BATCH, seeds=1, steps=1,
                                                    optimizer=optimizer)
                self.assertTrue(any(re.search("no prediction: .*" + why, remark)
                                    for remark in found.remarks), found.remarks)
                self.assertIsNone(found.sites[0]["points"][0]["predicted_change"])

    def test_bad_arguments_are_refused(self):
        for options in ({"optimizer": "adamv"}, {"optimizer": "adamw", "steps": 0}):
            with self.assertRaises(ValueError):
                checked(**options)
        with self.assertRaisesRegex(ValueError, "two sizes or more that rise"):
            scalecalc.torch.coordinates(Net, widths=(64,), batch=BATCH)
        with self.assertRaisesRegex(ValueError, "widths or depths"):
            scalecalc.torch.coordinates(Net, batch=BATCH)


class Transfers(unittest.TestCase):
    def test_rates_of_a_list_of_layers(self):
        torch.manual_seed(0)
        large = Net(256)
        found = scalecalc.torch.transfer(1e-3, from_=Net(64), to=large, example=BATCH,
                                         weight_decay=0.1)
        self.assertEqual(found.axes, {"width": [64, 256]})
        rows = {row["name"]: row for row in found.rows}
        # muP under Adam, r = 4: hidden and head 1/r, input and biases 1; lr * decay stays.
        for name, factor in (("stem.weight", 1), ("ups.1.weight", 1 / 4), ("downs.0.weight", 1 / 4),
                             ("head.weight", 1 / 4), ("norms.1.weight", 1), ("head.bias", 1)):
            self.assertAlmostEqual(rows[name]["lr"], 1e-3 * factor, delta=1e-12, msg=name)
            self.assertAlmostEqual(rows[name]["weight_decay"], 0.1 / factor, delta=1e-9, msg=name)
        # The head has nn.Linear's std, 1/2 of the small one's, and 1/4 is due.
        self.assertAlmostEqual(rows["head.weight"]["std"] / rows["head.weight"]["due_std"], 2, delta=0.2)
        self.assertIn("head.weight first", " ".join(found.remarks))
        found.scale_()
        self.assertAlmostEqual(large.head.weight.std(correction=0).item(),
                               rows["head.weight"]["due_std"], delta=1e-6)
        parameters = [one for group in found.groups for one in group["params"]]
        self.assertEqual(sorted(map(id, parameters)), sorted(map(id, large.parameters())))
        torch.optim.AdamW(found.groups)

    def test_axes_that_differ_are_found(self):
        found = scalecalc.torch.transfer(1e-3, from_=gpt2(64, 2, 4), to=gpt2(128, 4, 8))
        self.assertEqual(found.axes, {"width": [64, 128], "layers": [2, 4], "heads": [4, 8]})
        what = {row["what"] for row in found.factors}
        self.assertIn("attention", what)
        deep = scalecalc.torch.transfer(1e-3, from_=gpt2(64, 2), to=gpt2(64, 8),
                                        parametrization="complete-p")
        self.assertEqual(deep.axes, {"layers": [2, 8]})
        self.assertEqual({row["value"] for row in deep.factors if row["what"] == "branch"}, {0.25})

    def test_batch_and_tokens_act_on_all_groups(self):
        options = {"from_": gpt2(64), "to": gpt2(64), "optimizer": "adamw"}
        found = scalecalc.torch.transfer(1e-3, batch=(16, 64), tokens=(1e8, 4e8), **options)
        self.assertEqual(found.axes, {"batch": [16, 64], "tokens": [1e8, 4e8]})
        # lr as (r_B/r_D)^(1/2).
        for row in found.rows:
            self.assertAlmostEqual(row["lr"], 1e-3, delta=1e-12)
        more = scalecalc.torch.transfer(1e-3, batch=(16, 64), **options)
        for row in more.rows:
            self.assertAlmostEqual(row["lr"], 2e-3, delta=1e-12)

    def test_modules_that_are_not_one_are_refused(self):
        with self.assertRaisesRegex(ValueError, "not of one kind"):
            scalecalc.torch.transfer(1e-3, from_=gpt2(64), to=Net(64),
                                     example=(torch.zeros(1, 8, dtype=torch.long), BATCH))

        class Odd(Net):
            def __init__(self):
                super().__init__(128)
                self.ups = nn.ModuleList(nn.Linear(128, 256) for _ in range(2))
                self.downs = nn.ModuleList(nn.Linear(256, 128) for _ in range(2))

        with self.assertRaisesRegex(ValueError, "do not grow as one"):
            scalecalc.torch.transfer(1e-3, from_=Net(64), to=Odd(), example=BATCH)

    def test_a_graph_has_no_stds_of_a_base(self):
        with self.assertRaisesRegex(ValueError, "scale_"):
            scalecalc.torch.init_(Net(), example=BATCH, transfer_from={"width": 32})


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    unittest.main()
