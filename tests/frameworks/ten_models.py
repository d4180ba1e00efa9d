"""Ten models as people have them, by scalecalc.torch: what read() recognised, what check() says, what init_()
sets and whether that passes its audit, and which groups param_groups() makes, with seconds of each; peers
in the same run where Python has them (pip install anyinit mup).

usage: ten_models.py [MODEL...]   a Markdown table each; exit 1 where a model is not read, fails its check,
                                  is left with a parameter that is not set, or has no groups
"""
import contextlib
import importlib.util
import io
import os
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import torch.nn as nn
import torch.nn.functional as F
import transformers as t

import scalecalc
import scalecalc.torch

WIDTH, WORDS, TOKENS, SEQUENCES = 128, 512, 32, 8


class Plain(nn.Module):
    """As its user wrote it: gated branches on a normed stream, under names of its own."""

    def __init__(self, width):
        super().__init__()
        self.stem = nn.Linear(64, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.ups = nn.ModuleList(nn.Linear(width, 8 * width) for _ in range(4))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            gate, value = up(norm(x)).chunk(2, dim=-1)
            x = x + down(F.silu(gate) * value)
        return self.head(self.norm(x))


def language(width, **more):
    return {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": WORDS, "bos_token_id": 0, "eos_token_id": 0,
            "pad_token_id": 0, **more}


def factories():
    """By name: a module of a width."""
    off = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
    return {
        "GPT-2": lambda w: t.GPT2LMHeadModel(t.GPT2Config(
            n_layer=2, n_embd=w, n_head=4, vocab_size=WORDS, n_positions=TOKENS, bos_token_id=0,
            eos_token_id=0, **off)),
        "LLaMA": lambda w: t.LlamaForCausalLM(t.LlamaConfig(**language(w, num_key_value_heads=2))),
        "Qwen3": lambda w: t.Qwen3ForCausalLM(t.Qwen3Config(**language(
            w, num_key_value_heads=2, head_dim=w // 4))),
        "Gemma 2": lambda w: t.Gemma2ForCausalLM(t.Gemma2Config(**language(
            w, num_key_value_heads=2, head_dim=w // 4, query_pre_attn_scalar=w // 4))),
        "Mixtral": lambda w: t.MixtralForCausalLM(t.MixtralConfig(**language(
            w, num_key_value_heads=2, num_local_experts=4))),
        "BERT": lambda w: t.BertForMaskedLM(t.BertConfig(**language(w), max_position_embeddings=TOKENS)),
        "T5": lambda w: t.T5ForConditionalGeneration(t.T5Config(
            d_model=w, d_ff=2 * w, d_kv=w // 4, num_layers=2, num_heads=4, vocab_size=WORDS)),
        "ViT": lambda w: t.ViTForImageClassification(t.ViTConfig(
            hidden_size=w, intermediate_size=2 * w, num_hidden_layers=2, num_attention_heads=4,
            image_size=32, patch_size=8)),
        "ConvNeXt": lambda w: t.ConvNextForImageClassification(t.ConvNextConfig(
            hidden_sizes=[w // 4, w // 2], depths=[2, 2], num_stages=2, image_size=32, patch_size=4)),
        "plain nn.Module": Plain,
    }


def example_of(name):
    draws = torch.Generator().manual_seed(1)
    if name == "plain nn.Module":
        return torch.randn(SEQUENCES * TOKENS, 64, generator=draws)
    if name in ("ViT", "ConvNeXt"):
        return torch.randn(SEQUENCES, 3, 32, 32, generator=draws)
    words = torch.randint(0, WORDS, (SEQUENCES, TOKENS), generator=draws)
    return {"input_ids": words, "decoder_input_ids": words} if name == "T5" else words


def timed(call):
    """What it returns or the error, and its seconds."""
    begun = time.perf_counter()
    try:
        made = call()
    except Exception as error:  # a table has rows of failures too
        made = error
    return made, time.perf_counter() - begun


def short(error):
    text = f"{type(error).__name__}: {str(error).strip()}".replace("|", "/").split("\n")[0]
    return text if len(text) <= 100 else text[:97] + "..."


def recognised(module, model):
    own = {name for name, one in module.named_modules()
           if next(iter(one.parameters(recurse=False)), None) is not None}
    return f"{len(own & {part.name for part in model.parts})} of {len(own)} modules, {model.source}"


def ours(name, factory):
    """(cells, whether all is well)"""
    torch.manual_seed(0)
    module, example = factory(WIDTH), example_of(name)
    model, first = timed(lambda: scalecalc.torch.read(module, example))
    checked, second = timed(lambda: scalecalc.torch.check(module, example))
    with_config = hasattr(module, "config")

    def start():
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.fill_(float("nan"))
        return scalecalc.torch.init_(module, model=None if with_config else model)

    report, third = timed(start)
    audited = scalecalc.torch.audit(module, model=None if with_config else model) \
        if not isinstance(report, Exception) else None
    torch.manual_seed(0)
    base = {"width": WIDTH // 8 if name == "ConvNeXt" else WIDTH // 2}
    groups, fourth = timed(lambda: scalecalc.torch.param_groups(
        module := factory(WIDTH), 1e-3, base=base, example=None if with_config else example))
    count = len(list(factory(WIDTH).parameters()))
    cells, well = [name], True
    for made, seconds, text in (
            (model, first, lambda: recognised(module, model)),
            (checked, second, lambda: f"{len(checked.rows)} figures pass" if checked.passed
             else f"{checked.first}: {checked.why}"),
            (report, third, lambda: f"{len(report.set)} of {count} set, audit "
             + ("passes" if audited.passed else "fails")),
            (groups, fourth, lambda: f"{len(groups)} groups, "
             f"{sum(len(group['params']) for group in groups)} of {count}")):
        failed = isinstance(made, Exception)
        cells += [short(made) if failed else text(), f"{seconds:.2f}"]
        well = well and not failed
    return cells, well and checked.passed and audited.passed


def by_anyinit(name, factory):
    import anyinit

    torch.manual_seed(0)
    module, example = factory(WIDTH), example_of(name)
    report, seconds = timed(lambda: anyinit.initialize(module, seed=0, mode="analytic",
                                                       input_spec=example))
    if isinstance(report, Exception):
        return [short(report), f"{seconds:.2f}"]
    off = [max(row.measured / row.predicted, row.predicted / row.measured) for row in report.layers
           if row.predicted and row.measured]
    worst = f"predictions up to {max(off):.2g} times off" if off else "no prediction"
    return [f"{len(report.layers)} scaled, {len(report.unscaled)} not; {worst}", f"{seconds:.2f}"]


def by_mup(name, factory):
    import mup

    torch.manual_seed(0)
    module = factory(WIDTH)

    def groups():
        with contextlib.redirect_stdout(io.StringIO()):
            mup.set_base_shapes(module, factory(WIDTH // 2), delta=factory(WIDTH // 4),
                                do_assert=asserting)
        return mup.MuAdamW(module.parameters(), lr=1e-3).param_groups

    asserting, wants = True, ""
    made, seconds = timed(groups)
    if isinstance(made, AssertionError):
        module, asserting, wants = factory(WIDTH), False, "wants MuReadout; without: "
        made, seconds = timed(groups)
    if isinstance(made, Exception):
        return [wants + short(made), f"{seconds:.2f}"]
    theirs = {id(one): group["lr"] for group in made for one in group["params"]}
    mine = scalecalc.torch.param_groups(
        module, 1e-3, base={"width": WIDTH // 8 if name == "ConvNeXt" else WIDTH // 2},
        example=None if hasattr(module, "config") else example_of(name))
    rates = {id(one): group["lr"] for group in mine for one in group["params"]}
    same = sum(abs(theirs[key] / rate - 1) < 1e-9 for key, rate in rates.items() if key in theirs)
    return [f"{wants}{len(made)} groups, {same} of {len(rates)} rates as ours", f"{seconds:.2f}"]


def table(title, head, rows):
    print(f"{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def main():
    torch.set_num_threads(1)
    t.logging.set_verbosity_error()
    every = factories()
    chosen = {name: every[name] for name in sys.argv[1:] or every}
    rows, well = [], True
    timed(lambda: ours("plain nn.Module", every["plain nn.Module"]))  # imports
    for name, factory in chosen.items():
        cells, right = ours(name, factory)
        rows.append(cells)
        well = well and right
    table("scalecalc " + scalecalc.__version__,
          ["model", "read", "s", "check", "s", "init_", "s", "param_groups", "s"], rows)
    peers = [(title, by) for title, by in (("anyinit", by_anyinit), ("mup", by_mup))
             if importlib.util.find_spec(title)]
    if peers:
        head = ["model"] + [cell for title, _ in peers for cell in (title, "s")]
        table("Peers", head, [[name] + [cell for _, by in peers for cell in by(name, factory)]
                              for name, factory in chosen.items()])
    sys.exit(not well)


if __name__ == "__main__":
    main()
