"""Networks as users write them, exported by make_graphs.py and measured by the suite `frameworks`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mlp(nn.Module):
    def __init__(self, features=48, width=64, classes=10):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, classes))

    def forward(self, x):
        return self.layers(x)


class ResidualMlp(nn.Module):
    """Gates and branches of several widths, one of them scaled."""

    def __init__(self, width=64, depth=3, classes=10):
        super().__init__()
        self.stem = nn.Linear(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.gates = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(depth))
        self.outs = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for norm, gate, out in zip(self.norms, self.gates, self.outs):
            a, b = gate(norm(x)).chunk(2, dim=-1)
            x = x + 0.5 * out(F.silu(a) * b)
        return self.head(x)


class ConvNet(nn.Module):
    def __init__(self, channels=24, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.a = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm_a = nn.BatchNorm2d(channels)
        self.b = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.down = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels)
        self.head = nn.Linear(2 * channels, classes)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        x = x + self.b(F.relu(self.norm_a(self.a(x))))
        x = self.depthwise(F.relu(self.down(x)))
        return self.head(F.relu(x).mean(dim=(2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Gpt(nn.Module):
    """Pre-Norm with a tied head, as small language models are written."""

    def __init__(self, vocab=64, width=64, heads=4, depth=3, tokens=16):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.positions = nn.Parameter(0.02 * torch.randn(tokens, width))
        self.attentions = nn.ModuleList(Attention(width, heads) for _ in range(depth))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * depth))
        self.ins = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(depth))
        self.outs = nn.ModuleList(nn.Linear(4 * width, width, bias=False) for _ in range(depth))
        self.final = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.words.weight
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.05)

    def forward(self, ids):
        x = self.words(ids) + self.positions[: ids.shape[1]]
        for i, attention in enumerate(self.attentions):
            x = x + attention(self.norms[2 * i](x))
            x = x + self.outs[i](F.gelu(self.ins[i](self.norms[2 * i + 1](x))))
        return self.head(self.final(x))


class WrittenOut(nn.Module):
    """Post-Norm with attention, a norm and an activation in single operations."""

    def __init__(self, width=48, heads=3, depth=2, tokens=12, classes=7):
        super().__init__()
        self.heads, self.tokens = heads, tokens
        self.q = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.k = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.v = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.o = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.up = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(depth))
        self.head = nn.Linear(width, classes)
        self.register_buffer("mask", torch.tril(torch.ones(tokens, tokens)))

    def norm(self, x, i):
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).pow(2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5)

    def split(self, x):
        return x.reshape(x.shape[0], self.tokens, self.heads, -1).transpose(1, 2)

    def forward(self, x):
        for i in range(len(self.q)):
            q, k, v = self.split(self.q[i](x)), self.split(self.k[i](x)), self.split(self.v[i](x))
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            scores = scores.masked_fill(self.mask == 0, float("-inf"))
            y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2)
            x = self.norm(x + self.o[i](y), 2 * i)
            h = self.up[i](x)
            h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
            x = self.norm(x + self.down[i](h), 2 * i + 1)
        return self.head(x.mean(dim=1))


class Einsum(nn.Module):
    """Heads that are taken apart and put together by einsum, positions turned by tables."""

    def __init__(self, width=32, heads=4, tokens=8, classes=5, base=500.0):
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.head = nn.Linear(width, classes)
        half = width // heads // 2
        angles = torch.outer(torch.arange(tokens).float(), base ** (-torch.arange(half) / half))
        angles = torch.cat([angles, angles], -1)[:, None]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turn(self, x):
        half = x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * self.cos + turned * self.sin

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, -1) for y in self.qkv(self.norm(x)).split(d, -1))
        scores = torch.einsum("bihd,bjhd->bhij", self.turn(q), self.turn(k))
        weights = (scores * (d // self.heads) ** -0.5).softmax(-1)
        y = torch.einsum("bhij,bjhd->bihd", weights, v).reshape(b, t, d)
        return self.head(x + self.out(y))


class Encoder(nn.Module):
    """torch's own encoder."""

    def __init__(self, width=32, depth=2, classes=5):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)
        torch.backends.mha.set_fastpath_enabled(False)
        # Its layers are copies of one until they are drawn.
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)

    def forward(self, x):
        return self.head(self.encoder(x))


class DropoutMlp(nn.Module):
    """A regulariser in train mode: what is dropped is in the graph."""

    def __init__(self, features=48, width=96, classes=10, rate=0.2):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width), nn.GELU(), nn.Dropout(rate),
            nn.Linear(width, width), nn.GELU(), nn.Dropout(rate), nn.Linear(width, classes))

    def forward(self, x):
        return self.layers(x)


