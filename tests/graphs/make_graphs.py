"""Exports small networks with torch.export, as graphs that tests read.

  make_graphs.py FOLDER   writes FOLDER/NAME.pt2 of each network of modules.py and of transformers
  make_graphs.py --json [NAME...]
                          writes graphs/NAME.json beside this file: the JSON graph of each without
                          what nothing reads, and the values of its constants; and without names a
                          small graph with its weights, ../cli/graph.pt2

The Python needs torch and transformers (tests/frameworks/requirements.txt); nothing is downloaded.
"""

import json
import pathlib
import re
import sys
import tempfile
import zipfile

import torch

import modules

HERE = pathlib.Path(__file__).parent


def of_transformers(name):
    import transformers as t

    common = {"attn_implementation": "sdpa"}
    layers = 48 if name.endswith("-48") else 2
    if name.startswith("gpt2"):
        kind = "eager" if name == "gpt2-eager" else "sdpa"
        config = t.GPT2Config(vocab_size=64, n_positions=16, n_embd=64, n_layer=layers, n_head=4,
                              use_cache=False, bos_token_id=0, eos_token_id=0,
                              attn_implementation=kind)
        return t.GPT2LMHeadModel(config)
    if name.startswith("llama"):
        config = t.LlamaConfig(vocab_size=64, hidden_size=64, intermediate_size=96,
                               num_hidden_layers=layers, num_attention_heads=4,
                               num_key_value_heads=2, max_position_embeddings=16,
                               use_cache=False, **common)
        return t.LlamaForCausalLM(config)
    if name == "bert":
        config = t.BertConfig(vocab_size=64, hidden_size=64, intermediate_size=96,
                              num_hidden_layers=2, num_attention_heads=4,
                              max_position_embeddings=16, **common)
        return t.BertForMaskedLM(config)
    if name == "gemma2":
        config = t.Gemma2Config(vocab_size=64, hidden_size=64, intermediate_size=96,
                                num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
                                head_dim=16, query_pre_attn_scalar=16, sliding_window=8,
                                max_position_embeddings=16, use_cache=False,
                                attn_implementation="eager")
        return t.Gemma2ForCausalLM(config)
    if name.startswith("t5"):
        config = t.T5Config(vocab_size=64, d_model=100, d_kv=16, d_ff=100, num_layers=2,
                            num_decoder_layers=2, num_heads=4, relative_attention_num_buckets=8,
                            relative_attention_max_distance=12, use_cache=False,
                            feed_forward_proj="gated-gelu" if name == "t5-gated" else "relu",
                            attn_implementation="eager")
        return t.T5ForConditionalGeneration(config)
    if name == "convnext":
        config = t.ConvNextConfig(hidden_sizes=[32, 64], depths=[2, 3], num_stages=2,
                                  num_labels=10, image_size=32)
        return t.ConvNextForImageClassification(config)
    if name == "resnet50":
        config = t.ResNetConfig(num_labels=64)
        return t.ResNetForImageClassification(config)
    if name == "resnet":
        config = t.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 2],
                                layer_type="basic", num_labels=10)
        return t.ResNetForImageClassification(config)
    config = t.ViTConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, image_size=16, patch_size=4, num_labels=10, **common)
    return t.ViTForImageClassification(config)


def networks():
    """Name -> (a function that draws the module, its inputs)."""
    ids = torch.zeros(2, 16, dtype=torch.long)
    # Latents, times and labels.
    images = (torch.zeros(2, 4, 8, 8), torch.zeros(2, dtype=torch.long),
              torch.zeros(2, dtype=torch.long))
    return {
        "mlp": (modules.Mlp, (torch.zeros(2, 48),)),
        "residual-mlp": (modules.ResidualMlp, (torch.zeros(2, 32),)),
        "convnet": (modules.ConvNet, (torch.zeros(2, 3, 8, 8),)),
        "gpt": (modules.Gpt, (ids,)),
        "written-out": (modules.WrittenOut, (torch.zeros(2, 12, 48),)),
        "einsum": (modules.Einsum, (torch.zeros(2, 8, 32),)),
        "encoder": (modules.Encoder, (torch.zeros(2, 8, 32),)),
        "dropout-mlp": (modules.DropoutMlp, (torch.zeros(2, 48),)),
        "blocks": (modules.Blocks, (torch.zeros(2, 12, 24),)),
        "gated-stack": (modules.GatedStack, (torch.zeros(2, 64),)),
        "translator": (modules.Translator, (torch.zeros(2, 8, 32), torch.zeros(2, 6, 32))),
        "unet": (modules.UNet, (torch.zeros(2, 3, 16, 16),)),
        "unet-upsample": (lambda: modules.UNet(upsample=True), (torch.zeros(2, 3, 16, 16),)),
        "dit": (lambda: modules.DiT(zero=False), images),
        "dit-zero": (modules.DiT, images),
        "long-skip": (modules.LongSkip, (torch.zeros(2, 16),)),
        "unknown": (modules.Unknown, (torch.zeros(2, 16),)),
        "two-inputs": (modules.TwoInputs, (torch.zeros(2, 16), torch.zeros(2, 16))),
        "gpt2": (lambda: of_transformers("gpt2"), (ids,)),
        "gpt2-eager": (lambda: of_transformers("gpt2-eager"), (ids,)),
        "gpt2-48": (lambda: of_transformers("gpt2-48"), (ids,)),
        "llama": (lambda: of_transformers("llama"), (ids,)),
        "llama-48": (lambda: of_transformers("llama-48"), (ids,)),
        "bert": (lambda: of_transformers("bert"), (ids,)),
        "gemma2": (lambda: of_transformers("gemma2"), (ids,)),
        "t5": (lambda: of_transformers("t5"), {"input_ids": ids,
                                               "decoder_input_ids": ids[:, :12]}),
        "t5-gated": (lambda: of_transformers("t5-gated"), {"input_ids": ids,
                                                           "decoder_input_ids": ids[:, :12]}),
        "convnext": (lambda: of_transformers("convnext"), (torch.zeros(2, 3, 32, 32),)),
        "resnet50": (lambda: of_transformers("resnet50"), (torch.zeros(2, 3, 64, 64),)),
        "resnet": (lambda: of_transformers("resnet"), (torch.zeros(2, 3, 32, 32),)),
        "vit": (lambda: of_transformers("vit"), (torch.zeros(2, 3, 16, 16),)),
    }


