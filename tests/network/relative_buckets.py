"""The buckets of T5's relative positions by transformers' own code: transformer_attention_test.cpp.

usage: relative_buckets.py
"""
import torch
from transformers.models.t5.modeling_t5 import T5Attention

offsets = torch.arange(-140, 141, 7)
for both in (True, False):
    rows = T5Attention._relative_position_bucket(offsets, bidirectional=both, num_buckets=32,
                                                 max_distance=128)
    print("both" if both else "before", ", ".join(str(row) for row in rows.tolist()))