class Block(nn.Module):
    """Pre-Norm with torch's own attention."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1),
                                 nn.Linear(4 * width, width))

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, attn_mask=mask)[0]
        return x + self.ffn(self.norm2(x))


class Blocks(nn.Module):
    """A stack of them behind a mask that is made on the way."""

    def __init__(self, width=48, heads=4, depth=3, classes=7):
        super().__init__()
        self.stem = nn.Linear(24, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


class GatedStack(nn.Module):
    """Gated feed-forward layers between RMS norms, with scales of their branches."""

    def __init__(self, width=64, hidden=96, depth=4, classes=10):
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-6) for _ in range(depth + 1))
        self.gates = nn.ModuleList(nn.Linear(width, hidden, bias=False) for _ in range(depth))
        self.ups = nn.ModuleList(nn.Linear(width, hidden, bias=False) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(hidden, width, bias=False) for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for i, down in enumerate(self.downs):
            h = self.norms[i](x)
            x = x + down(F.silu(self.gates[i](h)) * self.ups[i](h))
        return self.head(self.norms[-1](x))


class Translator(nn.Module):
    """torch's own encoder and decoder, whose attention reads the encoder's output."""

    def __init__(self, width=32, heads=4, depth=2, classes=9):
        super().__init__()
        torch.backends.mha.set_fastpath_enabled(False)
        self.model = nn.Transformer(width, heads, depth, depth, 2 * width, dropout=0.0,
                                    batch_first=True, norm_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.model(source, target, tgt_mask=mask, tgt_is_causal=True))


class DoubleConv(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True), nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Ronneberger et al. 2015, as it is commonly written: a class for each pixel."""

    def __init__(self, channels=16, classes=5, upsample=False):
        super().__init__()
        c = channels
        self.inc = DoubleConv(3, c)
        self.down1, self.down2 = DoubleConv(c, 2 * c), DoubleConv(2 * c, 4 * c)
        self.pool = nn.MaxPool2d(2)

        def up(inputs, outputs):
            if upsample:
                return nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(inputs, outputs, 1))
            return nn.ConvTranspose2d(inputs, outputs, 2, stride=2)

        self.up1, self.up2 = up(4 * c, 2 * c), up(2 * c, c)
        self.conv1, self.conv2 = DoubleConv(4 * c, 2 * c), DoubleConv(2 * c, c)
        self.outc = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.pool(x1))
        x = self.down2(self.pool(x2))
        x = self.conv1(torch.cat([x2, self.up1(x)], dim=1))
        x = self.conv2(torch.cat([x1, self.up2(x)], dim=1))
        return self.outc(x)


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class TimeEmbedder(nn.Module):
    def __init__(self, width, frequencies):
        super().__init__()
        self.frequencies = frequencies
        self.mlp = nn.Sequential(nn.Linear(frequencies, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, t):
        half = self.frequencies // 2
        rates = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
        angles = t[:, None].float() * rates[None]
        return self.mlp(torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1))


class DiTBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * width, width))
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.adaLN_modulation(c).chunk(6, dim=1)
        x = x + gate1.unsqueeze(1) * self.attend(modulate(self.norm1(x), shift1, scale1))
        return x + gate2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift2, scale2))


class FinalLayer(nn.Module):
    def __init__(self, width, features):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.linear = nn.Linear(width, features)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 2 * width))

    def forward(self, x, c):
        shift, scale = self.adaLN_modulation(c).chunk(2, dim=1)
        return self.linear(modulate(self.norm(x), shift, scale))


def grid_positions(width, side):
    """Of a square grid, one behind the other: sines and cosines of the column, then of the row."""
    rates = 1 / 10000 ** (torch.arange(width // 4, dtype=torch.float64) / (width // 4))
    waves = torch.arange(side, dtype=torch.float64)[:, None] * rates
    of_place = torch.cat([waves.sin(), waves.cos()], dim=1)
    return torch.cat([of_place.repeat(side, 1), of_place.repeat_interleave(side, 0)], dim=1).float()


class DiT(nn.Module):
    """Peebles and Xie 2023: patches, fixed positions, a time and a label that modulate blocks. `zero`:
    as their paper starts it; else with modulations and an output that are not 0."""

    def __init__(self, width=64, heads=4, depth=3, channels=4, side=8, patch=2, classes=10, zero=True):
        super().__init__()
        self.channels, self.patch, self.grid = channels, patch, side // patch
        self.x_embedder = nn.Conv2d(channels, width, patch, stride=patch)
        self.t_embedder = TimeEmbedder(width, frequencies=64)
        self.y_embedder = nn.Embedding(classes + 1, width)
        self.pos_embed = nn.Parameter(grid_positions(width, self.grid)[None], requires_grad=False)
        self.blocks = nn.ModuleList(DiTBlock(width, heads) for _ in range(depth))
        self.final_layer = FinalLayer(width, patch * patch * channels)
        self.start(zero)

    def start(self, zero):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.xavier_uniform_(self.x_embedder.weight.view(self.x_embedder.weight.shape[0], -1))
        nn.init.zeros_(self.x_embedder.bias)
        nn.init.normal_(self.y_embedder.weight, std=0.02 if zero else 0.5)
        for part in (*self.blocks, self.final_layer):
            nn.init.normal_(part.adaLN_modulation[-1].weight, std=0.0 if zero else 0.1)
        if zero:
            nn.init.normal_(self.t_embedder.mlp[0].weight, std=0.02)
            nn.init.normal_(self.t_embedder.mlp[2].weight, std=0.02)
            nn.init.zeros_(self.final_layer.linear.weight)

    def unpatchify(self, x):
        p, g = self.patch, self.grid
        x = x.reshape(x.shape[0], g, g, p, p, self.channels)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(x.shape[0], self.channels, g * p, g * p)

    def forward(self, x, t, y):
        x = self.x_embedder(x).flatten(2).transpose(1, 2) + self.pos_embed
        c = self.t_embedder(t) + self.y_embedder(y)
        for block in self.blocks:
            x = block(x, c)
        return self.unpatchify(self.final_layer(x, c))


class LongSkip(nn.Module):
    """No tree: the first map's output is read twice beside a residual."""

    def __init__(self, width=16):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        a = self.a(x)
        b = torch.relu(self.b(a))
        return self.c(b) + a + torch.tanh(b)


class Unknown(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.a = nn.Linear(width, width)

    def forward(self, x):
        return torch.cumsum(self.a(x), dim=-1)


class TwoInputs(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, y):
        return self.a(x) + self.b(y)
