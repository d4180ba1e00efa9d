"""Models of transformers, drawn by their own code, beside `scalecalc propagate` of their configs.

usage: real_models.py PROGRAM [--seeds N] [MODEL_TYPE[+ROPE_TYPE]...]
Each architecture that the program describes is built at a small size, without dropout, with seeds
0 .. N - 1 (32; of some more: deviations.py). Words come by Zipf's law, targets are uniform, the loss
is summed over tokens; a model without a head of words gets a matrix as the program plans it. Compared
are, as means over seeds beside what is predicted: the second moment of the stream behind every block,
the cosine between its tokens, the mean square of the gradient of every parameter. Prints a row for
each: the largest deviation of the stream and of the cosine; the median of the gradients, and in
brackets what the seeds alone would leave of it; the largest; how many figures are outside (the stream
by 3 standard errors and 3%, gradients by as many and 15%, their median by 5%), and which gradients,
behind the cause. Exit 1 where one of these limits is passed by what no remark of `import` explains
(EXPLAINED). A model of two stacks gets words of its own for each; the gradient of the tensor that both
stacks embed by is held against the sum of theirs. Models of images that are lists of layers are in
real_images.py, those of torchvision and timm, where these are installed, in image_libraries.py.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "architectures"))
from make_models import CLASSES, SMALL, config_of  # noqa: E402
from deviations import Row  # noqa: E402
from real_images import CONFIGS, ListModel  # noqa: E402
from stream_moments import keep_behind, of_tokens  # noqa: E402
import image_libraries  # noqa: E402

TOKENS, SEEDS = 32, 32
# What a remark that begins so explains.
EXPLAINED = {"rotary positions turn": {"attn.q.weight", "attn.q.bias", "attn.k.weight"},
             "logit_scale": {"head.weight"},
             # The table is narrower than the model, and not what the head reads by.
             "project_in and project_out": {"embedding.weight"},
             "the scores of relative positions": {"attn.q.weight", "attn.q.bias", "attn.k.weight"}}
# The small configs of make_models.py, wider and deeper: most moments are off by some 1/width.
WIDER = {48: 256, 80: 512, 32: 128, 96: 512, 24: 128, 16: 64}
SIZES = {"hidden_size", "moe_intermediate_size", "shared_expert_intermediate_size", "n_embd", "d_model", "dim", "intermediate_size", "ffn_dim", "hidden_dim",
         "vocab_size", "head_dim", "word_embed_proj_dim", "embedding_size", "d_ff", "encoder_ffn_dim"}
POSITIONS = {"max_position_embeddings", "n_positions", "max_seq_len", "max_source_positions",
             "max_target_positions"}
LAYERS = {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
          "decoder_layers", "num_decoder_layers"}
# Rounds in which a tensor holds q, k and v: of each head of keys, or of four devices, which have q, v
# and k.
ROUNDS = {"bloom": "kv", "gpt_neox": "kv", "falcon": "kv", "codegen": 4}
ORDER = {"codegen": "qvk"}
# Whose head reads the mean of all tokens; of other models of images the first token.
POOLED = {"siglip_vision_model"}
# Towers of texts with the map of the last token into the space of texts and images, and where their
# output has it.
TEXT_TOWERS = {"clip_text_model": ("CLIPTextModelWithProjection", "text_embeds"),
               "siglip_text_model": ("SiglipTextModel", "pooler_output")}
# Tensors of all experts of a layer.
EXPERTS = ("mlp.experts.gate_up_proj", "mlp.experts.down_proj")
ROBERTA = {"roberta", "xlm-roberta", "camembert"}
TWO_STACKS = {"bart", "t5", "whisper"}
# Rotary positions that MODEL_TYPE+ROPE_TYPE has.
SCALED = {
    "dynamic": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0},
    "linear": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 8.0},
    "llama3": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": TOKENS // 2},
    "yarn": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0,
             "original_max_position_embeddings": TOKENS // 2},
    "longrope": {"rope_type": "longrope", "rope_theta": 10000.0, "factor": 32.0,
                 "original_max_position_embeddings": TOKENS // 2},
}
# Of the sizes of make_models.py the second, which differs in more than sizes: gates, a head of its own.
SECOND = {"t5+gated", "opt+post", "deberta-v2+relative"}
MORE = ["t5+gated", "llama+dynamic", "llama+linear", "llama+llama3", "llama+yarn", "phi3+longrope",
        "gemma3_text+linear", "resnet+passes", "convnext+passes", "convnext+drop", "opt+post",
        "deberta-v2+relative"]


def scaled(rope_type, config):
    """Of longrope one number for each pair of features, rising with it."""
    made = dict(SCALED[rope_type])
    if rope_type == "longrope":
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        pairs = int(head * getattr(config, "partial_rotary_factor", 1.0)) // 2
        made["short_factor"] = [1 + i / pairs for i in range(pairs)]
        made["long_factor"] = [1 + 31 * i / pairs for i in range(pairs)]
    return made


def add_scaling(model_type, rope_type, values):
    values["rope_parameters"] = scaled(rope_type, config_of(model_type, values))
    if model_type == "phi3":
        values["original_max_position_embeddings"] = TOKENS // 2
    if model_type == "gemma3_text":  # of every second layer, and a window of the others
        values["rope_parameters"] = {
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": dict(values["rope_parameters"], rope_theta=1e6)}
        values["layer_types"] = ["sliding_attention", "full_attention"] * 2
        values["sliding_window"] = TOKENS // 4


def wide(model_type, values):
    made = {}
    for key, value in values.items():
        made[key] = (wide("", value) if isinstance(value, dict) else WIDER.get(value, value) if key in SIZES else 4 if key in LAYERS
                     else TOKENS if key in POSITIONS else value)
    if model_type == "gpt_neo":
        made["attention_types"] = [[["global", "local"], 2]]
    if model_type in ("bart", "whisper"):
        made["decoder_ffn_dim"] = made["encoder_ffn_dim"]
    if model_type == "helium":
        made["head_dim"] = made["hidden_size"] // made["num_attention_heads"]
    if model_type == "opt" and not made.get("do_layer_norm_before", True):
        made["word_embed_proj_dim"] = made["hidden_size"] // 2
    if model_type == "t5":
        made["d_kv"] = made["d_model"] // made["num_heads"]
    if model_type == "qwen3_moe":
        made["mlp_only_layers"] = []
    if model_type in ROBERTA:
        made["max_position_embeddings"] += 2  # the first two stand for no position
    return made


def without_dropout(config):
    for key, value in config.to_dict().items():
        if "drop" in key and isinstance(value, (int, float)):
            setattr(config, key, 0.0)
    return config


def asked(program, command, path, *options):
    text = subprocess.run([program, command, path, *options, "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text)["results"]


def class_of(model_type):
    """With the head of words where the program describes it, else the model alone."""
    if model_type in TEXT_TOWERS:
        return getattr(transformers, TEXT_TOWERS[model_type][0]), True
    kind = transformers.CONFIG_MAPPING[model_type]
    if model_type == "whisper":
        return transformers.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING[kind], True
    if model_type == "gemma3":
        return transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING[kind], True
    if model_type in TWO_STACKS:
        return transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING[kind], True
    masked = model_type in ROBERTA | {"bert", "distilbert", "deberta-v2", "electra"}
    heads = (transformers.MODEL_FOR_MASKED_LM_MAPPING if masked
             else transformers.MODEL_FOR_CAUSAL_LM_MAPPING)
    if kind in heads:
        return heads[kind], True
    if kind not in transformers.MODEL_MAPPING:
        return getattr(transformers, CLASSES[model_type][0]), False
    return transformers.MODEL_MAPPING[kind], False


def blocks_of(model, count):
    return next(module for module in model.modules()
                if isinstance(module, torch.nn.ModuleList) and len(module) == count)


def stacks_of(model, depth):
    """The blocks of each stack, by what its paths begin with; where images are read too, of the
    text."""
    if hasattr(model.config, "text_config"):
        return {"": blocks_of(model.model.language_model, depth)}
    if not model.config.is_encoder_decoder:
        return {"": blocks_of(model, depth)}
    return {"encoder.": blocks_of(model.get_encoder(), depth),
            "": blocks_of(model.get_decoder(), depth)}


def words(config, generator):
    """Rank k in proportion to 1/(k + 1), from the last row on: the first may be padding."""
    weights = 1 / torch.arange(1, config.vocab_size + 1, dtype=torch.float)
    ranks = torch.multinomial(weights, TOKENS, replacement=True, generator=generator)
    ids = config.vocab_size - 1 - ranks
    if config.model_type == "clip_text_model":  # the head reads the word of the highest id
        ids = (ids - 1).clamp(min=0)
        ids[-1] = config.vocab_size - 1
        return {"input_ids": ids[None]}
    padding = getattr(config, "pad_token_id", None)
    if padding is not None:
        ids[ids == padding] = config.vocab_size - 1
    return {"input_ids": ids[None]}


def frames(config, generator):
    """Of sound, with half of their variance in common; two for each token."""
    shape = (1, config.num_mel_bins, 2 * config.max_source_positions)
    own = torch.randn(shape, generator=generator)
    common = torch.randn(1, config.num_mel_bins, 1, generator=generator)
    return {"input_features": (own + common) / math.sqrt(2)}


def images(config, generator):
    """Patches with half of their variance in common."""
    side, patch = config.image_size, config.patch_size
    own = torch.randn(3, side, side, generator=generator)
    common = torch.randn(3, patch, patch, generator=generator).repeat(1, side // patch, side // patch)
    return {"pixel_values": ((own + common) / math.sqrt(2))[None]}


def parts_of_experts(name, gradient):
    """The same of a tensor that stacks all experts of a layer: gate above in, or out. They are alike:
    the first stands for their mean, of which few tokens make less noise."""
    block = int(name.split("layers.")[1].split(".")[0])
    path = f"block[{block}].ffn.expert[0]"
    if name.endswith("down_proj"):
        return [(f"{path}.out.weight", gradient)]
    gate, into = gradient.chunk(2, dim=1)
    return [(f"{path}.gate.weight", gate), (f"{path}.in.weight", into)]


def parts_of(gradient, rows, rounds):
    """(path, its share of the gradient) of the parameters that a tensor holds in so many rounds."""
    if len(rows) == 1:
        return [(rows[0]["path"], gradient)]
    shapes = [[int(size) for size in row["shape"].split("x")] for row in rows]
    axis = next((i for i in range(gradient.dim())
                 if sum(shape[i] for shape in shapes) == gradient.shape[i]
                 and gradient.shape[i] != shapes[0][i]), 0)
    sizes = [shape[axis] // rounds for shape in shapes]
    turned = gradient.movedim(axis, 0).reshape(rounds, sum(sizes), -1)
    return [(row["path"], part) for row, part in zip(rows, turned.split(sizes, dim=1))]


class Model:
    """What the program says of an architecture at its small size."""

    def __init__(self, program, model_type, folder):
        self.type = model_type
        model_type, _, rope_type = model_type.partition("+")
        values = wide(model_type, SMALL[model_type][1 if self.type in SECOND else 0])
        self.two_stacks = model_type in TWO_STACKS
        if rope_type in SCALED:
            add_scaling(model_type, rope_type, values)
        self.config = without_dropout(config_of(model_type, values))
        self.config._attn_implementation = "eager"
        self.made, self.has_head = class_of(model_type)
        saved = dict(self.config.to_dict(), architectures=[self.made.__name__])
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(saved))
        self.is_vision = hasattr(self.config, "image_size")
        self.of_text = self.config.get_text_config()
        remarks = asked(program, "import", str(path))["remarks"]
        self.explained = {kind for begin, kinds in EXPLAINED.items() for kind in kinds
                          if any(remark.startswith(begin) for remark in remarks)}
        length = [] if self.is_vision else ["--sequence", str(TOKENS)]
        if self.two_stacks:
            length += ["--memory-sequence", str(TOKENS)]
        self.predicted = asked(program, "propagate", str(path), *length)
        planned = asked(program, "init", str(path), "--names", "hf", *length)["parameters"]
        self.tensors = {}
        for row in planned:
            if row["name"]:
                self.tensors.setdefault(row["name"], []).append(row)
        for rows in self.tensors.values():
            rows.sort(key=lambda row: ORDER.get(model_type, "qkv").find(row["role"]))
        self.head = next((row for row in planned if row["role"] == "head"), None)
        kv = next(int(row["shape"].split("x")[0]) for row in planned if row["role"] == "k")
        q = next(int(row["shape"].split("x")[0]) for row in planned if row["role"] == "q")
        heads = self.of_text.num_attention_heads
        rounds = ROUNDS.get(model_type, 1)
        self.rounds = heads * kv // q if rounds == "kv" else rounds
        self.depth = self.of_text.num_hidden_layers

    def rows_of(self, name):
        """Of the plan, by the longest end of the name that it has."""
        steps = name.split(".")
        return next((self.tensors[".".join(steps[i:])] for i in range(len(steps))
                     if ".".join(steps[i:]) in self.tensors), None)

    def site(self, stack, block, sites):
        path = f"{stack}block[{block}]"
        return next(path for path in (path + ".ffn", path) if path in sites)

    def read_by_head(self, output):
        if not self.is_vision:
            return output.last_hidden_state[0]
        if self.type in POOLED:
            return output.last_hidden_state[0].mean(0, keepdim=True)
        # CLIP norms that token alone.
        pooled = self.type == "clip_vision_model"
        return output.pooler_output if pooled else output.last_hidden_state[0][:1]

    def inputs(self, generator):
        if self.is_vision:
            return images(self.config, generator)
        if not self.two_stacks:
            return words(self.of_text, generator)
        of_frames = hasattr(self.config, "num_mel_bins")
        made = (frames if of_frames else words)(self.config, generator)
        made["decoder_input_ids"] = words(self.config, generator)["input_ids"]
        return made

    def run(self, seed, second, cross, gradients):
        torch.manual_seed(seed)
        model = self.made(self.config).eval()
        generator = torch.Generator().manual_seed(seed)
        inputs = self.inputs(generator)
        sites = {site["path"] for site in self.predicted["sites"]}

        for stack, blocks in stacks_of(model, self.depth).items():
            for i, block in enumerate(blocks):
                keep_behind(block, self.site(stack, i, sites), of_tokens, second, cross)
        output = model(**inputs)
        if self.type in TEXT_TOWERS:
            logits, weight = getattr(output, TEXT_TOWERS[self.type][1]), None
        elif self.has_head:
            logits, weight = output.logits[0], None
        else:
            stream = self.read_by_head(output)
            rows, columns = (int(size) for size in self.head["shape"].split("x"))
            classes = rows * columns // stream.shape[-1]
            weight = torch.randn(classes, stream.shape[-1], generator=generator) * self.head["std"]
            weight.requires_grad_()
            logits = stream @ weight.T
        targets = torch.randint(logits.shape[-1], (logits.shape[0],), generator=generator)
        torch.nn.functional.cross_entropy(logits, targets, reduction="sum").backward()
        for name, parameter in model.named_parameters():
            rows = self.rows_of(name)
            if parameter.grad is not None and name.endswith(EXPERTS):
                parts = parts_of_experts(name, parameter.grad)
            elif rows is None or parameter.grad is None:
                continue
            else:
                parts = parts_of(parameter.grad, rows, self.rounds)
            for path, gradient in parts:
                gradients.add(path, gradient.double().square().mean().item())
        if weight is not None:
            gradients.add(self.head["path"], weight.grad.double().square().mean().item())


def model_of(program, model_type, folder):
    if model_type.partition("+")[0] in CONFIGS:
        return ListModel(asked, program, model_type, folder)
    if model_type.partition("+")[0] in image_libraries.SIZES:
        return image_libraries.LibraryModel(asked, program, model_type, folder)
    return Model(program, model_type, folder)


def described(program, model_type, folder):
    path = pathlib.Path(folder) / "config.json"
    path.write_text(json.dumps(config_of(model_type, wide(model_type, SMALL[model_type][0])).to_dict()))
    return subprocess.run([program, "import", str(path)], capture_output=True,
                          check=False).returncode == 0


def main():
    arguments = sys.argv[1:]
    seeds = SEEDS
    if "--seeds" in arguments:
        at = arguments.index("--seeds")
        seeds = int(arguments[at + 1])
        del arguments[at:at + 2]
    program, types = arguments[0], arguments[1:]
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    print("| architecture | stream | cosine | gradients, median (noise) | largest | outside | which |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        types = types or [t for t in SMALL if t in transformers.CONFIG_MAPPING
                          and described(program, t, folder)] + MORE + image_libraries.installed()
        rows = []
        for model_type in types:
            rows.append(Row(model_of(program, model_type, folder), seeds))
            print(rows[-1].text(), flush=True)
    sys.exit(not all(row.passes() for row in rows))


if __name__ == "__main__":
    main()
