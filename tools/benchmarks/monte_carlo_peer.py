"""The work of monte_carlo.cpp in PyTorch: chunks of a million normal numbers in double, gelu, both
moments, on two threads. Prints samples per second.
"""
import time

import torch

CHUNK = 1_000_000
CHUNKS = 100
THREADS = 2


def moments(numbers, generator, chunks):
    first = second = 0.0
    for _ in range(chunks):
        numbers.normal_(generator=generator)
        values = torch.nn.functional.gelu(numbers)
        first += float(values.sum())
        second += float(torch.dot(values, values))
    return first / (chunks * CHUNK), second / (chunks * CHUNK)


def main():
    torch.set_num_threads(THREADS)
    generator = torch.Generator().manual_seed(0)
    numbers = torch.empty(CHUNK, dtype=torch.float64)
    moments(numbers, generator, 10)
    start = time.perf_counter()
    moments(numbers, generator, CHUNKS)
    print(CHUNKS * CHUNK / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
