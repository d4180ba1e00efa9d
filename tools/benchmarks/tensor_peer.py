"""The transformer of bench_tensor in PyTorch, timed the same way.

usage: tensor_peer.py PLACEMENT LAYERS WIDTH HEADS FFN BATCH TOKENS float|double ROUNDS THREADS
                      DEVICE OPTIMIZER|none eager|compile
Prints tab-separated lines: work, value, unit, target (empty).
"""
import resource
import statistics
import sys
import time

import torch
from torch.nn.functional import gelu, scaled_dot_product_attention


class Sublayer(torch.nn.Module):
    """x + f(norm(x)), or norm(x + f(x))."""

    def __init__(self, placement, width):
        super().__init__()
        self.is_pre = placement == "pre"
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        return x + self.branch(self.norm(x)) if self.is_pre else self.norm(x + self.branch(x))


class Attention(Sublayer):
    def __init__(self, placement, width, heads):
        super().__init__(placement, width)
        self.heads = heads
        self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width) for _ in range(4))

    def branch(self, x):
        q, k, v = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        return self.o(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))


class FeedForward(Sublayer):
    def __init__(self, placement, width, ffn):
        super().__init__(placement, width)
        self.into, self.out = torch.nn.Linear(width, ffn), torch.nn.Linear(ffn, width)

    def branch(self, x):
        return self.out(gelu(self.into(x)))


def build(placement, layers, width, heads, ffn):
    blocks = []
    for _ in range(layers):
        blocks += [Attention(placement, width, heads), FeedForward(placement, width, ffn)]
    return torch.nn.Sequential(*blocks, torch.nn.Linear(width, 8))


def main():
    placement, layers, width, heads, ffn, batch, tokens = sys.argv[1], *map(int, sys.argv[2:8])
    dtype = {"float": torch.float32, "double": torch.float64}[sys.argv[8]]
    rounds, threads, device, optimizer, mode = int(sys.argv[9]), int(sys.argv[10]), *sys.argv[11:14]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    net = build(placement, layers, width, heads, ffn).to(device, dtype)
    x = torch.randn(batch, tokens, width, device=device, dtype=dtype)
    targets = torch.randint(8, (batch * tokens,), device=device)
    run = torch.compile(net) if mode == "compile" else net
    names = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    steps = names[optimizer](net.parameters()) if optimizer != "none" else None

    def once():
        start = time.perf_counter()
        net.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(run(x).flatten(0, 1), targets, reduction="sum")
        loss.backward()
        if steps:
            steps.step()
        loss.item()
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        return time.perf_counter() - start

    once()
    median = statistics.median(once() for _ in range(rounds))
    work = f"a step of {optimizer}" if steps else "forward and backward"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if device.startswith("cuda"):
        peak = torch.cuda.max_memory_allocated() / 2**20
    print(f"{work}\t{median}\ts\t")
    print(f"peak memory\t{peak}\tMiB\t")


if __name__ == "__main__":
    main()