# Exported as they are trained.
TRAINED = {"dropout-mlp"}


def export(name, path, strict=False):
    draw, inputs = networks()[name]
    torch.manual_seed(0)
    save(draw().train(name in TRAINED), inputs, path, strict)


def save(model, inputs, path, strict=False):
    args, named = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    torch.export.save(torch.export.export(model, args, named, strict=strict), path)


def operations(path):
    """How many a file has."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
        return len(json.loads(archive.read(name))["graph_module"]["graph"]["nodes"])


def short_trace(trace):
    """The last frame that is not torch's, without its folder."""
    frames = re.findall(r'File "([^"]*)", line (\d+), in (\S+)\n *(.*)', trace)
    own = [f for f in frames if "/torch/" not in f[0]] or frames[:1]
    if not own:
        return ""
    path, line, function, code = own[-1]
    return f'File "{pathlib.Path(path).name}", line {line}, in {function}\n    {code}'


def slim(text, archive, root):
    """The graph without what nothing reads, with constants and the list of weights."""
    whole = json.loads(text)
    graph = whole["graph_module"]["graph"]
    for node in graph["nodes"]:
        meta = node["metadata"]
        node["metadata"] = {"stack_trace": short_trace(meta.get("stack_trace", "")),
                            "nn_module_stack": meta.get("nn_module_stack", "").split(";")[-1]}
        for key in ("is_hop_single_tensor_return", "name"):
            node.pop(key, None)
        for argument in node["inputs"]:
            argument.pop("kind", None)
            if "as_graph" in argument["arg"]:
                argument["arg"] = {"as_graph": {}}
        if node["target"].endswith("_assert_tensor_metadata.default"):
            node["inputs"] = node["inputs"][:1]
    values = {name: {"dtype": v["dtype"], "sizes": v["sizes"]}
              for name, v in graph["tensor_values"].items()}
    slimmed = {"graph_module": {"graph": {"nodes": graph["nodes"], "tensor_values": values},
                                "signature": whole["graph_module"]["signature"]},
               "torch_version": whole["torch_version"]}
    lists = {}
    for entry in archive.namelist():
        if entry.endswith("_config.json"):
            lists[entry.removeprefix(root)] = json.loads(archive.read(entry))
    data = {entry.removeprefix(root): list(archive.read(entry)) for entry in archive.namelist()
            if "/data/constants/" in entry and not entry.endswith(".json")}
    # Buffers that are saved with the weights are no draws, nor what is not trained.
    for about in lists.get("data/weights/model_weights_config.json", {"config": {}})["config"].values():
        if not about["is_param"] or not about["tensor_meta"]["requires_grad"]:
            path = "data/weights/" + about["path_name"]
            data[path] = list(archive.read(root + path))
    return {"models/model.json": slimmed, "lists": lists, "data": data}


# Too large to be kept, or alike to others.
NOT_KEPT = {"dit-zero", "dropout-mlp", "gated-stack", "t5-gated", "resnet50", "gpt2-48",
            "llama-48"}


def write_json(names):
    (HERE / "graphs").mkdir(exist_ok=True)
    for name in names or [name for name in networks() if name not in NOT_KEPT]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.pt2"
            export(name, path)
            with zipfile.ZipFile(path) as archive:
                root = archive.namelist()[0].split("/")[0] + "/"
                text = archive.read(root + "models/model.json")
                slimmed = slim(text, archive, root)
        out = HERE / "graphs" / f"{name}.json"
        out.write_text(json.dumps(slimmed, separators=(",", ":")) + "\n")


def write_small():
    """A graph as its file is, of a few kilobytes."""
    torch.manual_seed(0)
    model = modules.ResidualMlp(width=8, depth=2, classes=4).eval()
    program = torch.export.export(model, (torch.zeros(2, 32),), strict=False)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.pt2"
        torch.export.save(program, path)
        with zipfile.ZipFile(path) as archive, \
                zipfile.ZipFile(HERE.parent / "cli" / "graph.pt2", "w") as out:
            root = archive.namelist()[0].split("/")[0] + "/"
            text = archive.read(root + "models/model.json")
            slimmed = slim(text, archive, root)["models/model.json"]
            out.writestr(zipfile.ZipInfo("model/models/model.json"),
                         json.dumps(slimmed, separators=(",", ":")))
            for entry in archive.namelist():
                if "/data/weights/" in entry:
                    out.writestr(zipfile.ZipInfo("model/" + entry.removeprefix(root)),
                                 archive.read(entry))


def main():
    if sys.argv[1:2] == ["--json"]:
        write_json(sys.argv[2:])
        if not sys.argv[2:]:
            write_small()
    elif len(sys.argv) == 2:
        folder = pathlib.Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        for name in networks():
            export(name, folder / f"{name}.pt2")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
